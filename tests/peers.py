#!/usr/bin/env python3
# peers: bench/peers on recorded answers of llama-bench and calla: parsing, command lines, the table, and what it says when something is wrong.
import contextlib, importlib.machinery, importlib.util, io, json, os, stat, sys, tempfile, types, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("peers_tool", os.path.join(HERE, "..", "bench", "peers"))
peers = importlib.util.module_from_spec(importlib.util.spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(peers)

# Recorded, shortened to what is read.
LLAMA = [{"build_commit": "0c1e570", "build_number": 1, "cpu_info": "AMD EPYC", "n_threads": 2, "n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ns": 2169000000, "avg_ts": 236.02, "stddev_ts": 0.0},
         {"build_commit": "0c1e570", "build_number": 1, "cpu_info": "AMD EPYC", "n_threads": 2, "n_prompt": 0, "n_gen": 64, "n_depth": 0, "avg_ns": 1049000000, "avg_ts": 61.0, "stddev_ts": 0.0}]
LLAMA_DEEP = [{**LLAMA[1], "n_depth": 4096, "avg_ts": 46.5}]
IK = [{"build_commit": "unknown", "build_number": 0, "n_prompt": 512, "n_gen": 0, "avg_ts": 629.5, "test": "pp512"},
      {"build_commit": "unknown", "build_number": 0, "n_prompt": 0, "n_gen": 64, "avg_ts": 63.1, "test": "tg64"},
      {"build_commit": "unknown", "build_number": 0, "n_prompt": 4096, "n_gen": 64, "avg_ts": 62.2, "test": "tg64@pp4096"},
      {"build_commit": "unknown", "build_number": 0, "n_prompt": 128, "n_gen": 32, "avg_ts": 99.0, "test": "pp128+tg32"}]
CALLA = {"read_bytes_per_second": 37e9, "int8_macs_per_second": 0.95e12, "machine": {"processor": "AMD EPYC", "isa": "avx512", "threads": 2},
         "results": [{"test": "prefill", "tokens": 512, "depth": 0, "tokens_per_second": 472.04, "digests": ["aa"]}, {"test": "decode", "tokens": 64, "depth": 0, "tokens_per_second": 91.5, "digests": ["bb"]},
                     {"test": "decode", "tokens": 64, "depth": 4096, "tokens_per_second": 93.0, "digests": ["cc"]}]}


def options(**more):
    return types.SimpleNamespace(**{"model": "m.gguf", "prompt": [512], "generate": 64, "depths": [0, 4096], "repetitions": 2, "threads": 2, **more})


class Parsing(unittest.TestCase):
    def test_llama_bench(self):
        rates, facts = peers.read_llama_bench(json.dumps(LLAMA))
        self.assertEqual(rates, {("prefill", 512, 0): 236.02, ("decode", 64, 0): 61.0})
        self.assertEqual(peers.LlamaCpp("x", []).version(facts), "0c1e570 (build 1)")
        self.assertEqual(peers.read_llama_bench(json.dumps(LLAMA_DEEP))[0], {("decode", 64, 4096): 46.5})

    def test_ik_llama_bench_with_lines_before_and_after(self):
        rates, _ = peers.read_llama_bench("Adding 1 buffer\n" + json.dumps(IK, indent=2) + "\n~ggml_backend: done\n")
        self.assertEqual(rates, {("prefill", 512, 0): 629.5, ("decode", 64, 0): 63.1, ("decode", 64, 4096): 62.2})

    def test_nonsense(self):
        for text in ("", "no model", "[", '[{"n_prompt": 1}]'):
            with self.assertRaises((peers.Failure, ValueError, KeyError)):
                peers.read_llama_bench(text)

    def test_calla(self):
        rates, facts = peers.read_calla(json.dumps(CALLA))
        self.assertEqual(rates["decode", 64, 4096], 93.0)
        self.assertEqual(facts["machine"]["threads"], 2)


class CommandLines(unittest.TestCase):
    def test_depths_get_what_each_program_understands(self):
        o = options()
        self.assertEqual(list(peers.LlamaCpp("l", []).commands(o, 2)), ["l -m m.gguf -p 512 -n 64 -r 1 -t 2 -fa 1 -o json".split(), "l -m m.gguf -p 0 -n 64 -r 1 -t 2 -fa 1 -o json -d 4096".split()])
        self.assertEqual(list(peers.IkLlama("i", []).commands(o, 2)), ["i -m m.gguf -p 512 -n 64 -r 1 -t 2 -rtr 1 -fmoe 1 -fa 1 -o json -gp 4096,64".split()])
        self.assertEqual(list(peers.Calla("c", ["--isa", "avx2"]).commands(o, 2)), ["c bench m.gguf -p 512 -n 64 -d 0,4096 -r 1 -t 2 --isa avx2 --json".split()])
        self.assertNotIn("-t", next(peers.Calla("c", []).commands(o, 0)))

    def test_no_prompt_and_no_shallow_depth(self):
        o = options(prompt=[0], depths=[4096])
        self.assertEqual([c[-2:] for c in peers.LlamaCpp("l", []).commands(o, 2)], [["-d", "4096"]])
        self.assertEqual(next(peers.IkLlama("i", []).commands(o, 2))[5:7], ["-n", "0"])


class WholeRuns(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.model = self.path("m.gguf")
        with open(self.model, "wb") as f:
            f.write(b"GGUF")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def program(self, name, *answers):
        """A script that prints the n-th answer when its arguments hold the n-th word."""
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\ncase \"$*\" in\n")
            for pattern, answer in answers:
                f.write(f"*'{pattern}'*) cat <<'END'\n{answer}\nEND\n;;\n")
            f.write("*) echo 'no such model' >&2; exit 3;;\nesac\n")
        os.chmod(self.path(name), stat.S_IRWXU)
        return self.path(name)

    def calla(self, answer=None):
        return self.program("calla", ("version", '{"version": "0.1.0", "compiler": "gcc 12"}'), (" -r 1 ", json.dumps(answer or CALLA)))

    def tool(self, *words):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = peers.main([self.model, *words])
        return status, out.getvalue(), err.getvalue()

    def test_table(self):
        llama = self.program("llama", ("-d 4096", json.dumps(LLAMA_DEEP)), ("-fa 1", json.dumps(LLAMA)))
        ik = self.program("ik", ("-rtr 1", json.dumps(IK)))
        words = ("--calla", self.calla(), "--llama-bench", llama, "--ik-llama-bench", ik, "-d", "0,4096", "-r", "2")
        status, out, err = self.tool(*words)
        self.assertEqual(status, 0, err)
        self.assertEqual(err.splitlines(), [f"round {r} of 2: {n}" for r in (1, 2) for n in ("Calla", "llama.cpp", "ik_llama.cpp")])
        self.assertIn("| | Calla | llama.cpp | ik_llama.cpp | Calla / llama.cpp | Calla / ik_llama.cpp |\n|---|---|---|---|---|---|\n", out)
        self.assertIn("| prefill 512 | 472.0 (472.0 to 472.0) | 236.0 (236.0 to 236.0) | 629.5 (629.5 to 629.5) | 2.00 | 0.75 |\n", out)
        self.assertIn("| decode 64 at 4096 | 93.0 (93.0 to 93.0) | 46.5 (46.5 to 46.5) | 62.2 (62.2 to 62.2) | 2.00 | 1.50 |\n", out)
        self.assertIn("memory reads 37.0 GB/s (37.0 to 37.0), int8 1.90 TOPS", out)
        self.assertIn("Versions: Calla 0.1.0 (gcc 12); llama.cpp 0c1e570 (build 1);", out)
        self.assertIn(f"{llama} -m {self.model} -p 0 -n 64 -r 1 -t 2 -fa 1 -o json -d 4096\n", out)
        self.assertNotIn("NOT REPEATED", out)
        s = json.loads(self.tool(*words, "--json")[1])
        self.assertEqual([c["engines"]["ik_llama.cpp"]["all"] for c in s["cases"]][0], [629.5, 629.5])

    def test_a_case_that_a_peer_lacks(self):
        status, out, err = self.tool("--calla", self.calla(), "--llama-bench", self.program("llama", ("-m", json.dumps(LLAMA[:1]))), "-r", "1")
        self.assertEqual(status, 0, err)
        self.assertIn("| decode 64 at 0 | 91.5 (91.5 to 91.5) | - | - |", out)

    def test_what_is_wrong_is_said_in_one_line(self):
        llama = self.program("llama", ("-m", json.dumps(LLAMA)))
        for words, said in ((("--calla", "/nowhere"), "--calla: /nowhere: no program there"),
                            (("--calla", self.calla(), "--llama-bench", "/nowhere"), "--llama-bench: /nowhere: no program there"),
                            (("--calla", self.program("broken"), "--llama-bench", llama), "exit status 3: no such model"),
                            (("--calla", self.program("strange", ("bench", "hello")), "--llama-bench", llama), "its output cannot be read")):
            status, out, err = self.tool(*words)
            last = err.splitlines()[-1]
            self.assertEqual((status, out), (1, ""), words)
            self.assertTrue(last.startswith("bench/peers: ") and said in last, last)
        self.model = "/nowhere.gguf"
        self.assertEqual(self.tool(), (1, "", "bench/peers: /nowhere.gguf: no such file\n"))

    def test_no_peer_at_all(self):
        self.addCleanup(setattr, peers, "find_llama_bench", peers.find_llama_bench)
        peers.find_llama_bench = lambda: None
        status, _, err = self.tool("--calla", self.calla())
        self.assertEqual(status, 1)
        self.assertIn("no peer: give --llama-bench", err)

    def test_ids_that_change(self):
        changed = json.loads(json.dumps(CALLA))
        changed["results"][1]["digests"] = ["bb", "dd"]
        _, out, _ = self.tool("--calla", self.calla(changed), "--llama-bench", self.program("llama", ("-m", json.dumps(LLAMA))), "-r", "1")
        self.assertIn("NOT REPEATED: Calla's ids differ between rounds: decode 64 at 0.", out)


if __name__ == "__main__":
    unittest.main()
