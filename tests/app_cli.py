#!/usr/bin/env python3
# app_cli: the built program from outside: usage errors, help, every tool on the models at hand, pipes and signals. CALLA names the program.
import atexit, glob, json, os, pty, select, shutil, signal, struct, subprocess, tempfile, time, unittest, urllib.error, urllib.request

CALLA = os.path.abspath(os.environ.get("CALLA", "build/release/calla"))
HERE = os.path.dirname(os.path.abspath(__file__))
ORACLES = os.path.join(HERE, "..", "..", "shared", "oracles", "data")
MODELS = sorted(glob.glob(os.path.join(HERE, "golden", "models", "*.gguf")))
ORACLE_GGUF = sorted(glob.glob(os.path.join(ORACLES, "gguf", "*.gguf")))
ORACLE_HF = [d for d in (os.path.join(ORACLES, a) for a in ("qwen3", "llama", "qwen3_5")) if os.path.isdir(d)]
ANY = (MODELS + [p for p in ORACLE_GGUF if "llama-Q8_0" in p] + [None])[0]
HOME = tempfile.mkdtemp(prefix="calla-cli-")
atexit.register(shutil.rmtree, HOME, True)
ENV = {**{k: v for k, v in os.environ.items() if not k.startswith(("CALLA_", "HF_", "OLLAMA_"))}, "HOME": HOME, "XDG_STATE_HOME": HOME + "/state", "HF_HOME": HOME + "/hf", "HF_HUB_OFFLINE": "1"}

# As much of a driver as the runtime asks before it gives up.
OLD_DRIVER = r"""
#include <string.h>
int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int* version) { return *version = 12040, 0; }
static int failing(void) { return 999; }
int cuGetProcAddress_v2(const char* symbol, void** function, int version, unsigned long long flags, int* status) {
  *function = strcmp(symbol, "cuDriverGetVersion") == 0 ? (void*)cuDriverGetVersion : strcmp(symbol, "cuInit") == 0 ? (void*)cuInit : strncmp(symbol, "cuGetProcAddress", 16) == 0 ? (void*)cuGetProcAddress_v2 : (void*)failing;
  if (status) *status = 0;
  return 0;
}
int cuGetProcAddress(const char* symbol, void** function, int version, unsigned long long flags) { return cuGetProcAddress_v2(symbol, function, version, flags, 0); }
"""


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def calla(*words, stdin=b"", timeout=120):
    stdin = stdin.encode() if isinstance(stdin, str) else stdin
    return subprocess.run([CALLA, *map(str, words)], input=stdin, capture_output=True, timeout=timeout, env=ENV)


def answer(test, *words, **more):
    r = calla(*words, **more)
    test.assertEqual(r.returncode, 0, (words, r.stderr.decode()))
    return json.loads(r.stdout)


def expected(model):
    path = model + ".expected.json" if model.endswith(".gguf") else os.path.join(model, "expected.json")
    return json.loads(read(path)) if os.path.exists(path) else None


class Usage(unittest.TestCase):
    def one_line(self, r, status):
        self.assertEqual(r.returncode, status, r)
        self.assertEqual(r.stdout, b"")
        self.assertEqual(r.stderr.count(b"\n"), 1, r.stderr)
        self.assertTrue(r.stderr.startswith(b"calla: "), r.stderr)
        return r.stderr.decode()

    def test_help(self):
        top = calla("--help")
        self.assertEqual(top.returncode, 0)
        names = [l.split()[0] for l in top.stdout.decode().split("Commands:\n")[1].split("\n\n")[0].splitlines()]
        self.assertGreaterEqual(set(names), set("chat run serve bench inspect pull list rm selftest eval tokenize detokenize template perplexity version".split()))
        for name in names:
            r = calla(name, "--help")
            self.assertEqual(r.returncode, 0)
            self.assertIn(b"Examples:\n  ", r.stdout)
            self.assertEqual(r.stdout, calla("help", name).stdout)

    def test_usage_errors(self):
        self.assertIn("did you mean chat?", self.one_line(calla("caht"), 2))
        self.assertIn("did you mean --temp?", self.one_line(calla("run", "m", "--tmep", "1"), 2))
        self.assertIn("--port: 'x': a whole number from 0 to 65535 expected", self.one_line(calla("serve", "--port", "x"), 2))
        self.assertIn("too few arguments", self.one_line(calla("perplexity", "m"), 2))

    def test_failures_are_one_line(self):
        self.assertIn("nowhere.gguf", self.one_line(calla("inspect", "/nowhere.gguf"), 1))
        with tempfile.NamedTemporaryFile(suffix=".gguf") as f:
            f.write(b"GGUF\x03\0\0\0" + b"\xff" * 64)
            f.flush()
            for words in (("inspect", f.name), ("tokenize", f.name), ("eval", f.name, "--ids", "1"), ("run", f.name, "hi"), ("bench", f.name), ("selftest", f.name)):
                self.one_line(calla(*words), 1)

    def test_list_is_empty_at_first(self):
        self.assertEqual(answer(self, "list", "--json"), {"models": []})
        self.one_line(calla("rm", "no-body/nothing"), 1)

    def test_version(self):
        self.assertIn("version", answer(self, "version", "--json"))


@unittest.skipUnless(ANY, "no model at hand")
class Tools(unittest.TestCase):
    def test_inspect(self):
        for model in [ANY] + ORACLE_HF:
            r = answer(self, "inspect", model, "--tensors", "--json")
            self.assertEqual(r["n_tensors"], len(r["tensors"]))
            self.assertGreater(r["config"]["n_layers"], 0)
            self.assertTrue(r["fits"])
            self.assertIn(r["config"]["architecture"].encode(), calla("inspect", model).stdout)

    def test_eval(self):
        one = answer(self, "eval", ANY, "--ids", "1,2,3", "--n-predict", "4", "--precision", "exact", "--json")
        self.assertEqual(list(one), ["logits", "generated"])
        self.assertEqual([r["pos"] for r in one["logits"]], [2])
        top = one["logits"][0]["top"]
        self.assertEqual(len(top), 20)
        self.assertEqual(top, sorted(top, key=lambda e: (-e[1], e[0])))
        self.assertEqual(len(one["generated"]), 4)
        self.assertEqual(one["generated"][0], top[0][0])
        every = answer(self, "eval", ANY, "--ids", "1,2,3", "--all-positions", "--precision", "exact", "--json")
        self.assertEqual([r["pos"] for r in every["logits"]], [0, 1, 2])
        self.assertEqual(every["logits"][2]["top"][0][0], top[0][0])
        self.assertEqual(every["generated"], [])
        self.assertEqual(calla("eval", ANY, "--ids", "1,999999999").returncode, 1)

    def test_eval_writes_whole_rows(self):
        with tempfile.NamedTemporaryFile() as f:
            rows = answer(self, "eval", ANY, "--ids", "1,2,3", "--all-positions", "--logits", f.name)["logits"]
            data = f.read()
            size = len(data) // 3
            for row, part in zip(rows, (data[:size], data[size:2 * size], data[2 * size:])):
                values = struct.unpack(f"<{size // 4}f", part)
                self.assertEqual([values[i] for i, _ in row["top"]], [v for _, v in row["top"]])
        self.assertEqual(calla("eval", ANY, "--ids", "1", "--logits", "/nowhere/x").returncode, 1)

    def test_oracle_tokens_and_templates(self):
        for model in ORACLE_HF + [p for p in ORACLE_GGUF if "llama-Q8_0" in p or "qwen3-Q8_0" in p]:
            want = expected(model) or {}
            for case in want.get("tokenizer", []):
                got = answer(self, "tokenize", model, "--json", stdin=case["text"])
                self.assertEqual(got, {"ids": case["ids"]}, (model, case["text"]))
                back = answer(self, "detokenize", model, ",".join(map(str, case["ids"])), "--json")
                self.assertEqual(back["text"], case["decoded"], model)
            if want.get("chat"):
                chats = want["chat"] if isinstance(want["chat"], list) else [want["chat"]]
                for chat in chats:
                    got = answer(self, "template", model, "--json", stdin=json.dumps(chat["messages"]))
                    self.assertEqual(got["prompt"], chat["rendered"], model)
                    if "ids" in chat:
                        self.assertEqual(got["ids"], chat["ids"], model)

    def test_tokens_go_round(self):
        text = "a  b\n\n\tc é 海\n"
        ids = answer(self, "tokenize", ANY, "--json", stdin=text)["ids"]
        plain = calla("tokenize", ANY, stdin=text)
        self.assertEqual(list(map(int, plain.stdout.split())), ids)
        self.assertEqual(calla("detokenize", ANY, stdin=plain.stdout).stdout.decode(), text)
        self.assertEqual(answer(self, "tokenize", ANY, "--json", stdin=""), {"ids": []})
        self.assertEqual(calla("detokenize", ANY, "1,x").returncode, 1)

    def test_template_refuses_what_is_not_messages(self):
        for text in ("", "{", "1", "{}", '{"messages":1}', '{"messages":[],"add_generation_prompt":1}'):
            self.assertEqual(calla("template", ANY, stdin=text).returncode, 1, text)

    def test_perplexity(self):
        with tempfile.NamedTemporaryFile(suffix=".txt") as f:
            f.write(b"The sea is wide and the sky is blue. " * 4)
            f.flush()
            r = answer(self, "perplexity", ANY, f.name, "--json")
            self.assertEqual(list(r), ["ppl", "n_tokens"])
            self.assertGreater(r["ppl"], 1)
            exact = answer(self, "perplexity", ANY, "-", "--precision", "exact", "--json", stdin=read(f.name))
            self.assertEqual(exact["n_tokens"], r["n_tokens"])
            self.assertLess(abs(exact["ppl"] / r["ppl"] - 1), 0.05)

    def test_bench(self):
        r = answer(self, "bench", ANY, "-p", "16,32", "-n", "8", "-d", "0,40", "-r", "2", "--json")
        self.assertEqual([(x["test"], x["tokens"], x["depth"]) for x in r["results"]], [("prefill", 16, 0), ("prefill", 32, 0), ("decode", 8, 0), ("decode", 8, 40)])
        for x in r["results"]:
            self.assertTrue(x["repeats"], x)
            self.assertEqual(len(x["all"]), 2)
            self.assertTrue(0 < x["low"] <= x["tokens_per_second"] <= x["high"], x)
            self.assertGreater(x.get("bandwidth_share") or x.get("int8_share"), 0)
        shallow, deep = (x["bytes_per_token"] for x in r["results"][2:])
        self.assertTrue(r["bytes_per_token"] < shallow < deep)
        self.assertGreater(r["read_bytes_per_second"], 1e8)
        self.assertGreater(r["int8_macs_per_second"], 1e8)
        self.assertTrue(r["bottleneck"] and r["suggestion"])
        text = calla("bench", ANY, "-p", "0", "-n", "4", "-r", "1").stdout.decode()
        self.assertRegex(text, r"(?m)^decode +4 +0 ")
        self.assertNotIn("prefill", text.split("share")[1])
        self.assertIn("-d: '-1': whole numbers", calla("bench", ANY, "-d", "-1").stderr.decode())
        self.assertEqual(calla("bench", ANY, "-p", "0", "-n", "0").returncode, 1)

    def test_bench_of_streams_at_once(self):
        r = answer(self, "bench", ANY, "-p", "0", "-n", "1000", "-d", "300", "--batch", "1,2,8", "-r", "2", "--json")
        self.assertEqual([(x["streams"], x["tokens"], x["depth"]) for x in r["results"]], [(n, 1000, 300) for n in (1, 2, 8)])
        for x in r["results"]:
            self.assertTrue(x["repeats"] and x["low"] > 0, x)
            self.assertEqual("bandwidth_share" in x, x["streams"] == 1)

    def test_bench_is_interrupted_at_once(self):
        p = subprocess.Popen([CALLA, "bench", ANY, "-p", "4096", "-r", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENV)
        time.sleep(0.5)
        begin = time.monotonic()
        p.send_signal(signal.SIGINT)
        self.assertEqual((p.wait(10), p.communicate()[0]), (130, b""))
        self.assertLess(time.monotonic() - begin, 1)

    def test_run(self):
        r = calla("run", ANY, "Hello", "-n", "8", "--temp", "0")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(r.stdout, calla("run", ANY, "-p", "Hello", "-n", "8", "--temp", "0").stdout)
        self.assertEqual(r.stdout, calla("run", ANY, "-n", "8", "--temp", "0", stdin="Hello\n").stdout)
        j = answer(self, "run", ANY, "Hello", "-n", "8", "--temp", "0", "--json")
        self.assertEqual(j["text"].rstrip("\n") + "\n", r.stdout.decode().rstrip("\n") + "\n")
        self.assertLessEqual(j["usage"]["completion_tokens"], 8)
        with_document = answer(self, "run", ANY, "Hello", "-n", "1", "--json", stdin="A document of some words.")
        self.assertGreater(with_document["usage"]["prompt_tokens"], j["usage"]["prompt_tokens"])
        self.assertEqual(calla("run", ANY).returncode, 2)  # nothing to answer

    def test_run_is_interrupted_at_once(self):
        p = subprocess.Popen([CALLA, "run", ANY, "Hello", "-n", "100000000"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENV)
        time.sleep(0.3)
        begin = time.time()
        p.send_signal(signal.SIGINT)
        status = p.wait(timeout=20)
        p.stdout.close()
        if status != 0:  # a tiny model may have reached its context by then
            self.assertEqual(status, 130)
            self.assertLess(time.time() - begin, 2)

    def test_run_is_quiet_when_the_reader_leaves(self):
        p = subprocess.Popen([CALLA, "run", ANY, "Hello", "-n", "2000"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
        p.stdout.close()
        p.wait(timeout=60)
        self.assertNotIn(b"Traceback", p.stderr.read())
        p.stderr.close()

    def test_chat_through_a_pipe(self):
        with tempfile.TemporaryDirectory() as folder:
            saved = os.path.join(folder, "talk.json")
            words = f"/set temp 0\n/set max_tokens 4\nHello\n/regen\n/system Be brief.\n/save {saved}\n/clear\n/load {saved}\n/exit\nnever\n"
            r = calla("chat", ANY, stdin=words)
            self.assertEqual(r.returncode, 0, r.stderr)
            talk = json.loads(read(saved))
            self.assertEqual([m["role"] for m in talk["messages"]], ["system", "user", "assistant"])
            self.assertEqual(talk["settings"], {"temp": 0.0, "max_tokens": 4})
            self.assertEqual(os.stat(saved).st_mode & 0o777, 0o600)
            self.assertIn(b"2 messages loaded", r.stderr)  # the system message is not one of them
        self.assertIn(b"did you mean /help?", calla("chat", ANY, stdin="/hlep\n").stderr)
        self.assertNotEqual(calla("chat", ANY, stdin="/load /nowhere\n").returncode, 0)

    def test_chat_on_a_terminal(self):
        pid, fd = pty.fork()
        if pid == 0:
            os.environ.clear()
            os.environ.update({**ENV, "TERM": "xterm"})
            os.execv(CALLA, [CALLA, "chat", ANY, "-n", "4", "--temp", "0"])
        out = b""

        def until(text, seconds=30):
            nonlocal out
            end = time.time() + seconds
            while text not in out and time.time() < end:
                if select.select([fd], [], [], 0.2)[0]:
                    try:
                        out += os.read(fd, 65536)
                    except OSError:
                        break
            self.assertIn(text, out)
            out = out.split(text, 1)[1]

        until(b">>> ")
        os.write(fd, b"Helo\x1b[Dl\r")
        until(b"\x1b[?2004l")
        until(b">>> ")
        os.write(fd, b"/help\r")
        until(b"/regen")
        until(b">>> ")
        os.write(fd, b"half a line\x03")
        until(b"\x1b[?2004l")
        until(b">>> ")
        os.write(fd, b"\x04")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        os.close(fd)
        history = HOME + "/state/calla/history"
        self.assertEqual(read(history), "Hello\n/help\n")
        self.assertEqual(os.stat(history).st_mode & 0o777, 0o600)

    def serve(self, *words, env=ENV):
        p = subprocess.Popen([CALLA, "serve", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        self.addCleanup(lambda: (p.kill(), p.wait(), p.stdout.close(), p.stderr.close()))
        return p

    def ask(self, base, path, body=None, seconds=60):
        data = None if body is None else json.dumps(body).encode()
        return json.load(urllib.request.urlopen(urllib.request.Request(base + path, data, {"Content-Type": "application/json"}), timeout=seconds))

    def chat(self, base, model):
        return self.ask(base, "/v1/chat/completions", {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4, "temperature": 0})

    def end(self, p, expected=0):
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(timeout=30), expected)

    def test_serve(self):
        p = self.serve(ANY, "--port", "0", "--json")
        base = f"http://127.0.0.1:{json.loads(p.stdout.readline())['port']}"
        model = self.ask(base, "/v1/models")["data"][0]["id"]
        self.assertEqual(model, os.path.splitext(os.path.basename(ANY))[0])
        for name in (model, model + ":latest", "local/" + model, os.path.basename(ANY)):
            self.assertEqual(self.chat(base, name)["choices"][0]["message"]["role"], "assistant", name)
        self.end(p)

    def test_serve_many_models(self):
        with tempfile.TemporaryDirectory() as folder:
            config = os.path.join(folder, "calla.toml")
            with open(config, "w") as f:
                f.write(f'[server]\nlisten = "127.0.0.1:0"\nctx_size = 256\nalias = {{ "gpt-4o" = "second" }}\n'
                        f'[[local]]\nmodel = "{MODELS[0]}"\nname = "first"\n[[local]]\nmodel = "{MODELS[1]}"\nname = "second"\nkeep_alive = "1s"\nctx_size = 128\n')
            p = self.serve("--config", config, "-ngl", "99")
            base = p.stdout.readline().decode().removeprefix("listening on ").strip()
            self.assertRegex(base, r"^http://127.0.0.1:\d+$")
            self.assertEqual([m["id"] for m in self.ask(base, "/v1/models")["data"]][:2], ["first", "second"])
            self.assertEqual(self.chat(base, "first")["model"], "first")
            self.assertEqual(self.chat(base, "gpt-4o")["choices"][0]["message"]["role"], "assistant")
            with self.assertRaises(urllib.error.HTTPError) as e:
                self.chat(base, "third")
            self.assertEqual(e.exception.code, 404)
            e.exception.close()
            self.assertEqual(self.chat(base, "second")["model"], "second")
            self.end(p)
            said = p.stderr.read().decode()
            self.assertIn("-ngl has no effect", said)
            self.assertRegex(said, r"memory for first: weights .* context 256 tokens")
            self.assertRegex(said, r"memory for second: weights .* context 128 tokens")

    def test_serve_refuses_a_wrong_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as f:
            f.write("[server]\nport = 0\nprot = 1\n")
            f.flush()
            r = calla("serve", "--config", f.name)
            self.assertEqual((r.returncode, r.stdout), (2, b""))
            self.assertEqual(r.stderr.decode(), f"calla: {f.name}:3: server.prot: no such key, did you mean server.port?\n")
        self.assertEqual(calla("serve", "--config", "/nowhere.toml").returncode, 2)
        r = calla("serve", "/nowhere.gguf", "--port", "0")
        self.assertEqual((r.returncode, r.stdout, r.stderr.count(b"\n")), (1, b"", 1))

    def test_serve_ends_when_its_model_cannot_be_loaded(self):
        with tempfile.NamedTemporaryFile(suffix=".gguf") as f:
            f.write(b"GGUF\x03\0\0\0" + b"\xff" * 64)
            f.flush()
            r = calla("serve", f.name, "--port", "0")
            self.assertEqual(r.returncode, 1, r.stderr)
            self.assertIn(f.name, r.stderr.decode())

    def test_a_device_that_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            config = os.path.join(folder, "calla.toml")
            with open(config, "w") as f:
                f.write(f'[server]\nlisten = "127.0.0.1:0"\nctx_size = 256\n[[local]]\nmodel = "{MODELS[0]}"\nname = "first"\ninject_fault = "step:3"\n'
                        f'[[local]]\nmodel = "{MODELS[1]}"\nname = "second"\ninject_fault = "memory:2"\n')
            p = self.serve("--config", config)
            base = p.stdout.readline().decode().removeprefix("listening on ").strip()

            def refused(model):
                with self.assertRaises(urllib.error.HTTPError) as e:
                    self.chat(base, model)
                with e.exception:
                    return e.exception.code, json.loads(e.exception.read())["error"]["message"]

            for _ in range(2):  # in the third step, and at once from then on
                self.assertEqual(refused("first"), (503, "cannot run a step on the CPU: it has failed (an injected fault)"))
            self.assertEqual(refused("second"), (503, "cannot run a step on the CPU: no memory (an injected fault)"))
            for _ in range(2):  # that was one step
                self.assertEqual(self.chat(base, "second")["model"], "second")
            self.assertEqual([m["id"] for m in self.ask(base, "/v1/models")["data"]][:2], ["first", "second"])
            health = self.ask(base, "/health")
            self.assertEqual((health["status"], health["reason"]), ("degraded", "cannot run a step on the CPU: it has failed (an injected fault)"))
            with urllib.request.urlopen(base + "/metrics", timeout=60) as r:
                metrics = r.read().decode()
            self.assertIn('calla_model_up{model="first"} 0\n', metrics)
            self.assertIn('calla_model_up{model="second"} 1\n', metrics)
            self.assertRegex(self.ask(base, "/v1/capabilities")["models"]["second"]["device"], "^cpu ")
            self.assertRegex(self.ask(base, "/props")["device"], "^cpu ")
            self.end(p)

    def test_devices(self):
        r = calla("run", ANY, "Hello", "--device", "cuda", "--max-tokens", "1")
        if r.returncode != 0:  # no GPU, or none in this build: refused, and auto does without
            self.assertEqual((r.returncode, r.stdout, r.stderr.count(b"\n")), (1, b"", 1), r.stderr)
            self.assertRegex(r.stderr.decode(), "^calla: cannot use an NVIDIA GPU: ")
            r = calla("run", ANY, "Hello", "--device", "auto", "--max-tokens", "1")
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertRegex(r.stderr.decode(), "(?m)^calla: device: cpu: cannot use an NVIDIA GPU: ")
        else:
            self.assertRegex(r.stderr.decode(), r"(?m)^calla: device: cuda:\d, .*compute capability .*: ")
            self.assertRegex(r.stderr.decode(), r"(?m)^calla: memory for .*: weights .* that are available of GPU memory")
        self.assertEqual(calla("run", ANY, "Hello", "--device", "cuda:x").returncode, 2)
        self.assertNotIn("inject", calla("serve", "--help").stdout.decode())

    def test_an_old_driver(self):
        if "made without CUDA" in answer(self, "version", "--json")["gpu"]:
            return  # nobody asks a driver
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "driver.c"), "w") as f:
                f.write(OLD_DRIVER)
            subprocess.run([shutil.which("cc") or "clang", "-w", "-shared", "-fPIC", "-o", folder + "/libcuda.so.1", folder + "/driver.c"], check=True)
            r = subprocess.run([CALLA, "run", ANY, "Hello", "--device", "cuda"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, env={**ENV, "LD_LIBRARY_PATH": folder + ":" + ENV.get("LD_LIBRARY_PATH", "")})
            self.assertEqual(r.returncode, 1, r.stderr)
            self.assertRegex(r.stderr.decode(), r"^calla: cannot use an NVIDIA GPU: the driver is too old: CUDA 13\.\d needed, it knows CUDA 12\.4\n$")

    def test_what_is_planned_is_what_it_takes(self):
        p = self.serve(ANY, "--port", "0", "-np", "4", "-c", "2048")
        base = p.stdout.readline().decode().removeprefix("listening on ").strip()
        self.chat(base, "")
        self.end(p)
        self.assertRegex(p.stderr.read().decode(), r"memory for .*: weights .*B, state up to .*B \(4 sequences at once, context 2048 tokens\), scratch .*B: .*B of .*B that are available")

    def test_selftest(self):
        for model in [ANY] + [p for p in ORACLE_GGUF if "qwen3_5_moe-Q4_0" in p]:
            r = calla("selftest", model, "--json", timeout=600)
            report = json.loads(r.stdout)
            self.assertTrue(report["ok"], (model, [c for c in report["checks"] if c["result"] == "fail"]))
            self.assertGreaterEqual(len(report["checks"]), 9)


if __name__ == "__main__":
    unittest.main(verbosity=1)
