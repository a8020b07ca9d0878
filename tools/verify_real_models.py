#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# verify_real_models: compares Calla with Hugging Face's own code on a real GGUF checkpoint (llama and gemma3 architectures).
"""usage: verify_real_models.py --calla build/release/calla --model FILE.gguf [--text tests/golden/text/prose.txt] [--only PART,PART] [--json OUT]

Parts, each of which prints one line a figure and counts towards the exit code:
  tokens     ids and decoded texts of the awkward strings through `calla tokenize` and `calla detokenize` against `tokenizers`
  template   20 conversations through `calla template` against jinja2 (only when the file has a template)
  logits     whole rows of some prompts, --precision exact, against transformers in float32 on the dequantised weights
  text       perplexity of --text (transformers, exact, fast), mean KL(exact || fast) and agreement of the best token
  greedy     32 greedy ids against transformers; the answers' stop tokens

Needs torch, transformers, tokenizers, gguf and jinja2. Memory: one float32 copy of the model; rows go through named pipes."""
import argparse, json, math, os, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import golden_template, golden_tokenizer

BOUNDS = {"logits": 2e-3, "logits_gemma": 5e-3, "ppl": 5e-3, "kl": 2e-3, "top": 0.99}
PROMPTS = ["The capital of France is", "def fib(n):\n    if n < 2:\n        return", "Once upon a time, in a village between two rivers,", "1, 2, 3, 4, 5,",
           "<|im_start|>user\nWhat is the sea made of?<|im_end|>\n<|im_start|>assistant\n", "Dear Sir,\n\nI write to you about the", "¿Dónde está la biblioteca? — Está",
           "<start_of_turn>user\nWhat is the capital of France?<end_of_turn>\n<start_of_turn>model\n"]
CHATS = ["Hello!", "  spaces and\nlines \n", "Ünïcödé 🙂 <b>&amp;\"quotes\"</b>", "", "{{ braces }} {% x %}"]


class Report:
    def __init__(self):
        self.figures, self.failed = {}, 0

    def line(self, name, ok, **figures):
        self.figures[name] = figures
        self.failed += not ok
        print(("PASS " if ok else "FAIL ") + name + ": " + ", ".join(f"{k} {v:.6g}" if isinstance(v, float) else f"{k} {v}" for k, v in figures.items()), flush=True)


# ---- the checkpoint as a transformers model ----

def unpermute(w, heads):
    """The converter turned Hugging Face's half-split rotary rows into interleaved pairs (llama only)."""
    return w.reshape(heads, w.shape[0] // heads // 2, 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


NAMES = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
         "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
         "token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
NORMS = {"llama": {"ffn_norm": "post_attention_layernorm"},
         "gemma3": {"ffn_norm": "pre_feedforward_layernorm", "post_attention_norm": "post_attention_layernorm", "post_ffw_norm": "post_feedforward_layernorm"}}


def hf_name(name, arch):
    parts = name.split(".")
    key = parts[2] if parts[0] == "blk" else parts[0]
    mapped = NORMS[arch].get(key) or NAMES[key]
    return f"model.layers.{parts[1]}.{mapped}.{parts[3]}" if parts[0] == "blk" else f"{mapped}.{parts[1]}"


def hf_config(arch, get, vocab, tied):
    import transformers
    common = dict(vocab_size=vocab, hidden_size=get("embedding_length"), intermediate_size=get("feed_forward_length"), num_hidden_layers=get("block_count"),
                  num_attention_heads=get("attention.head_count"), num_key_value_heads=get("attention.head_count_kv"), tie_word_embeddings=tied,
                  max_position_embeddings=get("context_length"), rms_norm_eps=get("attention.layer_norm_rms_epsilon"))
    theta = get("rope.freq_base")
    if arch == "llama":
        return transformers.LlamaForCausalLM, transformers.LlamaConfig(**common, rope_parameters={"rope_type": "default", "rope_theta": theta})
    # What a Gemma 3 GGUF leaves unsaid: every sixth layer is global, local rotary base 10000, queries scaled by head_dim.
    head = get("attention.key_length")
    types = ["sliding_attention" if (i + 1) % 6 else "full_attention" for i in range(common["num_hidden_layers"])]
    rope = {"full_attention": {"rope_type": "default", "rope_theta": theta}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}
    config = transformers.Gemma3TextConfig(**common, head_dim=head, query_pre_attn_scalar=head, sliding_window=get("attention.sliding_window"), layer_types=types,
                                           rope_parameters=rope)
    return transformers.Gemma3ForCausalLM, config


def load_hf(path):
    import gguf, torch
    reader = gguf.GGUFReader(path)
    arch = reader.fields["general.architecture"].contents()
    get = lambda key: reader.fields[f"{arch}.{key}"].contents()
    tensors = {t.name: t for t in reader.tensors if t.name != "rope_freqs.weight"}
    make, config = hf_config(arch, get, int(tensors["token_embd.weight"].shape[1]), "output.weight" not in tensors)
    weights = {}
    for name, t in tensors.items():
        w = np.array(gguf.dequantize(t.data, t.tensor_type), dtype=np.float32).reshape([int(n) for n in reversed(t.shape)])
        if arch == "llama" and ".attn_q." in name: w = unpermute(w, config.num_attention_heads)
        if arch == "llama" and ".attn_k." in name: w = unpermute(w, config.num_key_value_heads)
        if arch == "gemma3" and "norm" in name: w = w - 1
        weights[hf_name(name, arch)] = torch.from_numpy(np.ascontiguousarray(w))
    config._attn_implementation = "eager"
    with torch.device("meta"):
        model = make(config).float()
    if config.tie_word_embeddings: weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    missing = model.load_state_dict(weights, strict=False, assign=True)
    assert not missing.unexpected_keys and not missing.missing_keys, missing
    rotary = type(model.model.rotary_emb)(config=config)  # buffers were made on the meta device
    model.model.rotary_emb = rotary
    if hasattr(model.model.embed_tokens, "embed_scale"):
        model.model.embed_tokens.embed_scale = torch.tensor(config.hidden_size ** 0.5)
    model.tie_weights()
    return arch, model.eval()


def hf_rows(model, ids, step=64):
    """Logit rows, a block of positions at a time: whole rows of 262144 would not fit in memory all at once."""
    import torch
    with torch.no_grad():
        hidden = model.model(torch.tensor([ids]), use_cache=False).last_hidden_state[0]
        for i in range(0, len(ids), step):
            yield model.lm_head(hidden[i:i + step]).numpy()


# ---- Calla ----

class Calla:
    def __init__(self, program, model, threads):
        self.program, self.model, self.threads = program, model, threads

    def run(self, *words, stdin=b""):
        r = subprocess.run([self.program, words[0], self.model, *words[1:]], input=stdin, capture_output=True)
        if r.returncode: raise RuntimeError(f"calla {words[0]}: {r.stderr.decode().strip()[-300:]}")
        return r.stdout

    def json(self, *words, stdin=b""):
        return json.loads(self.run(*words, "--json", stdin=stdin))

    def rows(self, ids, vocab, precision, folder):
        """Yields one row a position, as they are computed."""
        pipe = os.path.join(folder, f"{precision}.pipe")
        if not os.path.exists(pipe): os.mkfifo(pipe)
        log = open(os.path.join(folder, precision + ".log"), "w+")
        process = subprocess.Popen([self.program, "eval", self.model, "--ids", ",".join(map(str, ids)), "--all-positions", "--precision", precision, "--logits", pipe,
                                    "--threads", str(self.threads)], stdout=subprocess.DEVNULL, stderr=log)
        try:
            with open(pipe, "rb") as f:
                for _ in ids:
                    data = f.read(vocab * 4)
                    if len(data) != vocab * 4: raise RuntimeError(f"calla eval stopped early: {open(log.name).read()[-300:]}")
                    yield np.frombuffer(data, np.float32)
        finally:
            process.wait()


# ---- parts ----

def log_softmax(rows):
    rows = rows.astype(np.float64)
    top = rows.max(-1, keepdims=True)
    return rows - top - np.log(np.exp(rows - top).sum(-1, keepdims=True))


def check_tokens(report, calla, tok, strings):
    bare = without_added_tokens(tok)

    def one(text):
        clean = text.decode("utf-8", "replace")
        ids = tok.encode(clean, add_special_tokens=False).ids
        wanted = {"special": ((), ids), "bos": (("--bos",), tok.encode(clean).ids), "plain": (("--plain",), bare.encode(clean, add_special_tokens=False).ids)}
        wrong = [kind for kind, (flags, want) in wanted.items() if calla.json("tokenize", *flags, stdin=text)["ids"] != want]
        for kind, flags in (("detokenize", ()), ("detokenize --skip-special", ("--skip-special",))):
            got = calla.json("detokenize", *flags, stdin=json.dumps(ids).encode())["text"]
            if got != tok.decode(ids, skip_special_tokens=bool(flags)): wrong.append(kind)
        return clean, wrong

    with ThreadPoolExecutor(calla.threads) as pool: rows = list(pool.map(one, strings))
    for kind in ("special", "plain", "bos", "detokenize", "detokenize --skip-special"):
        bad = [clean for clean, wrong in rows if kind in wrong]
        report.line(f"tokens {kind}", not bad, strings=len(strings), different=len(bad), first=repr(bad[0][:60]) if bad else "-")


def without_added_tokens(tok):
    """The same tokenizer, to which text of added tokens is just text."""
    from tokenizers import Tokenizer
    description = json.loads(tok.to_str())
    description["added_tokens"], description["post_processor"] = [], None
    return Tokenizer.from_str(json.dumps(description))


def conversations():
    out = []
    for i, text in enumerate(CHATS):
        user, other = {"role": "user", "content": text}, {"role": "user", "content": CHATS[(i + 1) % len(CHATS)]}
        out += [[user], [{"role": "system", "content": f"Be brief ({i})."}, user], [user, {"role": "assistant", "content": text + "!"}, other],
                [{"role": "system", "content": ""}, user, {"role": "assistant", "content": "é"}, other, {"role": "assistant", "content": "\n"}, user]]
    return out


def check_template(report, calla, source, tok, bos, eos):
    template, bad = golden_template.environment().from_string(source), []
    for i, messages in enumerate(conversations()):
        request = {"messages": messages, "add_generation_prompt": i % 3 != 2}
        try:
            want = template.render(**golden_template.variables(json.dumps({**request, "bos_token": bos, "eos_token": eos})))
        except golden_template.Raised:
            want = None
        try:
            got = calla.json("template", stdin=json.dumps(request).encode())
        except RuntimeError:
            got = {"prompt": None}
        if got["prompt"] != want or (want is not None and got["ids"] != tok.encode(want, add_special_tokens=False).ids): bad.append(i)
    report.line("template", not bad, conversations=len(conversations()), different=len(bad))


def check_logits(report, calla, arch, model, tok, folder):
    worst, positions, bound = 0.0, 0, BOUNDS["logits_gemma" if arch == "gemma3" else "logits"]
    for prompt in PROMPTS:
        ids = tok.encode(prompt).ids
        want = np.concatenate(list(hf_rows(model, ids)))
        got = np.stack(list(calla.rows(ids, want.shape[1], "exact", folder)))
        worst, positions = max(worst, float(np.abs(got - want).max())), positions + len(ids)
    report.line("logits exact = transformers", worst <= bound, prompts=len(PROMPTS), positions=positions, largest_difference=worst, bound=bound)


def check_text(report, calla, model, tok, path, folder):
    text = open(path, encoding="utf-8").read()
    ids = tok.encode(text).ids
    vocab = model.config.vocab_size
    exact, fast = calla.rows(ids, vocab, "exact", folder), calla.rows(ids, vocab, "fast", folder)
    sums, kls, same, largest = {"hf": 0.0, "exact": 0.0, "fast": 0.0}, [], 0, 0.0
    at = 0
    for block in hf_rows(model, ids, 16):
        e = np.stack([next(exact) for _ in block])
        f = np.stack([next(fast) for _ in block])
        largest = max(largest, float(np.abs(e - block).max()))
        pe, pf, ph = log_softmax(e), log_softmax(f), log_softmax(block)
        kls += list((np.exp(pe) * (pe - pf)).sum(-1))
        same += int((e.argmax(-1) == f.argmax(-1)).sum())
        for i in range(len(block)):
            if at + i + 1 < len(ids):
                for name, p in (("hf", ph), ("exact", pe), ("fast", pf)): sums[name] -= p[i, ids[at + i + 1]]
        at += len(block)
    list(exact), list(fast)
    ppl = {k: math.exp(v / (len(ids) - 1)) for k, v in sums.items()}
    told = {p: calla.run_json_perplexity(path, p) for p in ("exact", "fast")}
    for p in ("exact", "fast"):
        off = told[p]["ppl"] / ppl["hf"] - 1
        report.line(f"perplexity {p}", abs(off) <= BOUNDS["ppl"] and told[p]["n_tokens"] == len(ids), tokens=len(ids), transformers=ppl["hf"], calla=told[p]["ppl"], from_rows=ppl[p],
                    off_percent=100 * off)
    report.line("text logits exact = transformers", True, largest_difference=largest)
    kl = float(np.mean(kls))
    report.line("fast against exact", kl <= BOUNDS["kl"] and same / len(ids) >= BOUNDS["top"], positions=len(ids), mean_kl=kl, median_kl=float(np.median(kls)), p99_kl=float(np.quantile(kls, .99)),
                largest_kl=float(max(kls)), same_best_percent=100 * same / len(ids), differ=len(ids) - same)


def hf_greedy(model, ids, n):
    import torch
    ids, gaps = list(ids), []
    with torch.no_grad():
        for _ in range(n):
            row = model(torch.tensor([ids]), use_cache=False).logits[0, -1]
            best = torch.topk(row, 2)
            gaps.append(float(best.values[0] - best.values[1]))
            ids.append(int(best.indices[0]))
    return ids[-n:], gaps


def check_greedy(report, calla, model, tok, n=32):
    notes, bad = [], 0
    for prompt in PROMPTS:
        ids = tok.encode(prompt).ids
        want, gaps = hf_greedy(model, ids, n)
        for precision in ("exact", "fast"):
            got = calla.json("eval", "--ids", ",".join(map(str, ids)), "--n-predict", str(n), "--precision", precision)["generated"]
            k = next((i for i in range(n) if got[i] != want[i]), n)
            notes.append(f"{precision} {k}" + (f" (gap {gaps[k]:.2g})" if k < n else ""))
            bad += precision == "exact" and k < n and gaps[k] > 2e-3
    report.line("greedy = transformers", not bad, prompts=len(PROMPTS), equal_ids="; ".join(notes))


def check_stops(report, calla, tok):
    for question in ("Say hello.", "What is the capital of France?", "Name a colour."):
        answer = calla.json("run", question, "--temp", "0", "--max-tokens", "200")
        text = answer["text"]
        clean = "<end_of_turn>" not in text and "<|im_end|>" not in text and "<start_of_turn>" not in text
        report.line(f"run '{question}'", clean, finish=answer["finish_reason"], text=repr(text[:100]))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--calla", required=True)
    ap.add_argument("--model", required=True)
    ap.add_argument("--text", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/golden/text/prose.txt"))
    ap.add_argument("--only", default="tokens,template,logits,text,greedy,stops")
    ap.add_argument("--strings", type=int, default=100000, help="how many of the awkward strings")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--json", default="")
    a = ap.parse_args()
    parts, report, calla = a.only.split(","), Report(), Calla(a.calla, a.model, a.threads)
    calla.run_json_perplexity = lambda path, precision: json.loads(calla.run("perplexity", path, "--precision", precision, "--json"))
    import gguf
    fields = gguf.GGUFReader(a.model).fields
    token = lambda key: fields["tokenizer.ggml.tokens"].contents(fields[f"tokenizer.ggml.{key}_token_id"].contents()) if f"tokenizer.ggml.{key}_token_id" in fields else ""
    tok = golden_tokenizer.load(a.model)
    if "tokens" in parts:
        strings = [bytes.fromhex(h) for h in golden_tokenizer.strings()]
        check_tokens(report, calla, tok, strings[::max(1, len(strings) // a.strings)] if a.strings < len(strings) // 2 else strings[:a.strings])
    source = fields["tokenizer.chat_template"].contents() if "tokenizer.chat_template" in fields else ""
    if "template" in parts:
        if source: check_template(report, calla, source, tok, token("bos"), token("eos"))
        else: print("note template: this file has no tokenizer.chat_template")
    if {"logits", "text", "greedy"} & set(parts):
        import torch
        torch.set_num_threads(a.threads)
        arch, model = load_hf(a.model)
        with tempfile.TemporaryDirectory() as folder:
            if "logits" in parts: check_logits(report, calla, arch, model, tok, folder)
            if "text" in parts: check_text(report, calla, model, tok, a.text, folder)
            if "greedy" in parts: check_greedy(report, calla, model, tok)
    if "stops" in parts: check_stops(report, calla, tok)
    if a.json: json.dump(report.figures, open(a.json, "w"), indent=1)
    sys.exit(1 if report.failed else 0)


if __name__ == "__main__":
    main()
