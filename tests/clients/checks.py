"""checks: one case after another, each reported; the script fails when one did."""
import os
import sys
import traceback

URL = os.environ.get("CALLA_URL", "http://127.0.0.1:8080")
MODEL = os.environ.get("CALLA_MODEL", "starter")
failed = []


def case(name):
    """Runs the decorated function at once as the case NAME."""
    def run(function):
        try:
            function()
            print(f"ok   {name}", flush=True)
        except Exception as error:  # whatever a client raises is this case's failure
            failed.append(name)
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(f"FAIL {name}: {type(error).__name__}: {str(error)[:400]} ({os.path.basename(where.filename)}:{where.lineno})", flush=True)
        return function
    return run


def equal(seen, expected):
    assert seen == expected, f"{seen!r} seen, {expected!r} expected"


def finish():
    sys.exit(1 if failed else 0)


WEATHER = {"type": "object", "properties": {"city": {"type": "string", "enum": ["Paris", "Oslo"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
           "required": ["city", "days"], "additionalProperties": False}
