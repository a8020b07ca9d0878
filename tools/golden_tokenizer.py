#!/usr/bin/env python3
# golden_tokenizer: what Hugging Face's `tokenizers` makes of awkward strings, as golden files for tests/text.
"""usage: golden_tokenizer.py strings OUT.json              write the strings (hex of their bytes)
       golden_tokenizer.py golden SOURCE STRINGS OUT.json ids and decoded texts; SOURCE is a tokenizer.json or a .gguf
       golden_tokenizer.py tokenizer SOURCE.gguf OUT.json  the tokenizer.json built out of a GGUF's metadata

Needs tokenizers, and gguf for GGUF sources. A golden holds, per string, the ids with special tokens matched, the ids with
the post-processor's tokens when there are any, and decode() with and without special tokens; then decode() of random ids."""
import json, random, sys

WORDS = """Hello, world! The quick brown fox jumps over the lazy dog.|don't DON'T I'm I'M we've WE'VE they'll THEY'LL he'd HE'D it's IT'S you're YOU'RE|'s 'S ’s ‘t 'ſ 'ſt 'sS 's's'
naïve café résumé coöperate Straße İstanbul ıIiİ ǅ ǆ Ǆ|e\u0301 a\u0308\u0304 o\u0302\u0323 \u0301alone x\u0300\u0301\u0302\u0303 \u1100\u1161\u11a8 \u1112\u1161\u11ab\u1100\u1173\u11af|한국어 텍스트입니다 각각
日本語のテキスト、カタカナ。ひらがな|你好，世界！中华人民共和国|繁體中文測試|ﾊﾝｶｸ ｶﾀｶﾅ ＦＵＬＬ ＷＩＤＴＨ １２３|ภาษาไทยไม่มีช่องว่าง|ພາສາລາວ|မြန်မာဘာသာ|ភាសាខ្មែរ|العربية: مرحبا بالعالم ١٢٣ ۴۵۶|עברית שָׁלוֹם|हिन्दी नमस्ते १२३|বাংলা|தமிழ் மொழி|తెలుగు|ಕನ್ನಡ|മലയാളം|ગુજરાતી|ਪੰਜਾਬੀ|සිංහල|ქართული|Հայերեն|አማርኛ ፩፪፫|ᏣᎳᎩ|ᠮᠣᠩᠭᠣᠯ|a\u180eb \u180e|བོད་སྐད།|Русский текст, ёж и Ёлка|Українська ї|Ελληνικά ΣΑΣ σας ώ|Tiếng Việt có dấu đầy đủ|Türkçe ğüşiöç
👩‍👩‍👧‍👦 family 👨🏽‍🚀 🏳️‍🌈 🇩🇪🇫🇷 ❤️ ☺︎ ✌🏿|🙂🙃😀😁 emoji🙂inside|👍🏻👍🏼👍🏽|1️⃣2️⃣ #️⃣|\U0001f469\u200d|\u200d\u200c\u200b\u2060\ufeff|\U0001fae8\U0001fa77|𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛 𝓐|ﬁ ﬂ ﬃ ſt ﬆ|№ ℡ ™ ½ ⅓ ² ³ ₁ Ⅷ ⅷ ① ⑳ ㊿ 〇 一二三|\u212b \u2126 \u00c5 \u03a9|\u0344 \u0340 \u0341 \u0958 \u2adc|\u1e9b\u0323 \u1e0b\u0323|\ufb1d \ufb2a|豈更車 \U0002f800|\uac00\u11a8 \u1100\uac00
a\r\nb\rc\nd|\r\n\r\n\n\r|\n|\n\n|\n\n\n|\n\n\n\n\n\n\nx|line \n  indented\n\tand tab|trailing   |   leading|  two  spaces\n\nand  lines \n| \n \n \n|\t\t\tx|\t \t \tx| \tx|x \n|x\n |x \r\n y|\x0b\x0c\x1c\x1d\x1e\x1f x|\u0085next\u0085 \u0085|a\u2028b\u2029c \u2028 |\u00a0nbsp\u00a0x \u00a0 x|\u3000全角\u3000空白|\u2000\u2001\u2002\u2003\u2009\u200a\u202f\u205fx|\u1680ogham|a b  c   d    e     f|(   spaced   )|x\u00a0 y \u00a0z|\x00|a\x00b\x00\x00|\x01\x02\x7f|\u00ad\u061c\u200e\u200f
0|7|42|123|1234|12345|1234567890|3.14159|1,234,567.89|-5 +5 ±5|1e-10 0x1F 0b101|2024-01-01T12:34:56Z|١٢٣٤|１２３４|a1b2c3|v1.2.3-rc4|$9.99 €5 £3 ¥100 ₿1|100% 50‰|10^6 x² H₂O|IPv4 192.168.0.1:8080
def f(x):\n    return x**2 + 1  # comment\n|for (int i = 0; i < n; ++i) { a[i] = b[i] * c; }|#include <vector>\nint main() { return 0; }|<html><body class="x">&nbsp;</body></html>|{"key": [1, 2, {"a": null}], "b": true}|SELECT * FROM t WHERE a = 'b''c';|if x == None:\n\tpass\n\telse:\n\t\tpass|https://example.com/path?q=1&r=%20#frag|C:\\Users\\name\\file.txt|/usr/local/bin:/bin|foo_bar __init__ camelCase PascalCase SCREAMING_CASE kebab-case|a->b::c()=>d|!=!==<=>=&&||??|...…—–-|“quoted” ‘single’ «guillemets» „low“|`code` ```block```|[[wiki]] {{tmpl}} ((paren))|\\n \\t \\u0041|¿Qué? ¡Sí!|§1 ¶2 †‡|^_^ :-) ¯\\_(ツ)_/¯|~~~ === --- *** ___|@user #tag $var %pct ^caret &amp *star|;;;;;;;;;;|!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!|?!?!?!|'''|''''s|"'s"|'|''|' s|'re'|x'y'z
<|endoftext|>|<|im_start|>user\nhi<|im_end|>\n|<|im_start|><|im_end|>|<|im_start|> <|im_end|>|<|im_startx|>|<|im_start|<|im_start|>|<<|im_end|>>|<think>\n\n</think>\n\n|<think>plan</think>answer|<tool_call>{"name": "f"}</tool_call>|</think|<think|think>|<bos>hi<eos>|<start_of_turn>user\nhi<end_of_turn>\n|<pad><unk><mask>|<s>x</s>|<unused0>|<0x41><0x0A>|[multimodal]|<|vision_start|><|image_pad|><|vision_end|>|<repo_name>x<file_sep>y|a<|im_end|>b<|im_end|>c|<table><tr><td>1</td></tr></table>|[PAD640]|<h1>t</h1>|<think></think><tool_call></tool_call>|ＴＨＩＮＫ <ｔhink>
▁|▁▁|▁hello ▁ world▁| ▁ |a▁b|Ġhello Ċ ĉ|Ġ|ÃĥÂ©|é as Ã©|<0x20>|\u2581\u2581\u2581\u2581x|⁇|�|��x|a�b"""
TAILS = """\u0530 \u0378 \u038b|\U0001d2c0\U0001e5d0 \U0001e4d0|\U00011f04\U00011f50|\U00031350\U000323af|\u0cf3\u0cce \u0897|\U00010d40\U00010d4a\U00010d50|\U0001ccf0\U0001cc00|\U000e0001\U000e0020\U000e007f|\U0010ffff\ufffe\uffff|\ue000\uf8ff \U000f0000|\U0001f130\u24b6 \u24e9|\u00aa\u00ba\u02b0|\u0903\u093e\u0300|\u20dd\u20e0a|\u203f\u2040_|\u2160\u3007\u3021|\u00b2\u00bc\u0bf0|\u2190\u2200\u2300\u25a0|\u02c2\u02d2^`|\u00a2\u20ac|\u0600\u06dd\u070f|\U00011935\U00011930 \U000110a5\U000110ba|\U0001611e\U0001611e\U0001611f \U00016d67\U00016d67|\u09c7\u09be \u0b47\u0b56 \u0dd9\u0dcf|\u1025\u102e \u1b05\u1b35|\u30ab\u3099 \u3046\u3099 \uff76\uff9e|a\u0315\u0300\u05ae\u0300b|\u0f71\u0f72\u0f74|\u1ee7\u0323\u0301"""


def strings():
    out = [b""]
    for block in (WORDS, TAILS):
        for line in block.split("\n"):
            out += [s.encode("utf-8", "surrogatepass") for s in line.split("|")] + [line.encode()]
    out += [(c * n).encode() for c in (" ", "\n", "\t", "a", "ab", "0", "!", "é", "e\u0301", "你", "🙂", "\r\n", " a", "  \n") for n in (2, 3, 7, 31, 32, 64, 300)]
    out += [b"\xff", b"a\xffb", b"\xc3", b"\xc3(", b"\xe2\x82", b"\xe2\x82x", b"\xe2\x28\xa1", b"\xf0\x9f\x98", b"\xf0\x9f\x98\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
            b"\xc0\x80", b"\xe0\x80\x80", b"\x80\x80\x80", b"ok \xf0\x9f\x99\x82 \xf0\x9f", b"\xfe\xff", b"\xf8\x88\x80\x80\x80", b"\xe4\xbd\xa0\xe5\xa5", b"\xe2\x82\xac\xe2\x82"]
    rng = random.Random(20261130)
    pools = [(32, 126), (9, 13), (0x80, 0x24f), (0x300, 0x36f), (0x370, 0x5ff), (0x600, 0x8ff), (0x900, 0xdff), (0xe00, 0x11ff), (0x1e00, 0x20ff), (0x2000, 0x206f),
             (0x2100, 0x2bff), (0x3000, 0x30ff), (0x4e00, 0x9fff), (0xac00, 0xd7a3), (0xf900, 0xffee), (0x10000, 0x1ffff), (0x20000, 0x323af), (32, 47)]
    for _ in range(160):
        text = "".join(chr(rng.randint(*rng.choice(pools[:1] + rng.sample(pools, 4)))) for _ in range(rng.randint(1, 60)))
        out.append(text.encode())
    out += [bytes(rng.randrange(256) for _ in range(rng.randint(1, 24))) for _ in range(40)]
    unique = list(dict.fromkeys(out))
    return [b.hex() for b in unique]


# ---- a tokenizer out of GGUF metadata ----

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN35 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def table(path):
    import gguf
    fields = gguf.GGUFReader(path).fields
    get = lambda key, default=None: fields["tokenizer.ggml." + key].contents() if "tokenizer.ggml." + key in fields else default
    return dict(model=get("model"), pre=get("pre", ""), tokens=get("tokens"), merges=get("merges"), scores=get("scores"), types=get("token_type"),
                bos=get("bos_token_id"), eos=get("eos_token_id"), unknown=get("unknown_token_id"), add_bos=get("add_bos_token"),
                add_space_prefix=get("add_space_prefix"))


def merges_from_scores(vocab, scores):
    """transformers' generate_merges with vocab_scores."""
    rows = []
    for token, score in scores.items():
        for i in range(1, len(token)):
            left, right = token[:i], token[i:]
            if left in vocab and right in vocab:
                rows.append((left, right, score))
    rows.sort(key=lambda r: (r[2], len(r[0]), len(r[1])), reverse=True)
    return [(r[0], r[1]) for r in rows]


def from_table(t):
    from tokenizers import Tokenizer, AddedToken, Regex, decoders, models, normalizers, pre_tokenizers as pre
    byte_level = t["model"] == "gpt2"
    tokens, types = t["tokens"], t["types"] or [1] * len(t["tokens"])
    if not byte_level:  # the converter wrote U+2581 in user-defined space runs as spaces
        tokens = ["\u2581" * len(x) if x and not x.strip(" ") else x for x in tokens]
    vocab = {x: i for i, x in enumerate(tokens)}
    if byte_level:
        merges = [tuple(m.split(" ")) for m in t["merges"]]
        tok = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=t["pre"] in ("llama-bpe", "llama3", "llama-v3")))
        split = {"qwen2": LLAMA3 % "", "qwen35": QWEN35, "llama-bpe": LLAMA3 % "{1,3}"}.get(t["pre"])
        if t["pre"] in ("qwen2", "qwen35"):
            tok.normalizer = normalizers.NFC()
        if split:
            tok.pre_tokenizer = pre.Sequence([pre.Split(Regex(split), "isolated"), pre.ByteLevel(add_prefix_space=False, use_regex=False)])
        elif t["pre"] == "smollm":
            tok.pre_tokenizer = pre.Sequence([pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)])
        else:
            tok.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
        tok.decoder = decoders.ByteLevel()
    else:
        # SentencePiece prefers user-defined pieces; the converter overwrote their score 0 with -1000.
        scores = {x: 0.0 if types[i] == 4 else t["scores"][i] for i, x in enumerate(tokens)}
        merges = merges_from_scores(vocab, {x: s for x, s in scores.items() if types[vocab[x]] not in (2, 3, 5)})
        tok = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token=tokens[t["unknown"]], fuse_unk=True, byte_fallback=True))
        steps = [normalizers.Replace(" ", "\u2581")]
        prefix = t["add_space_prefix"] is not False
        tok.normalizer = normalizers.Sequence(([normalizers.Prepend("\u2581")] if prefix else []) + steps)
        tok.pre_tokenizer = None if prefix else pre.Split(" ", "merged_with_previous")
        tok.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()] +
                                        ([decoders.Strip(" ", 1, 0)] if prefix else []))
    unknown_is_added = 2 if not byte_level else 3
    tok.add_special_tokens([AddedToken(tokens[i], normalized=False) for i, k in enumerate(types) if k in (3, unknown_is_added)])
    tok.add_tokens([AddedToken(tokens[i], normalized=False, special=False) for i, k in enumerate(types) if k == 4])
    if t["bos"] is not None and (t["add_bos"] if t["add_bos"] is not None else not byte_level):
        from tokenizers import processors
        bos = tokens[t["bos"]]
        tok.post_processor = processors.TemplateProcessing(single=f"{bos} $A", pair=f"{bos} $A {bos}:1 $B:1", special_tokens=[(bos, t["bos"])])
    return tok


def load(source):
    from tokenizers import Tokenizer
    if source.endswith(".gguf"):
        return from_table(table(source))
    return Tokenizer.from_file(source)


def golden(source, texts):
    tok = load(source)
    rows = []
    for h in texts:
        text = bytes.fromhex(h).decode("utf-8", "replace")
        ids = tok.encode(text, add_special_tokens=False).ids
        row = {"ids": ids, "decoded": tok.decode(ids, skip_special_tokens=True)}
        kept, wrapped = tok.decode(ids, skip_special_tokens=False), tok.encode(text).ids
        if kept != row["decoded"]: row["kept"] = kept
        if wrapped != ids: row["wrapped"] = wrapped
        rows.append(row)
    return rows


def random_ids(tok, count=150):
    """Sequences whose byte-fallback runs are valid, where Hugging Face's decoder and a streaming one agree."""
    rng, size, out = random.Random(7), tok.get_vocab_size(), []
    byte = {i for t, i in tok.get_vocab().items() if len(t) == 6 and t.startswith("<0x")}
    for _ in range(count):
        ids = [i for i in (rng.randrange(size) for _ in range(rng.randint(1, 20))) if i not in byte]
        out.append({"ids": ids, "decoded": tok.decode(ids, skip_special_tokens=True), "kept": tok.decode(ids, skip_special_tokens=False)})
    return out


def main(argv):
    if argv[:1] == ["strings"] and len(argv) == 2:
        json.dump(strings(), open(argv[1], "w"), indent=0)
    elif argv[:1] == ["golden"] and len(argv) == 4:
        with open(argv[3], "w") as f:
            rows = golden(argv[1], json.load(open(argv[2])))
            json.dump({"encoded": rows, "random": random_ids(load(argv[1]))}, f, ensure_ascii=True, separators=(",", ":"))
    elif argv[:1] == ["tokenizer"] and len(argv) == 3:
        load(argv[1]).save(argv[2], pretty=False)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
