#!/usr/bin/env python3
"""run: many streams at once, with cancels, slow readers and disconnects, against a running program.

  tests/soak/run.py [--minutes 10] [--streams 64] [--model starter]

Every stream that is read to its end must equal the same request made alone; memory must be flat once warm; nothing may be left running.
"""
import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CALLA = os.environ.get("CALLA", os.path.join(ROOT, "build", "release", "calla"))
TOPICS = ["the sea", "a harbour", "bread", "a lighthouse", "snow", "a violin", "the moon", "tea"]


def body_of(number):
    """Request NUMBER: the same text every time; some constrained, some with tools, some plain."""
    pick = random.Random(number)
    body = {"stream": True, "seed": number, "temperature": pick.choice([0, 0.7, 1.2]), "max_tokens": pick.choice([8, 24, 60]),
            "messages": [{"role": "system", "content": "You write short answers. " * pick.choice([1, 10])}, {"role": "user", "content": f"Tell me about {pick.choice(TOPICS)}."}]}
    kind = pick.random()
    if kind < 0.2:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "properties": {"title": {"type": "string", "maxLength": 30}, "score": {"type": "integer"}}, "required": ["title", "score"]}}}
    elif kind < 0.3:
        body["top_p"], body["frequency_penalty"] = 0.9, 0.4
    return body


async def send(host, port, body):
    reader, writer = await asyncio.open_connection(host, port)
    text = json.dumps(body).encode()
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
    await writer.drain()
    status = int((await reader.readline()).split()[1])
    while (await reader.readline()) not in (b"\r\n", b""):
        pass
    return reader, writer, status


async def events(reader):
    """The data of every event of a chunked answer."""
    buffered = b""
    while True:
        size = int((await reader.readline()) or b"0", 16)
        if size == 0:
            return
        buffered += await reader.readexactly(size)
        await reader.readexactly(2)
        while b"\n\n" in buffered:
            event, buffered = buffered.split(b"\n\n", 1)
            if event.startswith(b"data: "):
                yield event[6:]


class Soak:
    def __init__(self, host, port, pid):
        self.host, self.port, self.pid = host, port, pid
        self.solo, self.counts, self.errors = {}, {"whole": 0, "cancelled": 0, "slow": 0, "refused": 0}, []

    async def read(self, number, leave_after=None, delay=0):
        reader, writer, status = await send(self.host, self.port, body_of(number))
        if status != 200:
            writer.close()
            return status, ""
        text, n, done = "", 0, False
        try:
            async for data in events(reader):
                if data == b"[DONE]":
                    done = True
                    continue
                chunk = json.loads(data)
                if "error" in chunk:
                    raise AssertionError(f"an error in the stream: {data[:200]!r}")
                for choice in chunk["choices"]:
                    text += choice["delta"].get("content") or ""
                n += 1
                if leave_after is not None and n >= leave_after:
                    return None, text
                if delay:
                    await asyncio.sleep(delay)
        finally:
            writer.close()
        if not done:
            raise AssertionError("the stream ended without [DONE]")
        return 200, text

    async def worker(self, index, until, numbers):
        pick = random.Random(1000 + index)
        while time.monotonic() < until:
            number = pick.choice(numbers)
            way = pick.random()
            try:
                if way < 0.25:
                    await self.read(number, leave_after=pick.randint(1, 8))
                    self.counts["cancelled"] += 1
                    continue
                delay = 0.15 if way < 0.35 else 0
                status, text = await self.read(number, delay=delay)
                if status in (429, 503):
                    self.counts["refused"] += 1
                    await asyncio.sleep(0.5)
                    continue
                self.counts["slow" if delay else "whole"] += 1
                if text != self.solo[number]:
                    self.errors.append(f"request {number}: {text!r} among others, {self.solo[number]!r} alone")
            except (AssertionError, OSError, ValueError, asyncio.IncompleteReadError) as error:
                self.errors.append(f"request {number}: {type(error).__name__} {error}")

    def rss(self):
        with open(f"/proc/{self.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    async def watch(self, until, samples):
        while time.monotonic() < until:
            samples.append((time.monotonic(), self.rss()))
            await asyncio.sleep(2)

    async def run(self, minutes, streams):
        numbers = list(range(40))
        for number in numbers:
            status, self.solo[number] = await self.read(number)
            assert status == 200, status
        print(f"{len(numbers)} requests alone, {self.rss():.0f} MiB", flush=True)
        begin, samples = time.monotonic(), []
        until = begin + minutes * 60
        await asyncio.gather(self.watch(until, samples), *(self.worker(i, until, numbers) for i in range(streams)))
        await asyncio.sleep(2)
        warm = [mib for at, mib in samples if begin + minutes * 60 * 0.3 < at < begin + minutes * 60 * 0.5]
        late = [mib for at, mib in samples if at > begin + minutes * 60 * 0.8]
        growth = sum(late) / len(late) - sum(warm) / len(warm)
        reader, writer = await asyncio.open_connection(self.host, self.port)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        metrics = (await reader.read()).decode()
        running = re.search(r"^calla_requests_running(?:{[^}]*})? (\d+)", metrics, re.M)
        print(f"{self.counts}, RSS {sum(warm) / len(warm):.0f} -> {sum(late) / len(late):.0f} MiB, running afterwards {running and running.group(1)}")
        for error in self.errors[:10]:
            print("FAIL", error)
        if growth > 0.03 * sum(warm) / len(warm) + 8:
            self.errors.append("memory grows")
            print(f"FAIL memory grows by {growth:.0f} MiB")
        if running and running.group(1) != "0":
            self.errors.append("something is left running")
            print("FAIL something is left running")
        print(f"{sum(self.counts.values())} passed, {len(self.errors)} failed")
        return 1 if self.errors else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--model", default="starter")
    options = parser.parse_args()
    server = subprocess.Popen([CALLA, "serve", options.model, "--port", "0", "-c", "2048", "-np", "32", "--max-connections", "200"], stdout=subprocess.PIPE, text=True)
    found = re.search(r"http://([\d.]+):(\d+)", server.stdout.readline())
    if not found:
        sys.exit("the server did not start")
    try:
        code = asyncio.run(Soak(found.group(1), int(found.group(2)), server.pid).run(options.minutes, options.streams))
    finally:
        server.terminate()
        server.wait(timeout=60)
    if server.returncode not in (0, 143):
        print(f"FAIL the server ended with {server.returncode}")
        code = 1
    sys.exit(code)


main()
