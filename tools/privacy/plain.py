# privacy: pieces of real text without people or addresses: Python's standard library (PSF-2.0), licence texts, and this repository with its log.
# Every second file, by the hash of its name, is kept for measuring false masks. The format is that of english.py.
import random
import re
import subprocess
import sysconfig
from pathlib import Path

from lists import FIRST, ORDINARY, PLACE, SURNAME, word_hash

PERSONAL = re.compile(r"copyright|author|written by|contributed|maintain|thanks|suggested|reported by|@|\bby [A-Z]|\bMr|\bDr\b|Street|Avenue|Road", re.I)


def files():
    root = Path(__file__).parents[2]
    python = Path(sysconfig.get_paths()["stdlib"])
    yield from sorted(python.glob("*.py")) + [f for f in sorted(python.glob("*/*.py")) if f.parent.name not in ("encodings", "test", "pydoc_data")][:400]
    yield from sorted(Path("/usr/share/common-licenses").glob("*"))
    yield from sorted(root.glob("src/**/*.cpp")) + sorted(root.glob("src/**/*.h")) + sorted(root.glob("docs/*.md")) + [root / "README.md", root / "ARCHITECTURE.md", root / "CONTRIBUTING.md"]


def for_training(path):
    return word_hash(path.name) % 2 == 0


def personal(piece, bits):
    """Whether a known name stands in it that is no ordinary word."""
    if PERSONAL.search(piece):
        return True
    for word in re.findall(r"[A-Z][a-z]+", piece):
        b = bits.get(word.lower(), 0)
        if b & (FIRST | SURNAME | PLACE) and not b & ORDINARY:
            return True
    return False


def texts(bits, seed, n):
    rng = random.Random(seed)
    pieces = []
    log = subprocess.run(["git", "log", "-200"], cwd=Path(__file__).parent, capture_output=True, text=True).stdout
    sources = [f.read_text(errors="ignore") for f in files() if f.is_file() and for_training(f) and "prose" not in str(f) and "test" not in f.name] + [re.sub(r"\nAuthor:.*", "", log)]
    for text in sources:
        lines = text.split("\n")
        at = 0
        while at < len(lines):
            size = rng.choice((1, 1, 2, 3, 6))
            piece = "\x03".join(lines[at:at + size]).strip()
            at += size
            if 8 < len(piece) < 800 and re.search("[A-Z]", piece) and not personal(piece, bits):
                pieces.append(piece.replace("\x01", "").replace("\x02", ""))
    rng.shuffle(pieces)
    yield from pieces[:n]
