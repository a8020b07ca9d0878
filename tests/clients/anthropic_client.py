"""anthropic_client: the official Python SDK of the Messages dialect."""
import json

import anthropic
import jsonschema

from checks import MODEL, URL, WEATHER, case, equal, finish

client = anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0, timeout=120)
HELLO = [{"role": "user", "content": "Say hello to the sea."}]
FIXED = {"model": MODEL, "max_tokens": 24, "extra_body": {"temperature": 0}}  # this SDK has no argument for it any more


@case("anthropic: stream = whole")
def _():
    whole = client.messages.create(messages=HELLO, system="Be brief.", **FIXED)
    with client.messages.stream(messages=HELLO, system="Be brief.", **FIXED) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    equal(text, whole.content[0].text)
    equal(final.stop_reason, whole.stop_reason)
    equal(final.usage.output_tokens, whole.usage.output_tokens)


@case("anthropic: forced tool use, streamed = whole")
def _():
    ask = {"messages": HELLO, "tools": [{"name": "weather", "description": "Weather of a city", "input_schema": WEATHER}], "tool_choice": {"type": "tool", "name": "weather"},
           **{**FIXED, "max_tokens": 80}}
    whole = client.messages.create(**ask)
    block = next(block for block in whole.content if block.type == "tool_use")
    equal(whole.stop_reason, "tool_use")
    jsonschema.validate(block.input, WEATHER)
    with client.messages.stream(**ask) as stream:
        final = stream.get_final_message()
    equal(next(b for b in final.content if b.type == "tool_use").input, block.input)
    after = client.messages.create(messages=HELLO + [{"role": "assistant", "content": [{"type": "tool_use", "id": block.id, "name": "weather", "input": block.input}]},
                                                     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": block.id, "content": "rain"}]}],
                                   tools=ask["tools"], tool_choice={"type": "none"}, **FIXED)
    assert after.content[0].text


@case("anthropic: count_tokens agrees with usage")
def _():
    counted = client.messages.count_tokens(model=MODEL, messages=HELLO).input_tokens
    usage = client.messages.create(messages=HELLO, **FIXED).usage
    equal(counted, usage.input_tokens + (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0))


@case("anthropic: stop sequence is named")
def _():
    word = client.messages.create(messages=HELLO, **FIXED).content[0].text.split()[2]
    cut = client.messages.create(messages=HELLO, stop_sequences=[word], **FIXED)
    equal((cut.stop_reason, cut.stop_sequence), ("stop_sequence", word))


@case("anthropic: models and errors")
def _():
    assert client.models.list().data[0].id
    try:
        client.messages.create(messages=HELLO, model=MODEL, max_tokens=-1)
        raise AssertionError("a wrong value was taken")
    except anthropic.BadRequestError as error:
        equal(error.body["type"], "error")


finish()
