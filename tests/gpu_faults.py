#!/usr/bin/env python3
# gpu_faults: what a server says and does when its GPU has no memory, when a step finds none, and when a kernel goes wrong. Needs a GPU; says so where there is
# none. CALLA names the program.
import ctypes, json, os, re, subprocess, sys, tempfile, time, unittest, urllib.error, urllib.request

CALLA = os.path.abspath(os.environ.get("CALLA", "build/cuda/calla"))
HERE = os.path.dirname(os.path.abspath(__file__))
FIRST, SECOND = (os.path.join(HERE, "golden", "models", name) for name in ("qwen3_5_moe-Q4_0.gguf", "llama-Q6_K.gguf"))
ENV = {k: v for k, v in os.environ.items() if not k.startswith("CALLA_")}


def calla(*words):
    r = subprocess.run([CALLA, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, env=ENV, text=True)
    return r.returncode, r.stdout, r.stderr


# Holds all of the GPU's memory but so many MiB until its standard input ends. With the driver alone: no other library has to be there.
def hold_memory(leave_mib):
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context, memory, free, total = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
    for code in (cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), cuda.cuCtxSetCurrent(context),
                 cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)), cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(max(free.value - (leave_mib << 20), 1)))):
        assert code == 0, code
    print("held", flush=True)
    sys.stdin.read()


class Held:
    def __init__(self, leave_mib):
        self.process = subprocess.Popen([sys.executable, __file__, "--hold", str(leave_mib)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "held\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()


class Server:
    def __init__(self, config):
        self.folder = tempfile.TemporaryDirectory()
        path = os.path.join(self.folder.name, "calla.toml")
        with open(path, "w") as f:
            f.write('[server]\nlisten = "127.0.0.1:0"\nctx_size = 256\n' + config)
        self.process = subprocess.Popen([CALLA, "serve", "--config", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)
        self.base = self.process.stdout.readline().removeprefix("listening on ").strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.said = self.process.communicate(timeout=60)[1]
        self.folder.cleanup()

    def ask(self, path, body=None):
        request = urllib.request.Request(self.base + path, json.dumps(body).encode() if body else None, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as r:
                return r.status, r.read().decode()
        except urllib.error.HTTPError as e:
            with e:
                return e.code, e.read().decode()

    def chat(self, model, tokens=8):
        status, text = self.ask("/v1/chat/completions", {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": tokens, "temperature": 0})
        return status, json.loads(text)["error"]["message"] if status != 200 else json.loads(text)["choices"][0]["finish_reason"]


def local(model, name, more=""):
    return f'[[local]]\nmodel = "{model}"\nname = "{name}"\npinned = false\n{more}\n'


class Faults(unittest.TestCase):
    def test_a_kernel_that_goes_wrong(self):
        config = local(SECOND, "on the CPU") + local(FIRST, "broken", 'device = "cuda"\ninject_fault = "step:3"') + local(SECOND, "beside it", 'device = "cuda"')
        with Server(config) as server:
            for model in ("on the CPU", "beside it"):
                self.assertEqual(server.chat(model)[0], 200, model)
            status, why = server.chat("broken")
            self.assertEqual(status, 503)
            self.assertRegex(why, r"^the GPU is out of order until this process starts anew: cannot .*cudaErrorIllegalAddress")
            begin = time.monotonic()
            self.assertEqual(server.chat("broken"), (503, why))
            self.assertLess(time.monotonic() - begin, 1)
            self.assertEqual(server.chat("beside it")[0], 503)  # it shares the context
            self.assertEqual(server.chat("on the CPU")[0], 200)
            self.assertEqual(server.ask("/v1/models")[0], 200)
            status, health = server.ask("/health")
            self.assertEqual((status, json.loads(health)["status"], json.loads(health)["reason"]), (200, "degraded", why))
            self.assertIn('calla_model_up{model="broken"} 0\n', server.ask("/metrics")[1])
            self.assertIsNone(server.process.poll())

    def test_a_step_without_memory(self):
        with Server(local(FIRST, "m", 'device = "cuda"\ninject_fault = "memory:2"')) as server:
            status, why = server.chat("m")
            self.assertEqual(status, 503)
            self.assertRegex(why, r"^cannot take \d+ MiB of GPU memory for a step: \d+ MiB of \d+ are free$")
            self.assertEqual(server.chat("m")[0], 200)

    def test_a_model_that_does_not_fit(self):
        with Held(450):
            status, out, err = calla("run", FIRST, "Hello", "--device", "cuda", "--max-tokens", "1")
            self.assertEqual((status, out), (1, ""))
            self.assertRegex(err, r"^calla: cannot ")
            self.assertEqual(err.count("\n"), 1, err)
            status, out, err = calla("run", FIRST, "Hello", "--device", "auto", "--max-tokens", "1")
            self.assertEqual(status, 0, err)
            self.assertRegex(err, r"(?m)^calla: device: cpu: cannot ")
            with Server(local(FIRST, "m", 'device = "cuda"') + local(SECOND, "on the CPU")) as server:
                self.assertEqual(server.chat("on the CPU")[0], 200)
                self.assertNotEqual(server.chat("m")[0], 200)
                self.assertIsNone(server.process.poll())

    def test_what_is_planned_is_what_it_takes(self):
        status, _, err = calla("run", FIRST, "Hello", "--device", "cuda", "--max-tokens", "1")
        self.assertEqual(status, 0, err)
        self.assertRegex(err, r"(?m)^calla: device: cuda:\d, .*compute capability \d+\.\d: ")
        self.assertRegex(err, r"(?m)^calla: memory for .*: weights .*, state up to .*, scratch .*: .* that are available of GPU memory, .* more kept free for its driver$")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--hold"]:
        sys.exit(hold_memory(int(sys.argv[2])))
    gpu = json.loads(calla("version", "--json")[1])["gpu"]
    if not re.match(r"cuda:\d", gpu):
        print("SKIPPED: no NVIDIA GPU:", gpu)
        sys.exit(1 if os.environ.get("CALLA_REQUIRE_GPU") else 0)
    unittest.main(verbosity=1)
