#!/usr/bin/env python3
# bad_input: what a stranger's file, text or request may hold. Every one is refused in one line that names it and what was seen, within bounds.
import atexit, copy, glob, json, os, re, shutil, signal, socket, struct, subprocess, tempfile, threading, time, unittest

CALLA = os.path.abspath(os.environ.get("CALLA", "build/release/calla"))
HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "golden", "models")
HOME = tempfile.mkdtemp(prefix="calla-bad-")
atexit.register(shutil.rmtree, HOME, True)
ENV = {**{k: v for k, v in os.environ.items() if not k.startswith(("CALLA_", "HF_"))}, "HOME": HOME, "XDG_STATE_HOME": HOME + "/state", "HF_HOME": HOME + "/hf", "HF_HUB_OFFLINE": "1"}
with open(CALLA, "rb") as f:
    SANITIZED = b"__asan_init" in f.read()  # slower, and its memory is not ours to bound
SECONDS, RESIDENT_MB = (60, None) if SANITIZED else (10, 500)


class Run:
    # One run of the program, with its exit status, both streams, seconds and peak resident memory.
    def __init__(self, *words, stdin=b"", seconds=SECONDS):
        stdin = stdin.encode() if isinstance(stdin, str) else stdin
        with tempfile.TemporaryFile() as put, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            put.write(stdin)
            put.seek(0)
            begin = time.time()
            p = subprocess.Popen([CALLA, *map(str, words)], stdin=put, stdout=out, stderr=err, env=ENV)
            late = threading.Timer(seconds, p.kill)
            late.start()
            _, status, used = os.wait4(p.pid, 0)
            late.cancel()
            p.returncode = self.status = os.waitstatus_to_exitcode(status)
            self.seconds, self.megabytes = time.time() - begin, used.ru_maxrss / 1024
            out.seek(0), err.seek(0)
            self.out, self.err = out.read(), err.read().decode("utf-8", "replace")


class Case(unittest.TestCase):
    def bounded(self, r, what):
        self.assertNotIn("Sanitizer", r.err, what)
        self.assertNotIn("runtime error", r.err, what)
        self.assertNotIn("internal error", r.err, what)
        self.assertGreaterEqual(r.status, 0, (what, "a signal or too slow", r.seconds, r.err[-2000:]))
        if RESIDENT_MB:
            self.assertLess(r.megabytes, RESIDENT_MB, (what, r.err[:300]))

    # Refused in one line, with every one of `parts` in it.
    def refused(self, words, *parts, stdin=b"", status=1):
        what = [w if len(str(w)) < 200 else str(w)[:200] + "..." for w in words]
        r = Run(*words, stdin=stdin)
        self.bounded(r, what)
        self.assertEqual(r.status, status, (what, r.out[:300], r.err[:300]))
        lines = [l for l in r.err.splitlines() if not l.startswith("calla: note: ")]
        self.assertEqual(len(lines), 1, (what, r.err[:1000]))
        self.assertRegex(lines[0], r"^calla: cannot .+: .+" if status == 1 else r"^calla: .+: .+", what)
        self.assertLess(len(lines[0]), 101_000, what)
        for part in parts:
            self.assertIn(str(part), lines[0], what)
        return lines[0]

    # Works, or is refused as above: both are fine where the input may be read with good will.
    def harmless(self, words, stdin=b""):
        r = Run(*words, stdin=stdin)
        self.bounded(r, words)
        if r.status != 0:
            lines = [l for l in r.err.splitlines() if not l.startswith("calla: note: ")]
            self.assertEqual(len(lines), 1, (words, r.err[:1000]))
            self.assertRegex(lines[0], r"^calla: cannot .+: .+", words)
        return r

    def accepted(self, words, stdin=b""):
        r = Run(*words, stdin=stdin)
        self.assertEqual(r.status, 0, (words, r.err))
        return r


def path_of(name):
    path = os.path.join(HOME, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def write(name, data):
    path = path_of(name)
    if os.path.exists(path):
        os.unlink(path)
    with open(path, "wb") as f:
        f.write(data.encode() if isinstance(data, str) else data)
    return path


# ---- GGUF ----------------------------------------------------------------------------------------------------------------

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
U32, F32, BOOL, STRING, ARRAY = 4, 6, 7, 8, 9


def text(s):
    s = s.encode() if isinstance(s, str) else s
    return struct.pack("<Q", len(s)) + s


class Gguf:
    # A GGUF file taken apart: `meta` maps key to (type, value), arrays are (element type, [values]); tensors are [name, dims, type, bytes].
    def __init__(self, path):
        with open(path, "rb") as f:
            self.b = f.read()
        self.at = 8
        n_tensors, n_pairs = self.take("QQ")
        self.meta = {}
        for _ in range(n_pairs):
            key, kind = self.string().decode(), self.take("I")[0]
            self.meta[key] = (kind, self.value(kind))
        infos = []
        for _ in range(n_tensors):
            name, rank = self.string().decode(), self.take("I")[0]
            dims = list(self.take("Q" * rank))
            infos.append((name, dims, *self.take("IQ")))
        start = -(-self.at // 32) * 32
        ends = sorted([i[3] for i in infos] + [len(self.b) - start])
        self.tensors = [[n, d, k, self.b[start + o:start + ends[ends.index(o) + 1]]] for n, d, k, o in infos]

    def take(self, form):
        got = struct.unpack_from("<" + form, self.b, self.at)
        self.at += struct.calcsize("<" + form)
        return got

    def string(self):
        n = self.take("Q")[0]
        self.at += n
        return self.b[self.at - n:self.at]

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            element, n = self.take("IQ")
            return element, [self.value(element) for _ in range(n)]
        return self.take(SCALARS[kind])[0]

    def tensor(self, name):
        return next(t for t in self.tensors if t[0] == name)

    # The file's bytes; `offsets` and `pairs` replace what is true.
    def bytes(self, offsets=None, extra_pairs=b"", n_extra=0, n_tensors=None, n_pairs=None, version=3, magic=b"GGUF"):
        def packed(kind, v):
            if kind == STRING:
                return text(v)
            if kind == ARRAY:
                return struct.pack("<IQ", v[0], len(v[1])) + b"".join(packed(v[0], x) for x in v[1])
            return struct.pack("<" + SCALARS[kind], v)
        out = magic + struct.pack("<IQQ", version, len(self.tensors) if n_tensors is None else n_tensors, len(self.meta) + n_extra if n_pairs is None else n_pairs)
        out += b"".join(text(k) + struct.pack("<I", t) + packed(t, v) for k, (t, v) in self.meta.items()) + extra_pairs
        data = b""
        for name, dims, kind, content in self.tensors:
            offset = (offsets or {}).get(name, len(data))
            out += text(name) + struct.pack("<I", len(dims)) + struct.pack("<" + "Q" * len(dims), *[d % 2**64 for d in dims]) + struct.pack("<IQ", kind, offset)
            data += content + bytes(-len(content) % 32)
        return out + bytes(-len(out) % 32) + data


LLAMA, HYBRID = os.path.join(MODELS, "llama-Q6_K.gguf"), os.path.join(MODELS, "qwen3_5_moe-Q4_0.gguf")


class GgufCase(Case):
    count = 0

    def changed(self, change, source=LLAMA, **lies):
        g = Gguf(source)
        change(g)
        GgufCase.count += 1
        return write(f"gguf/{self._testMethodName}-{GgufCase.count}.gguf", g.bytes(**lies))

    def meta(self, key, kind, value, source=LLAMA):
        return self.changed(lambda g: g.meta.__setitem__(key, (kind, value)), source)

    def test_our_writer_writes_good_files(self):
        for source in (LLAMA, HYBRID):
            self.accepted(("inspect", self.changed(lambda g: None, source)))

    def test_truncated(self):
        for source in (LLAMA, HYBRID):
            with open(source, "rb") as f:
                whole = f.read()
            for i in range(16):
                path = write(f"cut-{i}.gguf", whole[:len(whole) * i // 16])
                for words in (("inspect", path),) + ((("eval", path, "--ids", "1"), ("run", path, "hi")) if i in (0, 1, 15) else ()):
                    self.refused(words, f"cut-{i}.gguf")
        whole = Gguf(LLAMA).bytes()
        for n in list(range(0, 64, 3)) + [len(whole) - 1]:
            self.refused(("inspect", write("cut.gguf", whole[:n])), "cut.gguf")

    def test_magic_and_version(self):
        self.refused(("inspect", write("a.gguf", b"GGML" + bytes(100))), "GGML")
        self.refused(("inspect", write("a.gguf", b"FUGG" + bytes(100))), "big-endian")
        self.refused(("inspect", write("a.bin", b"\x7fELF" + bytes(100))), "a.bin")
        self.refused(("inspect", write("a.gguf", bytes(4096))), "a.gguf")
        for version in (0, 1, 4, 3 << 24, 2**32 - 1):
            self.refused(("inspect", self.changed(lambda g: None, version=version)), "endian" if version == 3 << 24 else str(version))

    def test_lying_counts_and_lengths(self):
        for n in (21, 1000, 2**31, 2**32, 2**60, 2**64 - 1):
            self.refused(("inspect", self.changed(lambda g: None, n_tensors=n)))
            self.refused(("inspect", self.changed(lambda g: None, n_pairs=n)))
        for n in (1000, 2**31, 2**60, 2**63, 2**64 - 1):
            length = struct.pack("<Q", n)
            lies = {"key": length + b"a", "string": text("k") + struct.pack("<I", 8) + length, "strings": text("k") + struct.pack("<IIQ", 9, 8, 1) + length,
                    "ints": text("k") + struct.pack("<II", 9, 4) + length, "bytes": text("k") + struct.pack("<II", 9, 0) + length,
                    "empty strings": text("k") + struct.pack("<II", 9, 8) + length}
            for what, pair in lies.items():
                g = Gguf(LLAMA)
                g.tensors = []
                self.refused(("inspect", write("lie.gguf", g.bytes(extra_pairs=pair, n_extra=1)[:-1])), "lie.gguf")
        nested = text("k") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 2000
        self.refused(("inspect", self.changed(lambda g: None, extra_pairs=nested, n_extra=1)), "arrays inside arrays")
        for kind in (13, 99, 2**32 - 1):
            self.refused(("inspect", self.changed(lambda g: None, extra_pairs=text("odd") + struct.pack("<II", kind, 0), n_extra=1)), "odd", kind)
        self.refused(("inspect", self.changed(lambda g: None, extra_pairs=text("odd") + struct.pack("<IB", 7, 2), n_extra=1)), "odd", "bool")
        self.refused(("inspect", self.changed(lambda g: None, extra_pairs=text("general.architecture") + struct.pack("<II", 4, 0), n_extra=1)), "general.architecture", "twice")

    def test_offsets_and_overlaps(self):
        name = "blk.1.ffn_up.weight"
        for offset in (2**64 - 32, 2**63, 2**40, 1 << 20):
            self.refused(("inspect", self.changed(lambda g: None, offsets={name: offset})), name)
        self.refused(("inspect", self.changed(lambda g: None, offsets={name: 33})), name, "33")
        self.refused(("inspect", self.changed(lambda g: None, offsets={name: 0})), name, "overlaps")
        self.refused(("inspect", self.changed(lambda g: None, offsets={name: 677120 - 32})), name, "overlaps")
        for alignment in (0, 3, 2**31):
            self.refused(("inspect", self.meta("general.alignment", U32, alignment)), "general.alignment", alignment)

    def test_shapes(self):
        def reshaped(name, dims):
            return self.changed(lambda g: g.tensor(name).__setitem__(1, dims))
        name = "blk.0.attn_q.weight"
        for dims in ([0, 256], [2**63, 2], [2**32, 2**32], [-1, 1], [1, -1], [257, 256], [256, 2**56], [1] * 5, [2**40]):
            self.refused(("inspect", reshaped(name, dims)), name)
        self.refused(("inspect", reshaped(name, [256, 255])), name, "255")
        self.refused(("inspect", reshaped(name, [])), name)
        self.refused(("inspect", reshaped("output_norm.weight", [128, 2])), "output_norm.weight")
        self.refused(("inspect", reshaped("token_embd.weight", [256, 639])), "token_embd.weight", "640", "639")

    def test_types(self):
        for kind, shown in ((4, "Q4_2"), (9, "Q8_1"), (16, "IQ2_XXS"), (19, "IQ1_S"), (34, "TQ1_0"), (77, "77"), (2**31, str(2**31)), (2**32 - 1, str(2**32 - 1))):
            self.refused(("inspect", self.changed(lambda g: g.tensor("blk.0.attn_q.weight").__setitem__(2, kind))), "blk.0.attn_q.weight", shown)
        for kind in (24, 26, 27):  # integers
            def change(g):
                g.tensor("output_norm.weight")[2:] = [kind, bytes(2048)]
            self.refused(("eval", self.changed(change), "--ids", "1"), "output_norm.weight")

    def test_all_wrong_tensors_are_named(self):
        gone, bent, more = ["blk.0.attn_k.weight", "blk.0.ffn_up.weight", "blk.1.attn_norm.weight", "output_norm.weight"], "blk.1.attn_v.weight", ["blk.0.left.weight", "right.weight"]

        def change(g):
            g.tensors = [t for t in g.tensors if t[0] not in gone]
            g.tensor(bent)[1] = [256, 32]
            g.tensors += [[n, [32], 0, bytes(128)] for n in more]
        self.refused(("inspect", self.changed(change)), *gone, bent, *more)
        every = [t[0] for t in Gguf(LLAMA).tensors]
        self.refused(("inspect", self.changed(lambda g: g.tensors.clear())), *every)
        many = [f"blk.0.extra_{i}.weight" for i in range(60)]
        self.refused(("inspect", self.changed(lambda g: g.tensors.extend([n, [32], 0, bytes(128)] for n in many))), *many)
        self.refused(("inspect", self.changed(lambda g: g.tensors.append(copy.copy(g.tensors[3])))), Gguf(LLAMA).tensors[3][0], "already")
        thousands = [f"blk.0.x{i}" for i in range(20000)]
        self.refused(("inspect", self.changed(lambda g: g.tensors.extend([n, [1], 0, bytes(4)] for n in thousands))), "more")
        self.refused(("inspect", self.changed(lambda g: g.tensors.append(["a\nb\x1b[31m\u00e9" + "x" * 900, [1], 0, bytes(4)]))), "not part of llama")

    def test_scales(self):
        def poison(name, at, bits, source):
            def change(g):
                t = g.tensor(name)
                t[3] = t[3][:at] + bits + t[3][at + len(bits):]
            return self.changed(change, source)
        for bits in (b"\x00\x7c", b"\x00\xfc", b"\xff\x7f"):
            self.refused(("eval", poison("blk.0.attn_q.weight", 208, bits, LLAMA), "--ids", "1"), "blk.0.attn_q.weight", "finite")
            self.refused(("eval", poison("token_embd.weight", 640 * 210 - 2, bits, LLAMA), "--ids", "1"), "token_embd.weight", "finite")
        for bits in (0x7f800000, 0xff800000, 0x7fc00000):
            self.refused(("run", poison("output_norm.weight", 4, struct.pack("<I", bits), LLAMA), "hi"), "output_norm.weight", "finite")
        hybrid = [t for t in Gguf(HYBRID).tensors if t[2] == 2]
        self.refused(("eval", poison(hybrid[-1][0], 0, b"\x00\x7e", HYBRID), "--ids", "1"), hybrid[-1][0], "finite")
        # huge but finite: an answer of NaN must not be passed off as one
        huge = self.changed(lambda g: g.tensor("output_norm.weight").__setitem__(3, struct.pack("<f", 3e38) * 256))
        self.harmless(("eval", huge, "--ids", "1,2,3"))
        self.harmless(("run", huge, "hi", "-n", "4"))

    def test_absurd_settings(self):
        keys = ["block_count", "context_length", "embedding_length", "vocab_size", "attention.head_count", "attention.head_count_kv", "attention.key_length", "rope.dimension_count", "feed_forward_length"]
        for key in keys:
            for kind, value in ((U32, 0), (5, -1), (U32, 2 * 10**9), (10, 2**63 - 1), (F32, 0.5), (F32, float("nan")), (12, 1e300), (STRING, "two"), (ARRAY, (STRING, ["a"])), (ARRAY, (U32, []))):
                self.refused(("inspect", self.meta("llama." + key, kind, value)), key)
        for key in keys[:1] + keys[2:3] + keys[4:5]:
            self.refused(("inspect", self.changed(lambda g: g.meta.pop("llama." + key))), key)
        self.refused(("inspect", self.meta("llama.attention.head_count", U32, 3)), "heads", "3")
        self.refused(("inspect", self.meta("llama.attention.head_count_kv", U32, 3)), "3")
        self.refused(("inspect", self.meta("llama.block_count", U32, 3)), "blk.2.attn_q.weight", "blk.2.ffn_down.weight")
        self.refused(("inspect", self.meta("llama.block_count", U32, 1)), "blk.1.attn_q.weight", "blk.1.ffn_down.weight")
        self.refused(("inspect", self.meta("llama.attention.layer_norm_rms_epsilon", F32, float("nan"))), "epsilon")
        self.refused(("inspect", self.meta("llama.rope.freq_base", F32, float("inf"))), "freq_base")
        self.refused(("inspect", self.meta("llama.rope.scaling.type", STRING, "magic")), "magic")
        self.refused(("inspect", self.meta("llama.nextn_predict_layers", U32, 2)), "nextn_predict_layers")
        g = Gguf(HYBRID)
        prefix = g.meta["general.architecture"][1].decode()
        for key in [k for k in g.meta if k.startswith(prefix + ".") and g.meta[k][0] in (U32, 5)]:
            for kind, value in ((U32, 0), (U32, 2**32 - 1), (5, -7), (STRING, "x")):
                self.harmless(("inspect", self.meta(key, kind, value, HYBRID)))
        for key in ("expert_count", "expert_used_count", "ssm.conv_kernel", "ssm.group_count", "ssm.state_size", "full_attention_interval"):
            self.refused(("inspect", self.meta(f"{prefix}.{key}", U32, 1_000_000, HYBRID)))

    def test_unknown_architecture(self):
        for name in ("mamba9", "", "x" * 100000, "a\nb", "llama\0"):
            self.refused(("inspect", self.meta("general.architecture", STRING, name)), "architecture")
        self.refused(("inspect", self.meta("general.architecture", U32, 3)), "general.architecture")
        self.refused(("inspect", self.changed(lambda g: g.meta.pop("general.architecture"))), "general.architecture")

    def test_tokenizer(self):
        def both(path, *parts):
            self.refused(("tokenize", path), os.path.basename(path), *parts, stdin="hello")
        both(self.changed(lambda g: g.meta.pop("tokenizer.ggml.tokens")), "tokenizer.ggml.tokens")
        both(self.meta("tokenizer.ggml.model", STRING, "t5"), "t5")
        both(self.meta("tokenizer.ggml.pre", STRING, "klingon"), "klingon")
        both(self.meta("tokenizer.ggml.tokens", ARRAY, (STRING, [])))
        both(self.meta("tokenizer.ggml.tokens", ARRAY, (STRING, ["a", "a"])))
        both(self.meta("tokenizer.ggml.tokens", ARRAY, (U32, [1, 2])))
        both(self.meta("tokenizer.ggml.token_type", ARRAY, (5, [1])))
        both(self.meta("tokenizer.ggml.merges", ARRAY, (STRING, ["ab"])), "merge")
        for merges in (["no such", "th e"], ["t h"] * 1000, []):
            self.harmless(("tokenize", self.meta("tokenizer.ggml.merges", ARRAY, (STRING, merges))), stdin="then the" * 100)
        for value in (-1, 640, 2**31 - 1):
            self.harmless(("run", self.meta("tokenizer.ggml.eos_token_id", 5, value), "hi", "-n", "2"))
            self.harmless(("tokenize", self.meta("tokenizer.ggml.bos_token_id", 5, value), "--bos"), stdin="hi")
        tokens = [b"t%d" % i for i in range(700)]

        def grow(g):
            g.meta["tokenizer.ggml.tokens"] = (ARRAY, (STRING, g.meta["tokenizer.ggml.tokens"][1][1] + tokens))
            g.meta["tokenizer.ggml.token_type"] = (ARRAY, (5, g.meta["tokenizer.ggml.token_type"][1][1] + [4] * 700))
        self.refused(("run", self.changed(grow), "t99t699", "-n", "2"), "640")


# ---- safetensors ---------------------------------------------------------------------------------------------------------

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32, "intermediate_size": 64, "num_hidden_layers": 1,
          "vocab_size": 300, "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": True}


def f32(*shape, value=0.01):
    n = 1
    for d in shape:
        n *= d
    return ["F32", list(shape), struct.pack("<f", value) * n]


def llama_tensors():
    t, base = {"model.embed_tokens.weight": f32(300, 64), "model.norm.weight": f32(64, value=1)}, "model.layers.0."
    for name, rows in (("q", 64), ("k", 32), ("v", 32), ("o", 64)):
        t[f"{base}self_attn.{name}_proj.weight"] = f32(rows, 64)
    for name in ("gate", "up", "down"):
        t[f"{base}mlp.{name}_proj.weight"] = f32(64, 64)
    t[base + "input_layernorm.weight"] = t[base + "post_attention_layernorm.weight"] = f32(64, value=1)
    return t


def byte_letters():  # GPT-2's letters for bytes
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in keep]
    return {**{b: chr(b) for b in keep}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


def good_tokenizer():
    vocab = {c: i for i, c in enumerate(byte_letters().values())}
    vocab.update({"th": 256, "the": 257})
    return {"added_tokens": [{"id": 258, "content": "<s>", "special": True}, {"id": 259, "content": "</s>", "special": True}], "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}, "post_processor": None, "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "vocab": vocab, "merges": ["t h", "th e"]}}


def safetensors(tensors, header=None, raw=None):
    entries, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    if header:
        header(entries)
    h = raw if raw is not None else json.dumps(entries).encode()
    return struct.pack("<Q", len(h)) + h + data


SAME = object()


class FolderCase(Case):
    count = 0

    def folder(self, config=SAME, tokenizer=SAME, weights=SAME, template="{% for m in messages %}{{ m.content }}{% endfor %}", **more):
        FolderCase.count += 1
        name = f"folder-{FolderCase.count}"
        config, tokenizer = CONFIG if config is SAME else config, good_tokenizer() if tokenizer is SAME else tokenizer
        dump = lambda v: v if isinstance(v, (str, bytes)) else json.dumps(v)
        if config is not None:
            write(name + "/config.json", dump(config))
        if tokenizer is not None:
            write(name + "/tokenizer.json", dump(tokenizer))
        write(name + "/model.safetensors", safetensors(llama_tensors()) if weights is SAME else weights)
        if template is not None:
            write(name + "/chat_template.jinja", template)
        for file, content in more.items():
            write(f"{name}/{file}.json", dump(content))
        return os.path.join(HOME, name)

    def configured(self, **changes):
        c = {**CONFIG, **changes}
        return self.folder({k: v for k, v in c.items() if v is not SAME})


class Safetensors(FolderCase):
    def lied(self, change, *parts, words=("inspect",)):
        self.refused((words[0], self.folder(weights=safetensors(llama_tensors(), change)), *words[1:]), *parts)

    def test_good(self):
        folder = self.folder()
        self.accepted(("inspect", folder))
        self.accepted(("eval", folder, "--ids", "1,2"))
        self.accepted(("run", folder, "the", "-n", "2"))
        self.assertEqual(self.accepted(("tokenize", folder), stdin="the").out, b"257\n")

    def test_truncated(self):
        whole = safetensors(llama_tensors())
        for i in range(16):
            folder = self.folder(weights=whole[:len(whole) * i // 16])
            self.refused(("inspect", folder), "model.safetensors")
            if i in (0, 8, 15):
                self.refused(("eval", folder, "--ids", "1"), "model.safetensors")
        for n in (1, 7, 8, 9, 100, len(whole) - 1):
            self.refused(("inspect", self.folder(weights=whole[:n])), "model.safetensors")
        self.refused(("inspect", self.folder(weights=whole + b"\0")), "model.safetensors")

    def test_headers(self):
        for length in (0, 1, 2**31, 2**63, 2**64 - 1, 100_000_001):
            self.refused(("inspect", self.folder(weights=struct.pack("<Q", length) + b"{}" + bytes(100))), "model.safetensors")
        for raw in (b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}{}", b'{"a":1}', b'{"a":{}}', b'{"a":[]}', b'{"__metadata__":{"a":1}}', b'{"__metadata__":[]}', b'{"":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}',
                    b'{"a":' * 5000, b"{" + b'"a":{"b":' * 2000 + b"1" + b"}" * 4000, b'{"a\\ud800":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}'):
            self.refused(("inspect", self.folder(weights=safetensors({}, raw=raw))), "model.safetensors")

    def test_lying_entries(self):
        name = "model.layers.0.mlp.up_proj.weight"
        for key, value in (("data_offsets", [0, 2**63]), ("data_offsets", [-1, 5]), ("data_offsets", [5, 4]), ("data_offsets", [0]), ("data_offsets", [0, 1, 2]), ("data_offsets", "0"), ("data_offsets", [0.5, 1]), ("data_offsets", [0, 2**64 - 1]),
                           ("shape", [64, 65]), ("shape", [-64, -64]), ("shape", [2**32, 2**32]), ("shape", [2**62, 4]), ("shape", "64"), ("shape", [64, 64.5]), ("shape", [1] * 9), ("shape", None), ("dtype", "F33"), ("dtype", 3),
                           ("dtype", "F16"), ("dtype", ""), ("dtype", "x" * 10000)):
            self.lied(lambda h: h[name].__setitem__(key, value), name)
        self.lied(lambda h: h[name].__setitem__("data_offsets", h["model.layers.0.mlp.gate_proj.weight"]["data_offsets"]), "inside the tensor before it")
        twice = json.dumps({name: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})[:-1]
        self.refused(("inspect", self.folder(weights=safetensors({"x": f32(1)}, raw=(twice + "," + twice[1:] + "}").encode()))), name, "twice")

    def test_all_wrong_tensors_are_named(self):
        t = llama_tensors()
        gone = ["model.norm.weight", "model.layers.0.self_attn.k_proj.weight", "model.layers.0.mlp.down_proj.weight"]
        for name in gone:
            del t[name]
        t["model.layers.0.self_attn.q_proj.weight"] = f32(65, 64)
        t["model.layers.0.mlp.up_proj.weight"] = f32(64)
        t["model.layers.7.left.weight"] = t["stray"] = f32(3)
        self.refused(("inspect", self.folder(weights=safetensors(t))), *gone, "q_proj", "65", "up_proj", "model.layers.7.left.weight", "stray")
        same = llama_tensors()
        same["language_model.model.norm.weight"] = f32(64)
        self.refused(("inspect", self.folder(weights=safetensors(same))), "norm.weight", "same meaning")
        dtypes = llama_tensors()
        dtypes["model.norm.weight"] = ["I32", [64], bytes(256)]
        self.refused(("inspect", self.folder(weights=safetensors(dtypes))), "model.norm.weight", "I32")

    def test_scales(self):
        for bits in (0x7f800000, 0xffc00000):
            t = llama_tensors()
            t["model.norm.weight"][2] = t["model.norm.weight"][2][:-4] + struct.pack("<I", bits)
            self.refused(("eval", self.folder(weights=safetensors(t)), "--ids", "1"), "model.norm.weight", "finite")
        base = "model.layers.0.self_attn.q_proj."
        for part, bad in (("scales", b"\x00\x7c"), ("biases", b"\xff\xff"), (None, None)):
            t = llama_tensors()
            t[base + "weight"] = ["U32", [64, 8], bytes(64 * 8 * 4)]
            t[base + "scales"], t[base + "biases"] = ["F16", [64, 1], b"\x00\x3c" * 64], ["F16", [64, 1], b"\x00\x3c" * 64]
            if part is None:
                self.accepted(("eval", self.folder(weights=safetensors(t)), "--ids", "1"))
                continue
            t[base + part][2] = t[base + part][2][:-2] + bad
            self.refused(("eval", self.folder(weights=safetensors(t)), "--ids", "1"), base + "weight", "finite")

    def test_quantised_parts(self):
        base = "model.layers.0.self_attn.q_proj."

        def given(**parts):
            t = llama_tensors()
            t[base + "weight"] = ["U32", [64, 8], bytes(64 * 8 * 4)]
            for k, v in parts.items():
                t[base + k] = v
            self.refused(("inspect", self.folder(weights=safetensors(t))), base)
        half = lambda *shape: ["F16", list(shape), bytes(2 * shape[0] * (shape[1] if len(shape) > 1 else 1))]
        given()
        given(scales=half(64, 1))
        given(scales=half(64, 3), biases=half(64, 3))
        given(scales=half(63, 1), biases=half(63, 1))
        given(scales=half(64, 1), biases=half(64, 2))
        given(scales=half(64, 64), biases=half(64, 64))
        given(scales=half(64), biases=half(64))
        given(scales=["F16", [64, 0], b""], biases=["F16", [64, 0], b""])
        given(scales=["U8", [64, 1], bytes(64)], biases=["U8", [64, 1], bytes(64)])
        given(scales=["I64", [64, 1], bytes(512)], biases=["I64", [64, 1], bytes(512)])
        given(weight=["U32", [64, 0], b""], scales=half(64, 1), biases=half(64, 1))
        given(weight=["F8_E4M3", [64, 64], bytes(4096)], weight_scale_inv=["F32", [7, 7], bytes(196)])

    def test_missing_and_strange_files(self):
        folder = self.folder()
        os.unlink(folder + "/model.safetensors")
        self.refused(("inspect", folder), folder, "model.safetensors")
        self.refused(("inspect", self.folder(config=None)), "config.json")
        for index in ("", "[]", "{}", '{"weight_map":[]}', '{"weight_map":{}}', '{"weight_map":{"a":1}}', '{"weight_map":{"a":"../../etc/passwd"}}', '{"weight_map":{"a":"/etc/passwd.safetensors"}}', '{"weight_map":{"a":"b\\u0000.safetensors"}}',
                      '{"weight_map":{"a":"none.safetensors"}}', '{"weight_map":{"a":"model.safetensors"}}'):
            self.refused(("inspect", self.folder(**{"model.safetensors.index": index})), "folder-")
        shards = self.folder()
        os.rename(shards + "/model.safetensors", shards + "/model-00001-of-00003.safetensors")
        self.refused(("inspect", shards), "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors")
        os.rename(shards + "/model-00001-of-00003.safetensors", shards + "/model-00001-of-99999.safetensors")
        self.refused(("inspect", shards), "99998")


class Config(FolderCase):
    def test_not_json(self):
        for c in ("", "{", "[]", "null", "3", '"a"', "{}{}", "\0", "\xff", b"\xff\xfe{\0}\0", "[" * 100000, '{"a":' * 100000, '{"model_type":"llama"', "{'model_type':'llama'}", '{"model_type":NaN}'):
            self.refused(("inspect", self.folder(c)), "config.json")
        deep = json.dumps(CONFIG)[:-1] + ',"x":' + "[" * 3000 + "]" * 3000 + "}"
        self.refused(("inspect", self.folder(deep)), "config.json")

    def test_absurd_values(self):
        keys = ["hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size", "num_hidden_layers", "vocab_size", "max_position_embeddings"]
        for key in keys:
            for value in (0, -1, -2**63, 10**9 if key != "max_position_embeddings" else 10**10, 2**63, 1e300, 1.5, "64", [], [64], {}, True):
                self.refused(("inspect", self.configured(**{key: value})), key)
        for key in keys[:2] + keys[4:7]:
            self.refused(("inspect", self.configured(**{key: SAME})), key)
        self.refused(("inspect", self.configured(num_attention_heads=3, num_key_value_heads=2)), "num_attention_heads", "3", "2")
        self.refused(("inspect", self.configured(num_attention_heads=3, num_key_value_heads=1, head_dim=SAME)), "hidden_size", "64")
        self.refused(("inspect", self.configured(head_dim=31)), "31")
        for key, values in {"rms_norm_eps": (0, -1, 1e300, "a", []), "rope_theta": (0, -1, 1e300, "a", [1]), "hidden_act": ("tanh", 3, "x" * 100000), "is_causal": (False, 3)}.items():
            for value in values:
                self.refused(("inspect", self.configured(**{key: value})), key)
        for rope in ({"rope_type": "magic"}, {"rope_type": "x" * 100000}, {"rope_type": "linear"}, {"rope_type": "linear", "factor": 0}, {"rope_type": "linear", "factor": "2"}, {"rope_type": "yarn", "factor": -1}, {"rope_type": "llama3", "factor": 8},
                     {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 1}, {"rope_type": "llama3", "factor": 1e300, "low_freq_factor": 1, "high_freq_factor": 4}):
            self.refused(("inspect", self.configured(rope_scaling=rope)), "factor" if rope["rope_type"] in ("linear", "llama3", "yarn") else "rope_type")
        for rope in ([], 3, "x", {"rope_type": 3}, {"rope_type": "default", "factor": []}, {"rope_type": "yarn", "factor": 1e6, "beta_fast": 1e-6, "beta_slow": 1e6, "original_max_position_embeddings": 1}):
            self.harmless(("eval", self.configured(rope_scaling=rope), "--ids", "1,2,3"))
        self.refused(("inspect", self.configured(vocab_size=301)), "embed_tokens", "301")
        self.refused(("inspect", self.configured(num_hidden_layers=1024)), "layers.1.", "more")
        self.refused(("inspect", self.configured(hidden_size="x", num_attention_heads=-1, vocab_size=0)), "hidden_size", "num_attention_heads", "vocab_size")
        self.harmless(("eval", self.configured(max_position_embeddings=2**30), "--ids", "1"))
        self.harmless(("run", self.configured(max_position_embeddings=2**30), "the", "-n", "1"))
        self.harmless(("run", self.configured(max_position_embeddings=1), "the", "-n", "1"))

    def test_unknown(self):
        for kind in ("mamba9", "", "x" * 100000, "a\nb"):
            self.refused(("inspect", self.configured(model_type=kind)), "architecture")
        for kind in (3, None, [], {}):
            self.refused(("inspect", self.configured(model_type=kind)), "model_type")
        for q in ({"quant_method": "gptq", "bits": 4}, {"quant_method": "x" * 100000}, {"mode": "secret"}):
            self.refused(("inspect", self.configured(quantization_config=q)), "quant")
        self.refused(("inspect", self.configured(architectures=["LlamaForSequenceClassification"])), "LlamaForSequenceClassification")
        for q in ([], 3, {"bits": "x"}, {"bits": -4, "group_size": 0}, {"model.norm": {"bits": 10**9}}):
            self.harmless(("inspect", self.configured(quantization=q)))

    def test_other_architectures(self):
        numbers = ["num_experts", "num_experts_per_tok", "moe_intermediate_size", "shared_expert_intermediate_size", "full_attention_interval", "linear_conv_kernel_dim", "linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim",
                   "linear_value_head_dim", "sliding_window", "sliding_window_pattern", "hidden_size_per_layer_input", "num_kv_shared_layers", "partial_rotary_factor", "final_logit_softcapping", "query_pre_attn_scalar", "layer_types",
                   "vocab_size_per_layer_input", "num_global_key_value_heads", "global_head_dim", "decoder_sparse_step", "mlp_only_layers", "attn_output_gate"]
        good = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 32, "linear_value_head_dim": 32,
                "linear_conv_kernel_dim": 4, "sliding_window": 16}
        for kind in ("qwen2", "qwen3", "qwen3_moe", "qwen3_5", "qwen3_5_moe", "gemma3_text", "gemma4"):
            self.refused(("inspect", self.configured(model_type=kind, **good)), "missing")
            for value in (0, -1, 10**12, "x", []):  # all of them at once, then each alone
                self.refused(("inspect", self.configured(model_type=kind, **{k: value for k in numbers})))
        for key in numbers:
            for value in (-1, 2**31 - 1):
                self.refused(("inspect", self.configured(model_type="qwen3_5_moe", **{**good, key: value})))
        self.refused(("inspect", self.configured(model_type="qwen3_5", text_config=3)))
        self.refused(("inspect", self.configured(layer_types=["full_attention"] * 1000, model_type="qwen3")), "layer_types", "1000")
        self.refused(("inspect", self.configured(layer_types=["psychic_attention"], model_type="qwen3")), "psychic_attention")

    def test_experts_without_end(self):
        layers = 1024
        tensors = {f"model.layers.{i}.mlp.experts.0.gate_proj.weight": f32(1) for i in range(layers)}
        tensors.update({f"model.layers.{i}.mlp.experts.0.{w}_proj.weight": f32(1) for i in range(layers) for w in ("up", "down")})
        config = {**CONFIG, "model_type": "qwen3_moe", "num_hidden_layers": layers, "num_experts": 65536, "num_experts_per_tok": 1, "moe_intermediate_size": 32}
        self.refused(("inspect", self.folder(config, weights=safetensors(tensors))), "missing", "more")

    def test_generation_config(self):
        for text in ("{", "[", '{"temperature":-1}', '{"temperature":1e300}', '{"top_p":7}', '{"top_k":1e300}', '{"repetition_penalty":0}'):
            self.refused(("run", self.folder(generation_config=text), "the", "-n", "1"), "folder-")
        for text in ("[]", "{}", '{"temperature":"x"}', '{"eos_token_id":-5}', '{"eos_token_id":[1e300,-1,999999999,"x"]}', '{"eos_token_id":2147483648}', '{"top_k":-1}'):
            self.harmless(("run", self.folder(generation_config=text), "the", "-n", "1"))

    def test_huge_json(self):
        big = 100_000_000
        fillers = {"blanks": lambda: b'{"a":1' + b" " * big + b"}", "numbers": lambda: b'{"a":[' + b"1," * (big // 2) + b"1]}", "brackets": lambda: b"[" * big, "string": lambda: b'{"a":"' + b"x" * big + b'"}', "zeros": lambda: bytes(big)}
        for what, make in fillers.items():
            content = make()
            self.refused(("inspect", self.folder(content)), "config.json")
            self.refused(("tokenize", self.folder(tokenizer=content)), "tokenizer.json", stdin="the")
            if what in ("numbers", "brackets"):
                self.refused(("inspect", self.folder(weights=safetensors({}, raw=content[:99_999_990]))), "model.safetensors")
                self.refused(("tokenize", self.folder(tokenizer=content[:60_000_000])), "tokenizer.json", stdin="the")
                self.refused(("template", self.folder()), "messages", stdin=content[:60_000_000])
                self.harmless(("template", self.folder(tokenizer_config=content[:16_000_000])), stdin="[]")
            shutil.rmtree(HOME, True)


class TokenizerJson(FolderCase):
    def changed(self, change):
        t = good_tokenizer()
        change(t)
        return self.folder(tokenizer=t)

    def test_refused(self):
        def no(change, *parts):
            self.refused(("tokenize", self.changed(change)), "tokenizer", *parts, stdin="the then")
        for text in ("", "{", "[]", "3", "{}", '{"model":3}', '{"model":{}}', "[" * 100000, '{"model":' * 2000):
            self.refused(("tokenize", self.folder(tokenizer=text)), "tokenizer.json", "folder-", stdin="the")
        self.refused(("tokenize", self.folder(tokenizer=None)), "tokenizer.json", stdin="the")
        for i in (-1, -2**63, 2**31, 2**63, 1e300, 1.5, "3", None, [], 2**24):
            no(lambda t: t["model"]["vocab"].__setitem__("the", i))
        no(lambda t: t["model"]["vocab"].__setitem__("the", 256), "256")
        no(lambda t: t["model"].__setitem__("vocab", []))
        for i in (-1, 2**31, 2**63, "x", None):
            no(lambda t: t["added_tokens"][0].__setitem__("id", i))
        no(lambda t: t["added_tokens"][0].__setitem__("id", 5), "5")
        no(lambda t: t.__setitem__("added_tokens", {}))
        for m in ("th", "t h e", "", 3, ["t"], ["t", "h", "e"], ["t", 3], None):
            no(lambda t: t["model"].__setitem__("merges", [m]), "merge")
        for m in (3, {}, "t h", None):
            no(lambda t: t["model"].__setitem__("merges", m), "merges")
        for kind in ("WordPiece", "Unigram", "x" * 100000):
            no(lambda t: t["model"].__setitem__("type", kind), "supported")
        for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
            for step in ({"type": "Magic"}, {}, 3, [], {"type": "x" * 100000}, {"type": "Sequence"}, {"type": "Replace"}):
                no(lambda t: t.__setitem__(part, step))
            nested = {"type": "ByteLevel"}
            for _ in range(200):
                nested = {"type": "Sequence", {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "post_processor": "processors", "decoder": "decoders"}[part]: [nested]}
            no(lambda t: t.__setitem__(part, nested))
        for regex in ("(", "[", "(?<", "a{99999999}", "\\", "(?P<a>b)(?P<a>c)", "x{65535}{65535}", "(" * 5000 + ")" * 5000):
            no(lambda t: t.__setitem__("pre_tokenizer", {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated"}))

    def test_slow_pattern(self):
        for regex in ("(a+)+$", "(a|aa)+$", "(.*a){20}$", "(?=(a+)+b)"):
            path = self.changed(lambda t: t.__setitem__("pre_tokenizer", {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated"}))
            self.harmless(("tokenize", path), stdin="a" * 5000 + "!")

    def test_growth(self):
        grow = {"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 200}] * 200}
        self.harmless(("tokenize", self.changed(lambda t: t.__setitem__("normalizer", grow))), stdin="aaaa")

        def decoder(t):
            t["decoder"] = {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 200}] * 200}
        self.harmless(("detokenize", self.changed(decoder), "64,65,66"))

    def test_merges_in_circles(self):
        def merges(*list_):
            return self.changed(lambda t: t["model"].__setitem__("merges", list(list_)))
        for path in (merges("the t", "t the", "th t", "t h", "th e", "h t"), merges("no such", "t h"), merges("t h", "t h", "t h"), merges("t h", "e e"), merges(["t", "h"], ["", ""]), merges(" t")):
            self.harmless(("tokenize", path), stdin="the thet the" * 2000)

        def self_merge(t):
            t["model"]["vocab"][""] = 260
            t["model"]["merges"] = [["", "t"], ["t", ""], ["", ""]]
        self.harmless(("tokenize", self.changed(self_merge)), stdin="ttttt" * 1000)
        self.harmless(("tokenize", self.folder()), stdin="th" * 1_000_000)

    def test_ids_beyond_the_model(self):
        far = self.changed(lambda t: t["added_tokens"].append({"id": 4_000_000, "content": "<far>", "special": True}))
        self.refused(("run", far, "the <far>", "-n", "1"), "4000000")
        self.refused(("eval", far, "--ids", "4000000"), "4000000")
        after = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}, {"Sequence": {"id": "A"}}], "special_tokens": {"x": {"ids": [999999]}}}
        path = self.changed(lambda t: t.__setitem__("post_processor", after))
        self.harmless(("run", path, "the", "-n", "1"))
        self.refused(("perplexity", path, write("text.txt", "the then the")), "999999")
        for ids in ([-1], [2**40], ["x"], [1] * 100000, None):
            bad = copy.deepcopy(after)
            bad["special_tokens"]["x"]["ids"] = ids
            self.refused(("tokenize", self.changed(lambda t: t.__setitem__("post_processor", bad)), "--bos"), "post-processor", stdin="the")

    def test_input_bytes(self):
        folder = self.folder()
        for data in (bytes(range(256)) * 50, b"\xff" * 10000, b"\xf0\x9f" * 1000, b"\0" * 1000, b"e\xcc\x81" * 3000, b"a" * 3_000_000):
            self.accepted(("tokenize", folder), stdin=data)
        for ids in ("-1", "x", "99999999999", "1.5", "1 -2"):
            self.refused(("detokenize", folder, ids) if not ids.startswith("-") else ("detokenize", folder), "ids", stdin=ids)
        self.harmless(("detokenize", folder, "2147483647"))


# ---- templates -----------------------------------------------------------------------------------------------------------

class Templates(FolderCase):
    def hostile(self, template, *parts, refused=True):
        path = self.folder(template=template)
        words, said = ("template", path, "--json"), json.dumps([{"role": "user", "content": "hi"}])
        return self.refused(words, *parts, stdin=said) if refused else self.harmless(words, stdin=said)

    def test_syntax(self):
        for t in ("{%", "{{", "{{ }}", "{% for %}", "{% if x %}", "{% endif %}", "{% include 'x' %}", "{{ 'a }}", "{{ a.b( }}", "{% set = 3 %}", "{{ 1 +"):
            self.hostile(t, "template", "line 1")
        self.hostile("ok\n\n{{ nothing.at.all }}", "line 3")
        self.hostile("{{ raise_exception('no\nway') }}", "no way")

    def test_without_end(self):
        self.hostile("{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}", "line 1")
        self.hostile("{% macro f(x) %}{{ g(x) }}{% endmacro %}{% macro g(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}")
        self.hostile("{% for a in range(10**9) %}{% endfor %}")
        self.hostile("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}")
        self.hostile("{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s }}")
        self.hostile("{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s }}")
        self.hostile("{% for i in range(99999) %}{{ 'x' * 10000 }}{% endfor %}")
        for e in ("'x' * 10**10", "[1] * 10**10", "'x' * (2**62)", "range(10**18) | list", "10 ** 10 ** 10", "'%99999999999d' % 3", "'%*d' % (999999999, 3)", "'x'.center(10**10)", "'x'.ljust(10**10)", "'ab'.replace('', 'x' * 10**6).replace('', 'y' * 10**6)",
                  "range(10**9) | sum", "'x' | indent(10**10)", "'{:>9999999999}'.format(3)", "(range(10**7) | list | tojson)"):
            self.hostile("{{ " + e + " }}", "line 1", refused="sum" not in e and "%*d" not in e)
        for e in ("2 ** -99999999", "(-9223372036854775807 - 1) // -1", "(-9223372036854775807 - 1) % -1", "-(-9223372036854775807 - 1)", "1 // 0", "1 % 0", "1.0 / 0", "9223372036854775807 + 1", "9223372036854775807 * 9223372036854775807", "'abc'[::0]",
                  "'abc'[9223372036854775807:-9223372036854775807:-9223372036854775807]", "range(0, 9223372036854775807, 9223372036854775807) | list", "range(9223372036854775807)[9223372036854775806]", "1e308 * 10", "(1e308 * 10) | int", "'9' * 400 | int",
                  "99999999999999999999999999", "'x' | batch(0) | list", "'x' | batch(-1) | list", "'x' | slice(0) | list", "'abc' | truncate(-5)", "3.7 | round(400)", "3.7 | round(-400)", "'%c' % 99999999", "'%s' % ()", "'\\ud800'", "'\\x'", "messages | tojson(indent=10**9)"):
            self.hostile("{{ " + e + " }}", refused=False)

    def test_depth(self):
        for n in (2000, 200000):
            for t in ("{{ " + "(" * n + "1" + ")" * n + " }}", "{{ " + "[" * n + "]" * n + " }}", "{{ " + "-" * n + "1 }}", "{{ " + "not " * n + "1 }}", "{% if 1 %}" * n + "{% endif %}" * n, "{{ x" + ".x" * n + " }}", "{{ 1" + "+1" * n + " }}",
                      "{{ 'a'" + "|upper" * n + " }}", "{{ 1" + " if 1 else 1" * n + " }}", "{{ 'a'" + "~'a'" * n + " }}", "{{ " + "{1:" * n + "1" + "}" * n + " }}"):
                self.hostile(t, refused=False)
        self.hostile("{% set ns = namespace(a=[]) %}{% for i in range(20000) %}{% set ns.a = [ns.a] %}{% endfor %}{{ ns.a }}", refused=False)
        self.hostile("{% set ns = namespace(a=[]) %}{% for i in range(20000) %}{% set ns.a = [ns.a] %}{% endfor %}{{ ns.a == ns.a }}{{ ns.a | tojson }}", refused=False)
        self.hostile("{% set ns = namespace(a=1) %}{% set ns.a = ns %}{{ ns }}{{ ns | tojson }}{{ ns == ns }}", refused=False)
        self.hostile("{% set a = [] %}{% set x = a.append(a) %}{{ a }}{{ a | tojson }}{{ a == a }}{{ a | string }}", refused=False)
        self.hostile("{% set a = {} %}{% set x = a.update({'a': a}) %}{{ a }}{{ a | tojson }}", refused=False)
        self.hostile("x" * 2_000_000)

    def test_messages(self):
        path = self.folder()
        for said in ("", "{", "1", "{}", '{"messages":1}', '{"messages":[],"add_generation_prompt":1}', "[" * 100000, '{"messages":' * 2000, b"\xff", '{"messages":[],"tools":3}', '{"messages":[],"chat_template_kwargs":[]}'):
            self.refused(("template", path), stdin=said)
        for said in ("[]", "[1]", "[[]]", '[{"role":3}]', '[{"content":{}}]', '[{"role":"user","content":[{"type":"image"}]}]', '[{"role":"user","content":null}]', '[{"role":"' + "x" * 1000000 + '","content":"a"}]'):
            self.harmless(("template", path), stdin=said)

    def test_run_says_so(self):
        r = self.harmless(("run", self.folder(template="{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}"), "the", "-n", "1"))
        self.assertIn("template", r.err)


# ---- command lines and odd files -----------------------------------------------------------------------------------------

class CommandLine(FolderCase):
    def test_ids(self):
        for ids, status in (("", 2), ("-1", 2), ("x", 2), ("1,x", 2), ("1.5", 2), ("99999999999999999999", 2), ("640", 1), ("2147483647", 1), ("1,2,640", 1)):
            self.refused(("eval", LLAMA, "--ids=" + ids), "ids", ids.split(",")[-1], status=status)
        self.refused(("eval", LLAMA), "--ids", status=1)
        self.refused(("eval", LLAMA, "--ids", ",".join(["5"] * 5000), "--ctx-size", "64"), "5000", "64")
        self.refused(("eval", LLAMA, "--ids", "1,2", "--ctx-size", "99999999999"), status=2)
        self.harmless(("eval", LLAMA, "--ids", ",".join(["5"] * 2000)))
        self.harmless(("eval", LLAMA, "--ids", "1", "--n-predict", "2147483647", "--ctx-size", "16"))
        self.refused(("eval", LLAMA, "--ids", "1", "--n-predict", "-2"), "--n-predict", "-2", status=2)

    def test_prompt_beyond_the_context(self):
        self.refused(("run", self.folder(), "the " * 500, "-n", "1"), "128")
        self.refused(("run", LLAMA, "-n", "1", "--ctx-size", "32"), "32", stdin="word " * 1000)
        self.harmless(("perplexity", self.folder(), write("long.txt", "the " * 5000)))
        for content in ("", "a"):
            self.refused(("perplexity", self.folder(), write("short.txt", content)), "token")

    def test_options(self):
        for words in (("--nonsense",), ("run", LLAMA, "--nonsense"), ("run", LLAMA, "hi", "--temp", "hot"), ("run", LLAMA, "hi", "--temp", "nan"), ("run", LLAMA, "hi", "--temp", "-1"), ("run", LLAMA, "hi", "--top-p", "2"), ("run", LLAMA, "hi", "-n", "-5"),
                      ("run", LLAMA, "hi", "-n", "9" * 100), ("run", LLAMA, "hi", "--threads", "-1"), ("run", LLAMA, "hi", "--threads", "100000000"), ("run", LLAMA, "hi", "--seed", "x"), ("run", LLAMA, "hi", "--ctx-size", "0x10"), ("serve", LLAMA, "--port", "70000"),
                      ("run", LLAMA, "hi", "--temp"), ("bench", LLAMA, "-r", "0"), ("nonsense",), ("run", LLAMA, "hi", "--isa", "riscv"), ("eval", LLAMA, "--ids", "1", "--precision", "roughly"), ("x" * 100000,), ("run", LLAMA, "--" + "x" * 100000)):
            self.refused(words, status=2)

    def test_odd_paths(self):
        fifo, empty = path_of("pipe.gguf"), os.path.join(HOME, "empty-folder")
        if not os.path.exists(fifo):
            os.mkfifo(fifo)
        os.makedirs(empty, exist_ok=True)
        loop = path_of("loop.gguf")
        if not os.path.lexists(loop):
            os.symlink(loop, loop)
        for path in (fifo, empty, loop, "/dev/null", "/dev/zero", "/nowhere/x.gguf", "/proc/self/mem", write("empty.gguf", ""), write("empty.safetensors", ""), write("empty.json", ""), path_of("y" * 300 + ".gguf")):
            for words in (("inspect", path), ("run", path, "hi"), ("tokenize", path)):
                self.refused(words, os.path.basename(path)[:50])
        for path in ("", "a/b/c/d", "../../x", "no-body/nothing", "owner/repo:Q9_Z", "a\nb", "-", "." * 5000, "http://127.0.0.1/x"):
            self.refused(("inspect", path) if path != "-" else ("inspect", "--", "-"))
        if os.geteuid() != 0:
            locked = write("locked.gguf", "GGUF")
            os.chmod(locked, 0)
            self.refused(("inspect", locked), "locked.gguf")
        for name in ("config.json", "tokenizer.json", "model.safetensors", "chat_template.jinja", "generation_config.json"):
            for kind in ("fifo", "folder", "device"):
                folder = self.folder(generation_config={})
                os.unlink(os.path.join(folder, name))
                os.mkfifo(os.path.join(folder, name)) if kind == "fifo" else os.mkdir(os.path.join(folder, name)) if kind == "folder" else os.symlink("/dev/zero", os.path.join(folder, name))
                self.harmless(("run", folder, "the", "-n", "1"))
        self.refused(("perplexity", LLAMA, fifo), "pipe.gguf")
        self.refused(("perplexity", LLAMA, "/nowhere.txt"), "/nowhere.txt")
        self.refused(("perplexity", LLAMA, HOME), HOME)
        r = Run("chat", LLAMA, "-n", "1", stdin=f"/load {fifo}\n/load {HOME}\n/load /dev/zero\n/save {HOME}\n/set temp nan\n/set\n/nonsense\n" + "\0\xff\n")
        self.bounded(r, "chat")
        self.assertEqual(r.err.count("not a regular file"), 3, r.err)

    def test_rm_stays_at_home(self):
        kept = write("precious", "x")
        for name in (HOME, kept, "..", "../..", "a/..", "/", ".", "", "*"):
            self.refused(("rm", name))
        self.assertTrue(os.path.exists(kept))


# ---- HTTP ----------------------------------------------------------------------------------------------------------------

class Http(Case):
    @classmethod
    def setUpClass(cls):
        cls.p = subprocess.Popen([CALLA, "serve", LLAMA, "--port", "0", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
        cls.port = json.loads(cls.p.stdout.readline())["port"]

    @classmethod
    def tearDownClass(cls):
        cls.p.kill() if cls.p.poll() is None else None
        cls.p.communicate()

    def send(self, data, wait=20):
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as s:
            got = b""
            try:
                s.sendall(data)
                while chunk := s.recv(65536):
                    got += chunk
            except (BrokenPipeError, ConnectionResetError):
                pass
            return got

    def post(self, body, path="/v1/chat/completions", headers=""):
        body = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        return self.send(f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body)

    def test_bad_requests(self):
        said = [{"role": "user", "content": "hi"}]
        for body in ("", "{", "[]", "3", b"\xff", "[" * 100000, {}, {"messages": 3}, {"messages": []}, {"messages": [3]}, {"messages": [{}]}, {"messages": said, "temperature": "hot"}, {"messages": said, "temperature": -1}, {"messages": said, "temperature": 1e300},
                     {"messages": said, "top_p": 7}, {"messages": said, "max_tokens": -2}, {"messages": said, "max_tokens": 1.5}, {"messages": said, "n": 10**9}, {"messages": said, "stop": [1]}, {"messages": said, "stop": ["x"] * 10000}, {"messages": said, "stream": "yes"},
                     {"messages": [{"role": "user", "content": "word " * 20000}]}, {"messages": said, "tools": 3}, {"messages": said, "top_logprobs": 10**6}, {"messages": [{"role": "wizard", "content": 3}]}):
            answer = self.post(body)
            self.assertRegex(answer[:13], rb"^HTTP/1.1 4", (str(body)[:200], answer[:300]))
            self.assertIn("message", json.loads(answer.split(b"\r\n\r\n", 1)[1])["error"], body)
        for raw in (b"\0" * 1000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\n\r\n",
                    b"GET /v1/models HTTP/1.1\r\n" + b"A: b\r\n" * 50000 + b"\r\n", b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"):
            self.assertNotRegex(self.send(raw)[:13], rb"^HTTP/1.1 (2|5)", raw[:100])
        self.assertRegex(self.post({"messages": said, "max_tokens": 1})[:13], rb"^HTTP/1.1 200")
        self.assertIsNone(self.p.poll())
        if RESIDENT_MB:
            with open(f"/proc/{self.p.pid}/status") as f:
                peak = int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1)) / 1024
            self.assertLess(peak, RESIDENT_MB)
        self.p.send_signal(signal.SIGTERM)
        out, err = self.p.communicate(timeout=30)
        self.assertEqual(self.p.returncode, 0, err[-2000:])


if __name__ == "__main__":
    unittest.main(verbosity=1)
