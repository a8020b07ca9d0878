#!/usr/bin/env python3
"""synthetic_text: gives weights of make_synthetic.py a tokenizer and a chat template, without which they can be timed but neither served nor talked to.

usage: synthetic_text.py PATH      a folder (MLX): files beside the weights; a GGUF: its metadata, in place

A byte-level BPE of Qwen3.6's size: 256 bytes, all pairs and most triples of 64 ASCII letters, so that whatever is generated is text at once, and three
special tokens where Qwen3.6 has its own. A GGUF's weights are neither moved nor copied: what make_synthetic.py wrote about its vocabulary is longer than
what stands there afterwards, so that the rest is filled up; merges are those of the first tokens that there is room for.
"""
import json
import os
import string
import struct
import sys

SPECIAL = {248044: "<|endoftext|>", 248045: "<|im_start|>", 248046: "<|im_end|>"}
TEMPLATE = ("{%- for message in messages -%}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}{%- endfor -%}"
            "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}")
LETTERS = string.ascii_letters + string.digits + "+/"
PATTERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def byte_letters():
    """What stands for each byte in a byte-level vocabulary: printable ones for themselves, the others from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in printable]
    return [chr(b) for b in printable] + [chr(0x100 + i) for i in range(len(others))]


def vocabulary(size):
    """The tokens in the order of their ids, and the merges (left, right) that make those behind the bytes."""
    tokens, merges = byte_letters(), []
    longer = [(a, b) for a in LETTERS for b in LETTERS] + [(a + b, c) for a in LETTERS for b in LETTERS for c in LETTERS]
    pairs = iter(longer)
    while len(tokens) < size:
        if len(tokens) in SPECIAL:
            tokens.append(SPECIAL[len(tokens)])
            continue
        left, right = next(pairs)
        merges.append((left, right))
        tokens.append(left + right)
    return tokens, merges


def beside(folder):
    """tokenizer.json and tokenizer_config.json of a folder of safetensors."""
    with open(os.path.join(folder, "config.json")) as file:
        size = json.load(file)["text_config"]["vocab_size"]
    tokens, merges = vocabulary(size)
    special = {id: text for id, text in SPECIAL.items() if id < size}
    split = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}
    letters = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    ordinary = {text: id for id, text in enumerate(tokens) if id not in special}
    document = {"version": "1.0", "added_tokens": [{"id": id, "content": text, **flags} for id, text in special.items()],
                "normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, letters]}, "post_processor": None, "decoder": letters,
                "model": {"type": "BPE", "byte_fallback": False, "ignore_merges": False, "vocab": ordinary, "merges": merges}}
    with open(os.path.join(folder, "tokenizer.json"), "w") as file:
        json.dump(document, file, ensure_ascii=False)
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
        json.dump({"tokenizer_class": "Qwen2Tokenizer", "eos_token": SPECIAL[248046], "pad_token": SPECIAL[248044], "add_bos_token": False, "chat_template": TEMPLATE}, file)


class Metadata:
    """The key-value part of a GGUF: where it begins and ends, and the raw bytes of each entry."""

    SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
    TEXT, ARRAY = 8, 9

    def __init__(self, file):
        self.file = file
        magic, version, _, n = struct.unpack("<4sIQQ", file.read(24))
        if magic != b"GGUF" or version != 3:
            raise ValueError("no GGUF of version 3")
        self.begin, self.entries = file.tell(), {}
        for _ in range(n):
            at = file.tell()
            key = self.text().decode()
            self.skip(self.number("I"))
            end = file.tell()
            file.seek(at)
            self.entries[key] = file.read(end - at)
        self.end = file.tell()

    def number(self, kind):
        return struct.unpack("<" + kind, self.file.read(struct.calcsize(kind)))[0]

    def text(self):
        return self.file.read(self.number("Q"))

    def skip(self, kind):
        if kind == self.TEXT:
            self.text()
        elif kind == self.ARRAY:
            of, n = self.number("I"), self.number("Q")
            if of in self.SIZES:
                self.file.seek(n * self.SIZES[of], os.SEEK_CUR)
            else:
                for _ in range(n):
                    self.skip(of)
        else:
            self.file.seek(self.SIZES[kind], os.SEEK_CUR)


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def entry(key, kind, raw):
    return text(key) + struct.pack("<I", kind) + raw


def texts(key, values):
    return entry(key, Metadata.ARRAY, struct.pack("<IQ", Metadata.TEXT, len(values)) + b"".join(map(text, values)))


def inside(path):
    """Rewrites what a GGUF says about its vocabulary; its length stays, so that the tensors keep their places."""
    with open(path, "r+b") as file:
        old = Metadata(file)
        size = struct.unpack("<Q", old.entries["tokenizer.ggml.tokens"].split(b"tokens", 1)[1][8:16])[0]
        tokens, merges = vocabulary(size)
        control, normal, filler = 3, 1, "synthetic.filler"
        types = [control if id in SPECIAL else normal for id in range(size)]
        kept = [raw for key, raw in old.entries.items() if not key.startswith("tokenizer.") and key != filler]
        new = kept + [entry("tokenizer.ggml.model", Metadata.TEXT, text("gpt2")), entry("tokenizer.ggml.pre", Metadata.TEXT, text("qwen35")), texts("tokenizer.ggml.tokens", tokens),
                      entry("tokenizer.ggml.token_type", Metadata.ARRAY, struct.pack("<IQ", 5, size) + struct.pack(f"<{size}i", *types)),
                      entry("tokenizer.ggml.eos_token_id", 4, struct.pack("<I", min(248046, size - 1))), entry("tokenizer.chat_template", Metadata.TEXT, text(TEMPLATE))]
        room = old.end - old.begin - sum(map(len, new)) - len(texts("tokenizer.ggml.merges", [])) - len(entry(filler, Metadata.TEXT, text("")))
        lines = []
        for line in (f"{left} {right}" for left, right in merges):
            room -= 8 + len(line)
            if room < 0:
                room += 8 + len(line)
                break
            lines.append(line)
        new += [texts("tokenizer.ggml.merges", lines), entry(filler, Metadata.TEXT, text(" " * room))]
        raw = b"".join(new)
        if len(raw) != old.end - old.begin:
            raise ValueError(f"{path}: no room for a vocabulary of {size} tokens")
        file.seek(16)
        file.write(struct.pack("<Q", len(new)))
        file.seek(old.begin)
        file.write(raw)


def give_text(path):
    beside(path) if os.path.isdir(path) else inside(path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    give_text(sys.argv[1])
