"""other_clients: LiteLLM, LangChain and llm, which sit on top of other SDKs or speak HTTP themselves."""
import os
import subprocess
import sys
import tempfile

import jsonschema
import pydantic

from checks import MODEL, URL, WEATHER, case, equal, finish

HELLO = [{"role": "user", "content": "Say hello to the sea."}]


@case("litellm: stream = whole, three routes")
def _():
    import litellm
    litellm.telemetry = False
    for model, base in ((f"openai/{MODEL}", URL + "/v1"), (f"ollama_chat/{MODEL}", URL), (f"anthropic/{MODEL}", URL)):
        ask = {"model": model, "api_base": base, "api_key": "none", "messages": HELLO, "temperature": 0, "max_tokens": 16}
        whole = litellm.completion(**ask).choices[0].message.content
        text = "".join(chunk.choices[0].delta.content or "" for chunk in litellm.completion(stream=True, **ask) if chunk.choices)
        equal(text, whole)


@case("langchain: tools and structured output")
def _():
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    @tool
    def weather(city: str, days: int) -> str:
        """Weather of a city."""
        return "rain"

    chat = ChatOpenAI(base_url=URL + "/v1", api_key="none", model=MODEL, temperature=0, max_tokens=200)
    assert chat.invoke("Say hello to the sea.").content
    called = chat.bind_tools([weather], tool_choice="weather").invoke("Oslo?")
    equal(called.tool_calls[0]["name"], "weather")
    assert isinstance(called.tool_calls[0]["args"]["days"], int)

    class Harbour(pydantic.BaseModel):
        """A harbour."""
        open: bool
        depth_m: int

    for method in ("json_schema", "function_calling"):
        assert isinstance(chat.with_structured_output(Harbour, method=method).invoke("A harbour."), Harbour), method


@case("llm: the command line tool")
def _():
    with tempfile.TemporaryDirectory() as home:
        with open(os.path.join(home, "extra-openai-models.yaml"), "w") as file:
            file.write(f"- model_id: calla\n  model_name: {MODEL}\n  api_base: {URL}/v1\n  api_key_name: none\n")
        environment = {**os.environ, "LLM_USER_PATH": home, "OPENAI_API_KEY": "none"}
        done = subprocess.run([sys.executable, "-m", "llm", "-m", "calla", "-o", "max_tokens", "12", "--key", "none", "Say hello to the sea."], env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and done.stdout.strip(), done.stderr[-300:]


finish()
