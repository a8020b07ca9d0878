"""openai_client: the official Python SDK, chat, completions, responses, embeddings, models."""
import json

import jsonschema
import openai
import pydantic

from checks import MODEL, URL, WEATHER, case, equal, finish

client = openai.OpenAI(base_url=URL + "/v1", api_key="none", max_retries=0, timeout=120)
HELLO = [{"role": "user", "content": "Say hello to the sea."}]
FIXED = {"model": MODEL, "temperature": 0, "seed": 1, "max_tokens": 24}
TOOL = {"type": "function", "function": {"name": "weather", "description": "Weather of a city", "parameters": WEATHER}}


def gather(stream):
    text, chunks, calls, usage, reason = "", 0, {}, None, None
    for chunk in stream:
        chunks += 1
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
            for call in choice.delta.tool_calls or []:
                entry = calls.setdefault(call.index, {"name": "", "arguments": "", "id": ""})
                entry["id"] = call.id or entry["id"]
                entry["name"] += (call.function.name or "")
                entry["arguments"] += (call.function.arguments or "")
    return text, chunks, calls, usage, reason


@case("openai: models")
def _():
    listed = client.models.list().data
    assert any(model.id for model in listed), listed
    equal(client.models.retrieve(listed[0].id).id, listed[0].id)


@case("openai: stream = whole, usage counted")
def _():
    whole = client.chat.completions.create(messages=HELLO, **FIXED)
    text, chunks, _, usage, reason = gather(client.chat.completions.create(messages=HELLO, stream=True, stream_options={"include_usage": True}, **FIXED))
    equal(text, whole.choices[0].message.content)
    equal(reason, whole.choices[0].finish_reason)
    equal(usage.completion_tokens, whole.usage.completion_tokens)
    equal(usage.prompt_tokens, whole.usage.prompt_tokens)
    assert chunks > 3, chunks
    assert whole.usage.prompt_tokens_details.cached_tokens >= 0


@case("openai: n answers, each its own seed")
def _():
    one = client.chat.completions.create(messages=HELLO, n=3, **{**FIXED, "temperature": 1.2})
    equal([choice.index for choice in one.choices], [0, 1, 2])
    assert len({choice.message.content for choice in one.choices}) > 1


@case("openai: logprobs, streamed too")
def _():
    whole = client.chat.completions.create(messages=HELLO, logprobs=True, top_logprobs=3, **FIXED)
    content = whole.choices[0].logprobs.content
    equal(len(content), whole.usage.completion_tokens - (1 if whole.choices[0].finish_reason == "stop" else 0))
    assert all(len(entry.top_logprobs) == 3 and entry.logprob <= 0 for entry in content)
    streamed = [entry.token for chunk in client.chat.completions.create(messages=HELLO, logprobs=True, top_logprobs=3, stream=True, **FIXED)
                for choice in chunk.choices if choice.logprobs for entry in choice.logprobs.content or []]
    equal(streamed, [entry.token for entry in content])


@case("openai: logit_bias forbids a token")
def _():
    first = client.chat.completions.create(messages=HELLO, logprobs=True, **{**FIXED, "max_tokens": 1}).choices[0].logprobs.content[0]
    ids = __import__("httpx").post(URL + "/tokenize", json={"content": first.token}).json()["tokens"]
    other = client.chat.completions.create(messages=HELLO, logit_bias={str(ids[0]): -100}, **{**FIXED, "max_tokens": 1})
    assert other.choices[0].message.content != first.token


@case("openai: stop string is left out")
def _():
    whole = client.chat.completions.create(messages=HELLO, **FIXED).choices[0].message.content
    word = whole.split()[2]
    cut = client.chat.completions.create(messages=HELLO, stop=[word], **FIXED)
    assert word not in cut.choices[0].message.content
    equal(cut.choices[0].finish_reason, "stop")


@case("openai: forced tool call, streamed = whole")
def _():
    ask = {"messages": HELLO, "tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "weather"}}, **{**FIXED, "max_tokens": 80}}
    whole = client.chat.completions.create(**ask)
    call = whole.choices[0].message.tool_calls[0]
    equal(whole.choices[0].finish_reason, "tool_calls")
    equal(call.function.name, "weather")
    jsonschema.validate(json.loads(call.function.arguments), WEATHER)
    _, _, calls, _, reason = gather(client.chat.completions.create(stream=True, **ask))
    equal(reason, "tool_calls")
    equal((calls[0]["name"], json.loads(calls[0]["arguments"])), ("weather", json.loads(call.function.arguments)))
    assert calls[0]["id"]


@case("openai: tool result goes back")
def _():
    messages = HELLO + [{"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\",\"days\":1}"}}]},
                        {"role": "tool", "tool_call_id": "call_1", "content": "rain"}]
    answer = client.chat.completions.create(messages=messages, tools=[TOOL], tool_choice="none", **FIXED)
    assert answer.choices[0].message.content
    assert not answer.choices[0].message.tool_calls


@case("openai: pydantic parse")
def _():
    class Harbour(pydantic.BaseModel):
        name: str
        depth_m: int
        open: bool
    parsed = client.chat.completions.parse(messages=HELLO, response_format=Harbour, **{**FIXED, "max_tokens": 300, "temperature": 1, "frequency_penalty": 0.5})
    assert isinstance(parsed.choices[0].message.parsed, Harbour)


@case("openai: json_object")
def _():
    answer = client.chat.completions.create(messages=HELLO, response_format={"type": "json_object"}, **{**FIXED, "max_tokens": 400, "temperature": 1})
    if answer.choices[0].finish_reason == "stop":
        assert isinstance(json.loads(answer.choices[0].message.content), dict)


@case("openai: completions with echo, several prompts")
def _():
    answer = client.completions.create(model=MODEL, prompt=["The sea", "A ship"], echo=True, max_tokens=5, temperature=0)
    equal([choice.index for choice in answer.choices], [0, 1])
    assert answer.choices[0].text.startswith("The sea") and answer.choices[1].text.startswith("A ship")


@case("openai: responses, stateful")
def _():
    first = client.responses.create(model=MODEL, input="Say hello to the sea.", temperature=0, max_output_tokens=16)
    assert first.output_text and first.status in ("completed", "incomplete"), first.status
    second = client.responses.create(model=MODEL, input="And again.", previous_response_id=first.id, temperature=0, max_output_tokens=16)
    assert second.usage.input_tokens > first.usage.input_tokens
    equal(client.responses.retrieve(first.id).id, first.id)
    client.responses.delete(first.id)
    try:
        client.responses.retrieve(first.id)
        raise AssertionError("a deleted response was found")
    except openai.NotFoundError:
        pass


@case("openai: responses stream = whole")
def _():
    ask = {"model": MODEL, "input": "Say hello to the sea.", "temperature": 0, "max_output_tokens": 16}
    whole = client.responses.create(**ask)
    events = list(client.responses.create(stream=True, **ask))
    equal([event.sequence_number for event in events], list(range(len(events))))
    equal(events[0].type, "response.created")
    equal(events[-1].type, "response." + whole.status)
    equal(events[-1].response.output_text, whole.output_text)
    equal("".join(event.delta for event in events if event.type == "response.output_text.delta"), whole.output_text)


@case("openai: responses stream helper, structured")
def _():
    class Harbour(pydantic.BaseModel):
        open: bool
        depth: int
    with client.responses.stream(model=MODEL, input="A harbour.", text_format=Harbour, temperature=0, max_output_tokens=100) as stream:
        for _ in stream:
            pass
        assert isinstance(stream.get_final_response().output_parsed, Harbour)


@case("openai: responses function call")
def _():
    tool = {"type": "function", "name": "weather", "parameters": WEATHER, "strict": True}
    answer = client.responses.create(model=MODEL, input="Oslo?", tools=[tool], tool_choice="required", max_output_tokens=80)
    call = next(item for item in answer.output if item.type == "function_call")
    jsonschema.validate(json.loads(call.arguments), WEATHER)
    after = client.responses.create(model=MODEL, previous_response_id=answer.id, max_output_tokens=8, input=[{"type": "function_call_output", "call_id": call.call_id, "output": "rain"}])
    assert after.id != answer.id


@case("openai: embeddings")
def _():
    answer = client.embeddings.create(model=MODEL, input=["the sea", "the ocean", "a tax form"])
    a, b, c = (entry.embedding for entry in answer.data)
    dot = lambda x, y: sum(i * j for i, j in zip(x, y))
    assert abs(dot(a, a) - 1) < 1e-3 and dot(a, b) > dot(a, c), (dot(a, b), dot(a, c))


@case("openai: errors keep their shape")
def _():
    try:
        client.chat.completions.create(messages=HELLO, model=MODEL, temperature="warm")
        raise AssertionError("a wrong type was taken")
    except openai.BadRequestError as error:
        equal(error.param, "temperature")
    try:
        client.chat.completions.create(messages=[{"role": "user", "content": "sea " * 100000}], model=MODEL)
        raise AssertionError("too long a prompt was taken")
    except openai.BadRequestError as error:
        equal(error.code, "context_length_exceeded")


finish()
