#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# verify_text_oracles: the tokenizer and chat cases of reference checkpoints through the command line, for every container made from them.
"""usage: verify_text_oracles.py --calla build/release/calla --data ../shared/oracles/data"""
import argparse, glob, json, os, subprocess, sys


def containers(data, arch):
    """The folder itself, its MLX conversions and its GGUF files."""
    named = lambda path: os.path.basename(path).startswith(arch + "-")
    return [os.path.join(data, arch)] + sorted(filter(named, glob.glob(f"{data}/mlx/*"))) + sorted(filter(named, glob.glob(f"{data}/gguf/*.gguf")))


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--calla", required=True)
    ap.add_argument("--data", required=True)
    a = ap.parse_args()

    def run(*words, stdin):
        r = subprocess.run([a.calla, *words, "--json"], input=stdin.encode(), capture_output=True)
        return json.loads(r.stdout) if r.returncode == 0 else {"error": r.stderr.decode().strip()[-160:]}

    checked = failed = 0
    for path in sorted(glob.glob(f"{a.data}/*/expected.json")):
        want = json.load(open(path))
        for model in containers(a.data, os.path.basename(os.path.dirname(path))):
            notes = []
            for case in want["tokenizer"]:
                got = run("tokenize", model, stdin=case["text"])
                back = run("detokenize", model, stdin=json.dumps(case["ids"]))
                if got != {"ids": case["ids"]}: notes.append(f"tokenize {case['text'][:20]!r}: {str(got)[:120]}")
                if "decoded" in case and back != {"text": case["decoded"]}: notes.append(f"detokenize {case['text'][:20]!r}: {str(back)[:120]}")
                checked += 2
            for chat in want["chat"] if isinstance(want["chat"], list) else [want["chat"]]:
                got = run("template", model, stdin=json.dumps(chat["messages"]))
                if got.get("prompt") != chat["rendered"]: notes.append(f"template: {str(got)[:160]}")
                if "ids" in chat and got.get("ids") != chat["ids"]: notes.append("template ids")
                checked += 1
            failed += bool(notes)
            print(("FAIL " if notes else "PASS ") + os.path.relpath(model, a.data) + "".join("\n     " + n for n in notes), flush=True)
    print(f"{checked} comparisons, {failed} checkpoints with differences")
    sys.exit(1 if failed or not checked else 0)


if __name__ == "__main__":
    main()
