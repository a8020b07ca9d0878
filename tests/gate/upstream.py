"""upstream: a cloud on loopback that records every byte it is sent and answers well, badly or not at all."""
import json
import random
import socket
import threading
import time


class Upstream:
    """Speaks the OpenAI dialect. `moods` are what the next answer may be: ok, error, busy, hang, cut, garbage, lie; well-behaved by default.
    `reply` makes an answer's lanes of a request: {"content", "reasoning_content", "tool_calls": [(name, arguments)]}; it echoes by default."""

    def __init__(self, seed=0, moods=("ok",), hang_s=3.0, reply=None):
        self.random, self.moods, self.hang_s = random.Random(seed), moods, hang_s
        self.reply = reply or (lambda body: {"content": echo(body)})
        self.lock, self.requests, self.stopped = threading.Lock(), [], False
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def take(self):
        """What came since the last call: (bytes, body or None)."""
        with self.lock:
            out, self.requests = self.requests, []
        return out

    def close(self):
        self.stopped = True
        self.listener.close()

    def _accept(self):
        while not self.stopped:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            connection.settimeout(20)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            data = b""
            try:
                while True:
                    while b"\r\n\r\n" not in data:
                        more = connection.recv(65536)
                        if not more:
                            return self._record(data, None)
                        data += more
                    head, _, rest = data.partition(b"\r\n\r\n")
                    lengths = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
                    need = lengths[0] if lengths else 0
                    while len(rest) < need:
                        more = connection.recv(65536)
                        if not more:
                            return self._record(data, None)
                        rest += more
                        data += more
                    body = json.loads(rest[:need]) if need else None
                    self._record(head + b"\r\n\r\n" + rest[:need], body)
                    data = rest[need:]
                    if not self._answer(connection, body or {}):
                        return
            except (OSError, ValueError):
                self._record(data, None)

    def _record(self, data, body):
        if data:
            with self.lock:
                self.requests.append((data, body))

    def _answer(self, connection, body):
        with self.lock:
            mood, cut = self.random.choice(self.moods), self.random.randrange(1, 40)
        if mood == "error":
            return self._plain(connection, "500 Internal Server Error", {"error": {"message": "upstream says: " + json.dumps(body)[:200]}})
        if mood == "busy":
            return self._plain(connection, "429 Too Many Requests", {"error": {"message": "slow down"}}, "Retry-After: 0\r\n")
        if mood == "hang":
            time.sleep(self.hang_s)
            return False
        if mood == "garbage":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: {not json\n\n\xff\xfe: what\n\ndata: []\n\n")
            return False
        lanes = self.reply(body)
        if mood == "lie":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999999\r\n\r\n{\"choices\": [")
            return False
        if not body.get("stream"):
            choices = [{"index": i, "message": message(lanes), "finish_reason": "stop"} for i in range(body.get("n") or 1)]
            if "messages" not in body:
                choices = [{"index": i, "text": lanes["content"], "finish_reason": "stop"} for i in range(body.get("n") or 1)]
            return self._plain(connection, "200 OK", {"id": "x", "object": "chat.completion", "model": body.get("model"), "choices": choices,
                                                      "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}})
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        stream = b"".join(self._events(body, lanes))
        if mood == "cut":
            stream = stream[:len(stream) // 2]
        for at in range(0, len(stream), cut):
            piece = stream[at:at + cut]
            connection.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        if mood == "cut":
            return False
        connection.sendall(b"0\r\n\r\n")
        return True

    def _events(self, body, lanes):
        n = body.get("n") or 1
        for piece in pieces(lanes):
            for i in range(n):
                choice = {"index": i, "delta": piece} if "messages" in body else {"index": i, "text": piece.get("content", "")}
                yield b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"
            yield b": still here\r\n\r\n"
        reason = "tool_calls" if lanes.get("tool_calls") else "stop"
        for i in range(n):
            yield b"data: " + json.dumps({"choices": [{"index": i, "delta": {}, "text": "", "finish_reason": reason}]}).encode() + b"\n\n"
        yield b"data: " + json.dumps({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7}}).encode() + b"\n\ndata: [DONE]\n\n"

    @staticmethod
    def _plain(connection, status, body, more=""):
        data = json.dumps(body).encode()
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{more}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        return True


def echo(body):
    """What the last user said, or the prompt."""
    for message in reversed(body.get("messages", [])):
        if message.get("role") == "user":
            content = message.get("content")
            return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    prompt = body.get("prompt", "")
    return prompt if isinstance(prompt, str) else "".join(prompt)


def message(lanes):
    """A whole message of LANES."""
    out = {"role": "assistant", "content": lanes.get("content")}
    if lanes.get("reasoning_content"):
        out["reasoning_content"] = lanes["reasoning_content"]
    if lanes.get("tool_calls"):
        out["tool_calls"] = [{"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": arguments}} for i, (name, arguments) in enumerate(lanes["tool_calls"])]
    return out


def pieces(lanes):
    """LANES in small deltas, the lanes taking turns as far as they may."""
    for lane in ("reasoning_content", "content"):
        text = lanes.get(lane) or ""
        size = 1 + len(text) // 40
        for at in range(0, len(text), size):
            yield {lane: text[at:at + size]}
    calls = lanes.get("tool_calls") or []
    for i, (name, _) in enumerate(calls):
        yield {"tool_calls": [{"index": i, "id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": ""}}]}
    for at in range(0, max((len(arguments) for _, arguments in calls), default=0), 3):
        for i, (_, arguments) in enumerate(calls):
            if at < len(arguments):
                yield {"tool_calls": [{"index": i, "function": {"arguments": arguments[at:at + 3]}}]}
