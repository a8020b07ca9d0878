#!/usr/bin/env python3
"""run: starts the server with the starter model and drives it with the clients people use, unmodified.

  tests/clients/run.py [--keep] [NAME ...]     NAME: a script of this folder without its ending

Installs the clients, pinned, into build/clients (PyPI and npm are needed the first time). CALLA names the program.
"""
import os
import re
import subprocess
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PLACE = os.path.join(ROOT, "build", "clients")
CALLA = os.path.abspath(os.environ.get("CALLA", os.path.join(ROOT, "build", "release", "calla")))
SCRIPTS = ["openai_client.py", "anthropic_client.py", "ollama_client.py", "other_clients.py", "openai_client.mjs", "agent.py"]


def say(text):
    print(text, flush=True)


def current(stamp, source):
    """Whether STAMP was written for these very contents of SOURCE."""
    return os.path.exists(stamp) and open(stamp).read() == open(source).read()


def python_of(name, requirements):
    folder = os.path.join(PLACE, name)
    stamp, source = os.path.join(folder, "installed.txt"), os.path.join(HERE, requirements)
    if not current(stamp, source):
        say(f"installing {requirements}")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([os.path.join(folder, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "-r", source], check=True, stderr=subprocess.DEVNULL)
        open(stamp, "w").write(open(source).read())
    return os.path.join(folder, "bin")


def node_modules():
    folder = os.path.join(PLACE, "node")
    stamp, source = os.path.join(folder, "installed.json"), os.path.join(HERE, "package.json")
    if not current(stamp, source):
        say("installing package.json")
        os.makedirs(folder, exist_ok=True)
        open(os.path.join(folder, "package.json"), "w").write(open(source).read())
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=folder, check=True)
        open(stamp, "w").write(open(source).read())
    return folder


def start_server():
    command = [CALLA, "serve", "starter", "--port", "0", "-c", "8192", "-np", "4"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    found = re.search(r"http://[\d.]+:\d+", server.stdout.readline())
    if not found:
        sys.exit(f"the server did not start: it ended with {server.wait()}")
    return server, found.group(0)


def wait_until_ready(url):
    for _ in range(600):
        try:
            if urllib.request.urlopen(url + "/health", timeout=5).status == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    sys.exit("the server did not get ready within a minute")


def main():
    wanted = [name for name in sys.argv[1:] if not name.startswith("-")]
    scripts = [name for name in SCRIPTS if not wanted or name.rsplit(".", 1)[0] in wanted or name in wanted]
    python = python_of("python", "requirements.txt")
    server, url = start_server()
    wait_until_ready(url)
    passed = failed = 0
    try:
        for script in scripts:
            environment = {**os.environ, "CALLA_URL": url, "CALLA_MODEL": "starter", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONPATH": HERE}
            path = os.path.join(HERE, script)
            if script.endswith(".mjs"):
                folder = node_modules()  # a script finds its modules beside itself
                copy = os.path.join(folder, script)
                open(copy, "w").write(open(path).read())
                command = ["node", copy]
            else:
                if script == "agent.py":
                    environment["AIDER"] = os.path.join(python_of("aider", "requirements-aider.txt"), "aider")
                command = [os.path.join(python, "python"), path]
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            lines = done.stdout.splitlines()
            passed += sum(line.startswith("ok ") for line in lines)
            n_failed = sum(line.startswith("FAIL ") for line in lines)
            if done.returncode != 0 and n_failed == 0:
                n_failed = 1
                say(f"FAIL {script} ended with {done.returncode}:\n" + "\n".join(lines[-15:]))
            failed += n_failed
            for line in lines:
                if line.startswith(("ok ", "FAIL ")):
                    say(line)
        if server.poll() is not None:
            failed += 1
            say(f"FAIL the server ended with {server.returncode}")
    finally:
        server.terminate()
        server.wait(timeout=60)
    say(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
