#!/usr/bin/env python3
# gpu_tool: what tools/gpu rests on and needs no GPU: the tokenizer of synthetic models, the times of streamed tokens, and a whole run of its pieces on a small
# checkpoint on the CPU. CALLA names the program.
import json, os, struct, subprocess, sys, tempfile, unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CALLA = os.path.abspath(os.environ.get("CALLA", "build/release/calla"))
MODELS = os.path.join(ROOT, "tests", "golden", "models")
sys.path.insert(0, os.path.join(ROOT, "tools"))
import gpu_client
import synthetic_text as synthetic

TAIL = b"what stands behind the metadata" * 10
WORDS = "Hello there, <|im_start|>user\nZürich 2×3\n"


def calla(*words, text=""):
    done = subprocess.run([CALLA, *words], input=text.encode(), capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


# What make_synthetic.py writes before the first tensor, with tensors left out.
def write_gguf(path, size):
    entries = [synthetic.entry("general.architecture", 8, synthetic.text("qwen35moe")), synthetic.entry("general.alignment", 4, struct.pack("<I", 32)),
               synthetic.entry("tokenizer.ggml.model", 8, synthetic.text("gpt2")), synthetic.texts("tokenizer.ggml.tokens", [f"t{i:06d}" for i in range(size)]),
               synthetic.entry("tokenizer.ggml.token_type", 9, struct.pack("<IQ", 5, size) + struct.pack(f"<{size}i", *[1] * size)),
               synthetic.texts("tokenizer.ggml.merges", ["t 0"]), synthetic.entry("tokenizer.ggml.eos_token_id", 4, struct.pack("<I", size - 1))]
    with open(path, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)) + b"".join(entries) + TAIL)


class Tokenizers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def check_tokens(self, model):
        ids = json.loads(calla("tokenize", model, "--json", text=WORDS))["ids"]
        self.assertIn(248045, ids)
        self.assertEqual(json.loads(calla("detokenize", model, ",".join(map(str, ids)), "--json"))["text"], WORDS)
        self.assertLess(len(json.loads(calla("tokenize", model, "--json", text="abcabc"))["ids"]), 5)  # merges are used

    def test_of_a_gguf_in_place(self):
        path = os.path.join(self.folder.name, "synthetic.gguf")
        write_gguf(path, 248320)
        size = os.path.getsize(path)
        for _ in range(2):  # and once more over its own
            synthetic.give_text(path)
            self.assertEqual(os.path.getsize(path), size)
            with open(path, "rb") as file:
                self.assertTrue(file.read().endswith(TAIL))
            self.check_tokens(path)

    def test_beside_safetensors(self):
        path = os.path.join(self.folder.name, "model")
        os.mkdir(path)
        with open(os.path.join(path, "config.json"), "w") as file:
            json.dump({"model_type": "qwen3_5_moe", "text_config": {"vocab_size": 248320}}, file)
        header = json.dumps({"norm.weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
        with open(os.path.join(path, "model.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + bytes(4))
        synthetic.give_text(path)
        self.check_tokens(path)

    def test_every_token_is_another_text(self):
        tokens, merges = synthetic.vocabulary(248320)
        self.assertEqual((len(set(tokens)), len(merges)), (248320, 248320 - 256 - 3))


class Times(unittest.TestCase):
    def test_a_token_came_with_the_bytes_that_end_its_event(self):
        stream = object.__new__(gpu_client.Stream)
        event = b'data: {"choices":[{"text":"%s"}],"usage":null}\n\n'
        stream.received = [(1.0, b"HTTP/1.1 200 OK\r\n\r\n" + event % b"a" + (event % b"b")[:20]), (2.0, (event % b"b")[20:]), (3.0, event % b"c"),
                           (4.0, event % b"" + b'data: {"choices":[],"usage":{"completion_tokens":3,"prompt_tokens":5}}\n\ndata: [DONE]\n\n')]
        stream.understand()
        self.assertEqual((stream.times, stream.tokens, stream.prompt_tokens, stream.rate), ([1.0, 2.0, 3.0], 3, 5, 1.0))
        self.assertEqual((stream.gaps(1.5, 9), stream.gaps(0, 9)), ([1.0], [1.0, 1.0]))

    def test_a_refusal_is_a_failure(self):
        stream = object.__new__(gpu_client.Stream)
        stream.received = [(1.0, b"HTTP/1.1 503 Service Unavailable\r\n\r\nno GPU")]
        self.assertRaisesRegex(gpu_client.Failure, "503.*", stream.understand)


class Pieces(unittest.TestCase):
    def test_on_a_small_model(self):
        with tempfile.TemporaryDirectory() as folder:
            table = os.path.join(folder, "table.json")
            done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "gpu"), "--device", "cpu", "--divide", "64", "-r", "1", "--build", os.path.dirname(CALLA), "--json", table, "--model",
                                   os.path.join(MODELS, "qwen3_5_moe-Q4_0.gguf"), "digest", "decode", "prefill", "batch", "load", "sampling", "serve", "beside", "memory"],
                                  capture_output=True, text=True, timeout=300)
            with open(table) as file:
                rows = json.load(file)["rows"]
        self.assertEqual([row for row in rows if str(row["value"]).startswith("failed")], [], done.stdout)
        for word in ("digests", "decode behind 512", "prefill of", "8 streams at 1K", "first token", "temperature costs", "over HTTP", "beside bench", "prompt of 32K beside", "median of their gaps"):
            self.assertTrue(any(word.replace("512", "8") in row["what"] for row in rows), (word, done.stdout))
        self.assertEqual(done.returncode, int(any(row["ok"] is False for row in rows)))


if __name__ == "__main__":
    unittest.main()
