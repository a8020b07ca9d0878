#!/usr/bin/env python3
"""run: random requests through a gate whose cloud is ours, and a search for every planted byte in all that left or was written.

  tests/gate/run.py [--requests 10000] [--seed N] [--threads 8]      CALLA names the program

Planted are values of every class in every place of a request, in all dialects, streamed and whole, plain and disguised; the cloud answers well,
fails, hangs, lies, cuts streams; clients leave early. Then: nothing planted reached the cloud, a log, the metrics, the audit or a file, in any
spelling of planted.spellings; every request has exactly one line in the audit; what came back is restored. Leaves with 1 and says what is wrong.
"""
import argparse
import collections
import concurrent.futures
import glob
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from planted import Maker, leaks  # noqa: E402
from upstream import Upstream  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
CALLA = os.path.abspath(os.environ.get("CALLA", os.path.join(ROOT, "build", "release", "calla")))
MODEL = os.path.join(ROOT, "tests", "golden", "models", "qwen3_5_moe-Q4_0.gguf")
MOODS = ["ok"] * 40 + ["error", "busy", "hang", "cut", "garbage", "lie"]

CONFIG = """
[server]
listen = "127.0.0.1:0"
[local]
model = "{model}"
name = "tiny"
[upstream.cloud]
base_url = "{url}"
api_key_env = "GATE_TEST_KEY"
models = ["big-1", "big-2"]
timeout_s = 2
[privacy]
id = "house"
default_route = "cloud"
vault_dir = "state"
[privacy.classes]
secret = "local"
gov_id = "mask"
financial = "mask"
contact = "mask"
person = "mask"
health = "local"
opaque = "ask"
[[privacy.term]]
name = "nordstar"
terms = ["Nordstar"]
action = "refuse"
[audit]
path = "audit.jsonl"
fsync = "interval"
"""


class Server:
    def __init__(self, folder, url, config=CONFIG):
        self.folder = folder
        with open(os.path.join(folder, "calla.toml"), "w") as f:
            f.write(config.format(model=MODEL, url=url))
        self.log = open(os.path.join(folder, "stderr.log"), "ab")
        env = {**os.environ, "HOME": folder, "TMPDIR": os.path.join(folder, "tmp"), "GATE_TEST_KEY": "loopback-test", "XDG_STATE_HOME": os.path.join(folder, "xdg")}
        os.makedirs(env["TMPDIR"], exist_ok=True)
        self.process = subprocess.Popen([CALLA, "serve", "--config", "calla.toml"], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=self.log, text=True)
        found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", self.process.stdout.readline())
        if not found:
            sys.exit("the server did not start: " + open(os.path.join(folder, "stderr.log")).read())
        self.port = int(found.group(1))
        for _ in range(200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5)
                return
            except OSError:
                time.sleep(0.1)
        sys.exit("the server did not become ready")

    def metrics(self):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10).read()

    def stop(self):
        self.process.terminate()
        self.rest = self.process.communicate(timeout=60)[0]
        self.log.close()


class Case:
    """One request: what it plants, what must happen to it."""

    def __init__(self, seed):
        self.maker = maker = Maker(seed)
        rnd = maker.random
        self.kind = rnd.choices(["masked", "kept", "health", "refused", "plain", "local"], [50, 15, 5, 5, 15, 10])[0]
        self.model = "local/tiny" if self.kind == "local" else rnd.choice(["auto", "auto", "cloud/big-1", "cloud/big-2"])
        self.stream, self.leave = rnd.random() < 0.5, rnd.random() < 0.05
        self.dialect = rnd.choice(["chat"] * 5 + ["completions", "responses", "anthropic", "ollama", "generate"])
        self.n = 2 if self.dialect == "chat" and rnd.random() < 0.1 else 1
        texts, self.values, self.exact = [], [], True
        if self.kind in ("masked", "local"):
            texts, self.values = maker.planted(Maker.MASKED, rnd.randrange(1, 4))
            if rnd.random() < 0.2:
                cls, make = rnd.choice([("card", maker.card), ("email", maker.email), ("iban", maker.iban)])
                value = make()
                texts.append(f"{cls}: " + maker.disguised(cls, value))
                self.values.append((cls, value))
        elif self.kind == "kept":
            texts, self.values = maker.planted(Maker.KEPT, 1)
        elif self.kind == "health":
            person = maker.person()
            texts, self.values = [f"Patient {person} was diagnosed with {rnd.choice(['hepatitis C', 'type 2 diabetes', 'breast cancer'])}."], [("person", person)]
        elif self.kind == "refused":
            texts, self.values = [f"How is project {rnd.choice(['Nordstar', 'NORDSTAR', 'N​ordstar', 'Ｎordstar'])} doing?"], [("custom", "Nordstar")]
        texts.insert(rnd.randrange(len(texts) + 1), maker.prose() + ".")
        self.text = rnd.choice([" ", "\n", "\n\n"]).join(texts)
        self.place = rnd.choice(["user"] * 4 + ["system", "tool", "history", "arguments"]) if self.dialect == "chat" else "user"

    def body(self):
        text, small = self.text, {"model": self.model, "stream": self.stream}
        if self.dialect == "completions":
            return "/v1/completions", {**small, "prompt": text, "max_tokens": 4}
        if self.dialect == "responses":
            return "/v1/responses", {**small, "input": text, "max_output_tokens": 16}
        if self.dialect == "anthropic":
            return "/v1/messages", {**small, "messages": [{"role": "user", "content": text}], "max_tokens": 4}
        if self.dialect == "ollama":
            return "/api/chat", {**small, "messages": [{"role": "user", "content": text}], "options": {"num_predict": 4}}
        if self.dialect == "generate":
            return "/api/generate", {**small, "prompt": text, "options": {"num_predict": 4}}
        messages = [{"role": "user", "content": text}]
        last = {"role": "user", "content": "go on then"}
        if self.place == "system":
            messages = [{"role": "system", "content": text}, last]
        elif self.place == "history":
            messages = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": text}, last]
        elif self.place in ("tool", "arguments"):
            arguments = json.dumps({"note": text if self.place == "arguments" else "x"}, ensure_ascii=self.maker.random.random() < 0.5)
            messages = [last, {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "note", "arguments": arguments}}]},
                        {"role": "tool", "tool_call_id": "c1", "content": text if self.place == "tool" else "done"}, last]
        more = {"n": 2} if self.n == 2 else {}
        if self.maker.random.random() < 0.2:
            more.update(user=self.values[0][1] if self.values else "u", metadata={"who": self.values[0][1] if self.values else "m"})
        return "/v1/chat/completions", {**small, "messages": messages, "max_tokens": 4, **more}


def texts_of(case, data):
    """The answer's texts by choice; None for what is no whole answer."""
    if case.dialect != "chat":
        return None
    out = collections.defaultdict(str)
    if not case.stream:
        for choice in json.loads(data)["choices"]:
            out[choice["index"]] = choice["message"]["content"] or ""
        return out
    if b"[DONE]" not in data:
        return None
    for line in data.decode().splitlines():
        if line.startswith("data: {"):
            event = json.loads(line[6:])
            if "error" in event:
                return None
            for choice in event["choices"]:
                out[choice["index"]] += choice.get("delta", {}).get("content") or ""
    return out


class Run:
    def __init__(self, server, cloud, seed):
        self.server, self.cloud, self.seed = server, cloud, seed
        self.lock, self.wrong, self.count = threading.Lock(), [], collections.Counter()
        self.ids, self.values = collections.Counter(), []

    def complain(self, case, text):
        with self.lock:
            self.wrong.append(f"seed {case.maker_seed}: {case.kind} {case.dialect} {case.model} {case.place} stream={case.stream}: {text}")

    def one(self, seed):
        case = Case(seed)
        case.maker_seed = seed
        path, body = case.body()
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            headers = {"Content-Type": "application/json"}
            if case.maker.random.random() < 0.1:
                headers["X-Calla-Consent"] = "none"
            connection.request("POST", path, json.dumps(body, ensure_ascii=case.maker.random.random() < 0.5).encode(), headers)
            if case.leave:
                time.sleep(case.maker.random.random() * 0.05)
                with self.lock:
                    self.count["left"] += 1
                return case
            answer = connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.complain(case, f"no answer: {error!r}")
            return case
        finally:
            connection.close()
        self.check(case, answer, data)
        return case

    def check(self, case, answer, data):
        route, audit_id = answer.getheader("X-Calla-Route"), answer.getheader("X-Calla-Audit-Id")
        with self.lock:
            self.count[f"{case.kind} {answer.status} {route}"] += 1
            if audit_id:
                self.ids[audit_id] += 1
        if not audit_id:
            self.complain(case, f"status {answer.status} without an audit id: {data[:200]!r}")
        pinned = case.model.startswith("cloud/")
        allowed = {"masked": {"cloud-masked", "local"}, "kept": {"refused"} if pinned else {"local"}, "health": {"refused"} if pinned else {"local"},
                   "refused": {"refused"}, "plain": {"cloud", "local"}, "local": {"local"}}[case.kind]
        if route not in allowed:
            self.complain(case, f"route {route}, status {answer.status}, {sorted(allowed)} expected: {case.text!r}")
        if pinned and route == "local":
            self.complain(case, "a pinned cloud model was answered locally")
        if answer.status >= 400 and any(value.encode() in data for _, value in case.values):
            self.complain(case, "an error repeats a value")
        if answer.status == 200 and route in ("cloud", "cloud-masked") and case.place == "user" and case.dialect == "chat":
            texts = texts_of(case, data)
            if texts is not None and any(text != case.text for text in texts.values()):
                self.complain(case, f"not restored: {dict(texts)!r} for {case.text!r}")
            if texts is not None:
                with self.lock:
                    self.count["restored whole"] += 1

    def search(self, cases, seen):
        for case in cases:
            for cls, value in case.values:
                found = leaks(value, seen)
                if found:
                    self.complain(case, f"LEAK of {cls} as {found[:60]!r}: {case.text!r}")

    def go(self, total, threads):
        batch, recent = 100, collections.deque(maxlen=3)
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            for start in range(0, total, batch):
                cases = list(pool.map(self.one, range(self.seed + start, self.seed + min(start + batch, total))))
                self.values += [(case.kind, value) for case in cases for _, value in case.values if case.kind != "local" or True]
                recent.append([case for case in cases if case.kind != "plain"])
                if start + batch >= total:
                    time.sleep(4)  # what was aborted may still arrive
                taken = self.cloud.take()
                self.count["upstream requests"] += len(taken)
                seen = b"\n".join(data for data, _ in taken)
                self.search([case for old in recent for case in old], seen)
                print(f"  {min(start + batch, total)} requests, {self.count['upstream requests']} upstream, {len(self.wrong)} wrong", flush=True)
                if len(self.wrong) > 50:
                    return

    def files(self, folder):
        """Nothing planted in anything that was written, or measured."""
        sources = {"metrics": self.last_metrics, "stdout": self.server.rest.encode()}
        for path in glob.glob(os.path.join(folder, "**", "*"), recursive=True):
            if os.path.isfile(path) and os.path.basename(path) != "calla.toml":
                sources[os.path.relpath(path, folder)] = open(path, "rb").read()
        for name, data in sources.items():
            for kind, value in self.values:
                if value.encode() in data and (kind != "refused" or name != "audit.jsonl"):
                    self.wrong.append(f"{name} holds a planted value ({kind})")
                    break
        return sources

    def audit(self, folder, total):
        path = os.path.join(folder, "audit.jsonl")
        verified = subprocess.run([CALLA, "audit", "verify", path, "--json"], capture_output=True, text=True)
        if verified.returncode != 0:
            self.wrong.append("audit verify: " + verified.stdout + verified.stderr)
        lines = [json.loads(line) for line in open(path)]
        requests = collections.Counter(line["id"] for line in lines if line["kind"] == "request")
        if max(requests.values(), default=0) > 1:
            self.wrong.append("a request has two lines in the audit")
        missing = [i for i in self.ids if i not in requests]
        if missing:
            self.wrong.append(f"{len(missing)} audit ids were told and not written")
        low = total - self.count["left"]
        if not low <= len(requests) <= total:
            self.wrong.append(f"{len(requests)} request lines for {total} requests, of which {self.count['left']} left early")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--requests", type=int, default=10000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--threads", type=int, default=8)
    options.add_argument("--keep", action="store_true", help="leave the folder")
    options = options.parse_args()
    folder = tempfile.mkdtemp(prefix="calla-gate-")
    cloud = Upstream(options.seed, MOODS)
    server = Server(folder, cloud.url())
    run = Run(server, cloud, options.seed * 1_000_000)
    try:
        run.go(options.requests, options.threads)
        run.last_metrics = server.metrics()
    finally:
        server.stop()
        cloud.close()
    run.files(folder)
    run.audit(folder, options.requests if len(run.wrong) <= 50 else sum(run.count.values()))
    for name, n in sorted(run.count.items()):
        print(f"{n:7} {name}")
    for text in run.wrong[:40]:
        print("WRONG", text)
    if options.keep:
        print(folder)
    else:
        shutil.rmtree(folder, True)
    print(f"{'failed' if run.wrong else 'ok'}: {options.requests} requests, {len(run.values)} planted values, {len(run.wrong)} wrong")
    return 1 if run.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
