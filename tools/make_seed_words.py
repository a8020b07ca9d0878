#!/usr/bin/env python3
"""make_seed_words: writes src/privacy/detect/secrets/seed_words.cpp, the word lists of BIP-39 as hashes by index.

The lists come from the package "mnemonic" (PyPI, MIT licence, Trezor); the words themselves are not stored, their FNV-1a hashes are.
    python3 -m venv v && v/bin/pip install mnemonic && v/bin/python tools/make_seed_words.py
"""
import pathlib
import unicodedata
from mnemonic import Mnemonic

LISTS = ("english", "chinese_simplified", "chinese_traditional")


def fnv1a(word: str) -> int:
    value = 0x811C9DC5
    for byte in unicodedata.normalize("NFKC", word).encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def main() -> None:
    out = ["// seed_words: written by tools/make_seed_words.py from the package mnemonic (MIT): FNV-1a hashes of BIP-39's words, by index.",
           '#include "privacy/detect/secrets/seeds.h"', "", "namespace credential {", "",
           "const std::array<std::array<uint32_t, 2048>, n_seed_lists> seed_words = {{"]
    for name in LISTS:
        hashes = [fnv1a(word) for word in Mnemonic(name).wordlist]
        assert len(set(hashes)) == 2048
        out.append(f"    {{{{  // {name}")
        for at in range(0, 2048, 13):
            out.append("        " + " ".join(f"0x{value:08x}," for value in hashes[at:at + 13]))
        out.append("    }},")
    out += ["}};", "", "}  // namespace credential", ""]
    path = pathlib.Path(__file__).parent.parent / "src/privacy/detect/secrets/seed_words.cpp"
    path.write_text("\n".join(out))


if __name__ == "__main__":
    main()
