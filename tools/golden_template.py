#!/usr/bin/env python3
"""golden_template: fills in the expected outputs of tests/template/*.txt with jinja2, set up exactly as transformers sets it up.

usage: golden_template.py FILE...        rewrites the files in place
A case is `=== name`, then sections `--- template`, `--- input` (a JSON object of variables, may be left out), and
`--- expected` or `--- error`; the newline before a marker belongs to the marker. An error is `raise: MESSAGE` when the template
itself raised it, `refuse` otherwise. A case whose name starts with `own:` is kept: there we differ on purpose.
"""
import json
import sys
from datetime import datetime

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_run"), [], [], body).set_lineno(line)

    def _run(self, caller):
        return caller()


class Raised(Exception):
    pass


def raise_exception(message):
    raise Raised(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda format: datetime.now().strftime(format)
    return env


def variables(text):
    """What Calla passes: the input, and its own constant variables; tool-call arguments given as text are parsed."""
    given = {"messages": [], "tools": None, "documents": None, "add_generation_prompt": True, "bos_token": "", "eos_token": ""}
    given.update(json.loads(text) if text.strip() else {})
    for message in given["messages"]:
        for call in (message.get("tool_calls") or []) if isinstance(message, dict) else []:
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and isinstance(function.get("arguments"), str):
                try:
                    parsed = json.loads(function["arguments"])
                except ValueError:
                    continue
                if isinstance(parsed, dict):
                    function["arguments"] = parsed
    return given


def render(template, text):
    try:
        return "expected", environment().from_string(template).render(**variables(text))
    except Raised as e:
        return "error", "raise: " + str(e)
    except Exception:  # every other kind of failure counts the same
        return "error", "refuse"


def read(path):
    cases = []
    text = open(path, encoding="utf-8", newline="").read()
    for block in ("\n" + text).split("\n=== ")[1:]:
        name, _, rest = block.partition("\n")
        sections = {}
        for part in ("\n" + rest).split("\n--- ")[1:]:
            key, _, body = part.partition("\n")
            sections[key] = body
        cases.append((name, sections))
    return text.partition("=== ")[0], cases


def write(path, head, cases):
    out = head
    for name, sections in cases:
        out += f"=== {name}\n" + "".join(f"--- {key}\n{body}\n" for key, body in sections.items())
    open(path, "w", encoding="utf-8", newline="").write(out)


def main():
    for path in sys.argv[1:]:
        head, cases = read(path)
        for name, sections in cases:
            for key in sections:
                sections[key] = sections[key][:-1] if sections is cases[-1][1] and key == list(sections)[-1] and sections[key].endswith("\n") else sections[key]
            if name.startswith("own:"):
                continue
            kind, text = render(sections["template"], sections.get("input", ""))
            sections.pop("expected", None)
            sections.pop("error", None)
            sections[kind] = text
        write(path, head, cases)


if __name__ == "__main__":
    main()
