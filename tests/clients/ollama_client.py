"""ollama_client: the official Python client of the Ollama dialect."""
import json

import jsonschema
import ollama

from checks import MODEL, URL, WEATHER, case, equal, finish

client = ollama.Client(host=URL, timeout=120)
HELLO = [{"role": "user", "content": "Say hello to the sea."}]
FIXED = {"temperature": 0, "seed": 1, "num_predict": 24}


@case("ollama: chat, stream = whole")
def _():
    whole = client.chat(model=MODEL, messages=HELLO, options=FIXED)
    pieces = list(client.chat(model=MODEL, messages=HELLO, options=FIXED, stream=True))
    equal("".join(piece.message.content or "" for piece in pieces), whole.message.content)
    assert pieces[-1].done and pieces[-1].eval_count == whole.eval_count and whole.eval_duration > 0


@case("ollama: generate, stream = whole")
def _():
    whole = client.generate(model=MODEL, prompt="The sea is", raw=True, options=FIXED)
    equal("".join(piece.response for piece in client.generate(model=MODEL, prompt="The sea is", raw=True, options=FIXED, stream=True)), whole.response)


@case("ollama: format is a schema")
def _():
    answer = client.chat(model=MODEL, messages=HELLO, format=WEATHER, options={**FIXED, "num_predict": 80})
    jsonschema.validate(json.loads(answer.message.content), WEATHER)


@case("ollama: tools")
def _():
    answer = client.chat(model=MODEL, messages=HELLO, options={**FIXED, "num_predict": 60}, tools=[{"type": "function", "function": {"name": "weather", "description": "Weather", "parameters": WEATHER}}])
    for call in answer.message.tool_calls or []:
        assert isinstance(call.function.arguments, dict)


@case("ollama: embed")
def _():
    vectors = client.embed(model=MODEL, input=["the sea", "a tax form"]).embeddings
    equal(len(vectors), 2)


@case("ollama: list, show, ps")
def _():
    assert any(MODEL in model.model for model in client.list().models)
    assert client.show(MODEL).details
    assert client.ps().models


@case("ollama: an empty prompt loads, an unknown model is an error")
def _():
    equal(client.generate(model=MODEL, prompt="").done_reason, "load")
    try:
        client.chat(model="no-such-model", messages=HELLO)
        raise AssertionError("an unknown model answered")
    except ollama.ResponseError as error:
        equal(error.status_code, 404)


finish()
