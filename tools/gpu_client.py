"""gpu_client: a server for tools/gpu, and streamed answers with the time at which each token arrived.

One thread reads all streams, because threads of Python would wait for each other, and what arrives is looked at when nothing more is timed.
"""
import bisect
import json
import re
import selectors
import socket
import subprocess
import threading
import time


class Failure(Exception):
    pass


class Stream:
    """One answer of `tokens` tokens, behind a prompt of any tokens of the vocabulary."""

    def __init__(self, address, vocabulary, number, prompt_tokens, tokens, **sampling):
        ids = [(number * 1000003 + i * 2654435761) % vocabulary for i in range(prompt_tokens)]
        body = json.dumps({"prompt": ids, "stream": True, "stream_options": {"include_usage": True}, "temperature": 0, "max_tokens": tokens, "ignore_eos": True,
                           "cache_prompt": False, **sampling}).encode()
        self.received, self.ended, self.tokens, self.prompt_tokens = [], False, 0, prompt_tokens  # received: (time, bytes)
        self.socket = socket.create_connection(address, timeout=600)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.begin = time.perf_counter()
        self.socket.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: calla\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    def take(self):
        data = self.socket.recv(1 << 16)
        if data:
            self.received.append((time.perf_counter(), data))
        else:
            self.close()
        return self.ended

    def close(self):
        """Ends it here, which cancels what is not answered yet."""
        self.ended = True
        self.socket.close()

    def understand(self):
        """Times of the tokens out of what was received, and the counts that the server gave."""
        whole = b"".join(data for _, data in self.received)
        if not whole.startswith(b"HTTP/1.1 200"):
            raise Failure(f"POST /v1/completions: {whole[:400].decode(errors='replace') or 'no answer'}")
        ends, total, self.times = [], 0, []
        for _, data in self.received:
            total += len(data)
            ends.append(total)
        for event in re.finditer(rb"data: (\{.*?\})\r?\n", whole):
            chunk = json.loads(event[1])
            if chunk.get("choices") and chunk["choices"][0]["text"]:  # the last one has none, but says why it ended
                self.times.append(self.received[bisect.bisect_left(ends, event.end())][0])
            if chunk.get("usage"):
                self.tokens, self.prompt_tokens = chunk["usage"]["completion_tokens"], chunk["usage"]["prompt_tokens"]
        return self

    first = property(lambda self: self.times[0])
    last = property(lambda self: self.times[-1])
    rate = property(lambda self: (self.tokens - 1) / (self.last - self.first))

    def gaps(self, begin, end):
        """Seconds between tokens that lie between these two moments."""
        return [b - a for a, b in zip(self.times, self.times[1:]) if begin <= a and b <= end]


def read(streams, until=lambda: False, at_most=600.0):
    """Reads what arrives until all have ended, `until` says so, or the time is over. True: all have ended."""
    deadline = time.perf_counter() + at_most
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            if not stream.ended:
                selector.register(stream.socket, selectors.EVENT_READ, stream)
        while selector.get_map() and time.perf_counter() < deadline and not until():
            for key, _ in selector.select(0.05):
                descriptor = key.fd
                if key.data.take():
                    selector.unregister(descriptor)
    return all(stream.ended for stream in streams)


class Server:
    """calla serve, gone at the end of the block."""

    def __init__(self, calla, model, device, environment, parallel, context):
        self.vocabulary = json.loads(subprocess.run([calla, "inspect", model, "--json"], capture_output=True, check=True, env=environment).stdout)["config"]["vocab_size"]
        self.command = [calla, "serve", model, "--device", device, "--port", "0", "-c", str(context), "-np", str(parallel)]
        self.environment, self.errors = environment, []

    def __enter__(self):
        self.began = time.perf_counter()
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()
        found = re.search(r"http://([\d.]+):(\d+)", self.process.stdout.readline())
        if not found:
            self.process.wait()
            raise Failure(f"{' '.join(self.command)}: did not start: {''.join(self.errors[-5:])}")
        self.address = (found[1], int(found[2]))
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def start(self, number, prompt_tokens, tokens, **sampling):
        return Stream(self.address, self.vocabulary, number, prompt_tokens, tokens, **sampling)

    def answer(self, prompt_tokens, tokens, **sampling):
        """One answer alone, to its end."""
        stream = self.start(1, prompt_tokens, tokens, **sampling)
        if not read([stream]):
            raise Failure(f"an answer of {tokens} tokens did not end in 600 s")
        return stream.understand()
