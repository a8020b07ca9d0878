"""agent: aider, a coding agent, edits a file through the server without a person. What the small model writes is not judged; the protocol is."""
import os
import subprocess
import sys
import tempfile

from checks import MODEL, URL, case, finish


@case("aider: one message, streamed, in a folder of its own")
def _():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "hello.py"), "w") as file:
            file.write("print('hello')\n")
        environment = {**os.environ, "OPENAI_API_BASE": URL + "/v1", "OPENAI_API_KEY": "none", "HOME": folder, "AIDER_ANALYTICS": "false", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        command = [os.environ.get("AIDER", "aider"), "--model", f"openai/{MODEL}", "--message", "Say hello to the sea instead.", "--yes-always", "--no-git", "--no-check-update",
                   "--no-show-model-warnings", "--no-analytics", "--map-tokens", "0", "--edit-format", "whole", "--no-pretty", "hello.py"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        output = done.stdout + done.stderr
        assert done.returncode == 0, output[-600:]
        assert "Tokens:" in output, output[-600:]
        for sign in ("APIError", "APIConnectionError", "BadRequestError", "InternalServerError", "Traceback"):
            assert sign not in output, output[-600:]


finish()
