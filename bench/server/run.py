#!/usr/bin/env python3
"""run: what HTTP costs: tokens/s of one stream beside `calla bench` on the same engine settings, time to first token, and many streams against one.

  bench/server/run.py [--model starter] [--rounds 5] [--streams 32] [--json FILE]

The arms are interleaved, and medians are compared: the machine's speed changes by the minute.
"""
import argparse
import concurrent.futures
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CALLA = os.environ.get("CALLA", os.path.join(ROOT, "build", "release", "calla"))
N_TOKENS = 128


def stream(address, seed, n_tokens, words=20):
    """(seconds to the first token, seconds from first to last, tokens, the server's own timings) of one streamed answer."""
    connection = http.client.HTTPConnection(*address, timeout=600)
    connection.connect()
    body = json.dumps({"messages": [{"role": "user", "content": f"{seed} " + "sea " * words}], "stream": True, "stream_options": {"include_usage": True}, "temperature": 0,
                       "max_tokens": n_tokens, "ignore_eos": True, "cache_prompt": False})
    begin = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    first = last = None
    final = {}
    for line in answer:
        if not line.startswith(b"data: {"):
            continue
        chunk = json.loads(line[6:])
        now = time.perf_counter()
        if chunk["choices"] and any(chunk["choices"][0]["delta"].get(key) for key in ("content", "reasoning_content")):
            first = first or now
            last = now
        if chunk.get("usage"):
            final = chunk
    connection.close()
    return first - begin, last - first, final["usage"]["completion_tokens"], final["timings"]


def bench(model):
    """Tokens/s of the engine alone, behind about as long a prompt."""
    done = subprocess.run([CALLA, "bench", model, "-p", "0", "-n", str(N_TOKENS), "-d", "48", "-r", "1", "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def rate_of(report):
    return report["results"][0]["tokens_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="starter")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--streams", type=int, default=32)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    server = subprocess.Popen([CALLA, "serve", options.model, "--port", "0", "-c", "1024", "-np", str(options.streams)], stdout=subprocess.PIPE, text=True)
    found = re.search(r"http://([\d.]+):(\d+)", server.stdout.readline())
    if not found:
        sys.exit("the server did not start")
    address = (found.group(1), int(found.group(2)))
    alone, http_rates, overheads, many = [], [], [], []
    try:
        time.sleep(2)
        stream(address, 0, 16)
        for round_number in range(options.rounds):
            alone.append(rate_of(bench(options.model)))
            first, rest, tokens, timings = stream(address, round_number, N_TOKENS)
            http_rates.append((tokens - 1) / rest)
            for i in range(5):
                first, _, _, timings = stream(address, 100 * round_number + i, 2)
                overheads.append(first * 1e3 - timings["prompt_ms"])
            begin = time.perf_counter()
            with concurrent.futures.ThreadPoolExecutor(options.streams) as pool:
                total = sum(result[2] for result in pool.map(lambda i: stream(address, 1000 * round_number + i, 64), range(options.streams)))
            elapsed = time.perf_counter() - begin
            begin = time.perf_counter()
            single = stream(address, 7, 64)[2] / (time.perf_counter() - begin)
            many.append(total / elapsed / single)
    finally:
        server.terminate()
        server.wait(timeout=60)
    median = statistics.median
    result = {"bench_tokens_per_s": median(alone), "http_tokens_per_s": median(http_rates), "http_over_bench": median(a / b for a, b in zip(http_rates, alone)),
              "first_token_overhead_ms": median(overheads), "first_token_overhead_ms_worst": max(overheads), f"streams_{options.streams}_over_one": median(many)}
    for name, value in result.items():
        print(f"{name:32} {value:.3f}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(result, file, indent=2)


main()
