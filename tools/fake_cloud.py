#!/usr/bin/env python3
# fake_cloud: an OpenAI-compatible cloud on loopback that echoes what it is told, so that a person sees what left the machine. Records nothing.
import argparse
import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORD_PAUSE_S = 0.02  # so that streaming is seen


def last_text(body):
    """The last user message, or the prompt, as plain text."""
    for message in reversed(body.get("messages") or []):
        if message.get("role") == "user":
            content = message.get("content")
            return content if isinstance(content, str) else " ".join(part.get("text", "[no text]") for part in content or [])
    return body.get("prompt") or ""


def pieces(text):
    """Cut so that placeholders are split between events, as real clouds do."""
    return [text[i:i + 7] for i in range(0, len(text), 7)]


class Cloud(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path.rstrip("/").endswith("/models"):
            return self.answer(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in self.server.models]})
        self.answer(404, {"error": {"message": "no such path", "type": "not_found_error"}})

    def do_POST(self):
        try:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        except ValueError:
            return self.answer(400, {"error": {"message": "no JSON", "type": "invalid_request_error"}})
        if self.server.key and self.headers.get("Authorization") != "Bearer " + self.server.key:
            return self.answer(401, {"error": {"message": "wrong key", "type": "authentication_error"}})
        chat = self.path.rstrip("/").endswith("/chat/completions")
        text = "You said: " + last_text(body)
        if body.get("stream"):
            return self.stream(body, chat, text)
        choice = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
        choices = [{"index": i, "finish_reason": "stop", **choice} for i in range(body.get("n") or 1)]
        self.answer(200, self.envelope(body, chat, "") | {"choices": choices, "usage": self.usage(text)})

    def envelope(self, body, chat, suffix):
        return {"id": "fake-1", "object": ("chat.completion" + suffix) if chat else "text_completion", "created": int(time.time()), "model": body.get("model", "")}

    def usage(self, text):
        tokens = len(text.split())
        return {"prompt_tokens": tokens, "completion_tokens": tokens, "total_tokens": 2 * tokens}

    def stream(self, body, chat, text):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        head = self.envelope(body, chat, ".chunk")
        for piece in pieces(text):
            for i in range(body.get("n") or 1):
                delta = {"delta": {"role": "assistant", "content": piece}} if chat else {"text": piece}
                self.event(head | {"choices": [{"index": i, "finish_reason": None, **delta}]})
            time.sleep(WORD_PAUSE_S)
        for i in range(body.get("n") or 1):
            self.event(head | {"choices": [{"index": i, "finish_reason": "stop", **({"delta": {}} if chat else {"text": ""})}]})
        if (body.get("stream_options") or {}).get("include_usage"):
            self.event(head | {"choices": [], "usage": self.usage(text)})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, chunk):
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.flush()

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=9090)
    parser.add_argument("--models", default="big-1,big-2", help="names for /v1/models")
    parser.add_argument("--key", default="", help="ask for this key")
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Cloud)
    server.models, server.key = options.models.split(","), options.key
    print(f"a cloud that only echoes: http://127.0.0.1:{server.server_port}/v1", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
