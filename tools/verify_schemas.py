#!/usr/bin/env python3
"""verify_schemas: every finished answer under a JSON Schema must validate with jsonschema (PyPI: jsonschema[format]).

  verify_schemas.py masks --bench BUILD/bench_schemas [--tokenizer TOKENIZER.json] [--answers N]   random walks over token masks
  verify_schemas.py soak  --url http://127.0.0.1:8080 [--model NAME] [--temperature 1.5]           a running server, one answer per schema

Numbers are read as decimals, so that 0.29 is a multiple of 0.01. Leaves with 1 when an answer does not validate or nothing was checked.
"""
import argparse
import collections
import concurrent.futures
import decimal
import json
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request

try:
    from jsonschema import Draft7Validator, Draft202012Validator
except ImportError:
    sys.exit("verify_schemas: pip install 'jsonschema[format]' first")

CASES = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "schemas" / "cases.json"


def read(text):
    return json.loads(text, parse_float=decimal.Decimal)


def has_draft7_words(schema):
    """Words that later drafts read differently or not at all."""
    if isinstance(schema, list):
        return any(map(has_draft7_words, schema))
    if not isinstance(schema, dict):
        return False
    return "dependencies" in schema or isinstance(schema.get("items"), list) or any(map(has_draft7_words, schema.values()))


class Checker:
    def __init__(self, text):
        self.cases, self.plain = read(text), json.loads(text)  # to check by, and to send
        self.validators = []
        for case in self.cases:
            kind = Draft7Validator if has_draft7_words(case["schema"]) else Draft202012Validator
            self.validators.append(kind(case["schema"], format_checker=kind.FORMAT_CHECKER))
        self.counts = collections.Counter()
        self.finished = collections.Counter()

    def answer(self, index, text):
        self.finished[index] += 1
        try:
            wrong = next(self.validators[index].iter_errors(read(text)), None)
            wrong = wrong and wrong.message
        except ValueError as error:
            wrong = f"not JSON: {error}"
        self.counts["invalid" if wrong else "valid"] += 1
        if wrong:
            print(f"INVALID {self.cases[index]['name']}: {text[:200]!r}: {wrong[:200]}")

    def refused(self, index, message):
        self.counts["refused"] += 1
        print(f"refused {self.cases[index]['name']}: {message}")

    def report(self):
        never = [case["name"] for i, case in enumerate(self.cases) if not self.finished[i]]
        print(f"{len(self.cases)} schemas, {len(self.finished)} with a finished answer; " + ", ".join(f"{n} {what}" for what, n in sorted(self.counts.items())))
        if never:
            print("without a finished answer: " + ", ".join(never))
        return 1 if self.counts["invalid"] or self.counts["failed"] or not self.counts["valid"] else 0


def masks(options, checker):
    run = subprocess.run([options.bench, options.cases, options.tokenizer, str(options.answers), str(options.seed)], stdout=subprocess.PIPE, check=False)
    for line in run.stdout.decode().splitlines():
        row = json.loads(line)
        if "error" in row:
            checker.refused(row["case"], row["error"])
        elif "cut" in row:
            checker.counts["cut"] += 1
        else:
            checker.answer(row["case"], row["text"])
    return run.returncode


def ask(options, schema):
    body = {"messages": [{"role": "user", "content": "Answer with any JSON that fits. Be short."}], "temperature": options.temperature, "max_tokens": options.max_tokens,
            "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}}
    if options.model:
        body["model"] = options.model
    if options.no_thinking:
        body["chat_template_kwargs"] = {"enable_thinking": False}
    headers = {"Content-Type": "application/json"}
    if options.key:
        headers["Authorization"] = f"Bearer {options.key}"
    request = urllib.request.Request(options.url.rstrip("/") + "/v1/chat/completions", json.dumps(body).encode(), headers)
    begin = time.monotonic()
    try:
        with urllib.request.urlopen(request, timeout=options.timeout) as reply:
            return json.load(reply), time.monotonic() - begin
    except urllib.error.HTTPError as error:
        return {"status": error.code, "error": error.read().decode(errors="replace")[:300]}, time.monotonic() - begin


def soak(options, checker):
    jobs = [i for i in range(len(checker.cases)) for _ in range(options.answers)]
    seconds, tokens = 0.0, 0
    with concurrent.futures.ThreadPoolExecutor(options.streams) as pool:
        for i, (reply, took) in zip(jobs, pool.map(lambda i: ask(options, checker.plain[i]["schema"]), jobs)):
            seconds += took
            if "error" in reply:
                if reply.get("status") == 400:
                    checker.refused(i, reply["error"])
                else:
                    checker.counts["failed"] += 1
                    print(f"FAILED {checker.cases[i]['name']}: {reply}")
                continue
            choice = reply["choices"][0]
            tokens += reply.get("usage", {}).get("completion_tokens", 0)
            if choice["finish_reason"] == "length":
                checker.counts["cut"] += 1
            else:
                checker.answer(i, choice["message"]["content"] or "")
    print(f"{len(jobs)} requests, {tokens} tokens, {seconds:.1f} s of requests")
    try:  # compile and mask times, where the server tells them
        with urllib.request.urlopen(options.url.rstrip("/") + "/metrics", timeout=10) as reply:
            print("\n".join(line for line in reply.read().decode().splitlines() if "grammar" in line or "mask" in line))
    except OSError as error:
        print(f"/metrics: {error}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["masks", "soak"])
    parser.add_argument("--cases", default=str(CASES))
    parser.add_argument("--answers", type=int, help="for each schema; 20 over masks, 1 from a server")
    parser.add_argument("--bench", default="build/bench_schemas")
    parser.add_argument("--tokenizer", default="-", help="a tokenizer.json; - for a small vocabulary of bytes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--model")
    parser.add_argument("--key")
    parser.add_argument("--temperature", type=float, default=1.5)
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--no-thinking", action="store_true")
    options = parser.parse_args()
    options.answers = options.answers or (20 if options.mode == "masks" else 1)
    checker = Checker(pathlib.Path(options.cases).read_text(encoding="utf-8"))
    failed = (masks if options.mode == "masks" else soak)(options, checker)
    return checker.report() or failed


if __name__ == "__main__":
    sys.exit(main())
