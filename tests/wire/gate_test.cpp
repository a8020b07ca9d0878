// wire tests: a privacy gate behind every dialect: what it is told, what clients are told of it, and exactly one decision for each request.
#include <algorithm>
#include "wire/harness.h"

namespace {

// A completer that reports as a gate does, and counts what it is asked and told.
class FakeGate : public FakeCompleter {
 public:
  FakeGate() {
    script = [this](const ChatRequest& request, const Sink& out, std::stop_token) -> Result<Finish> {
      if (request.gate.routed) request.gate.routed(report);
      if (!report.code.empty()) return Error{Code::denied, "cannot answer: the policy says so"};
      out({.kind = Delta::Kind::text, .text = "Hello"});
      return finished();
    };
  }
  std::vector<ModelInfo> models() const override { return {{"local/small", 2048, "llama"}, {"cloud/big-1", 8192, ""}, {"auto", 8192, ""}}; }
  std::optional<RouteReport> turned_away(const TurnedAway& request) override {
    const std::lock_guard lock(mutex_);
    away_.push_back(request);
    return RouteReport{.route = "refused", .model = "", .policy = "p@0", .audit_id = "away-" + std::to_string(away_.size())};
  }
  Result<Embeddings> embed(const EmbedRequest& request, std::stop_token) override {
    ++calls;
    if (request.gate.routed) request.gate.routed(report);
    return Embeddings{std::vector<std::vector<float>>(request.texts.size() + request.ids.size(), {1, 0}), 3};
  }
  std::string metrics() const override { return "calla_privacy_requests_total{route=\"local\"} 7\n"; }
  std::vector<TurnedAway> away() {
    const std::lock_guard lock(mutex_);
    return away_;
  }
  RouteReport report = {.route = "cloud-masked", .model = "cloud/big-1", .policy = "house@0123456789ab", .audit_id = "a-1",
                        .classes = {{"card", 1}, {"person", 2}}, .dropped_fields = {"logprobs"}};

 private:
  std::mutex mutex_;
  std::vector<TurnedAway> away_;
};

struct Path { std::string path, body, streamed; };  // `streamed`: the member that asks for a stream or for none, the other way round

std::string with(const std::string& body, const std::string& more) { return "{" + more + "," + body.substr(1); }

const std::vector<Path>& dialects() {
  static const std::vector<Path> all = {
      {"/v1/chat/completions", R"({"messages":[{"role":"user","content":"hi"}]})", "true"},
      {"/v1/completions", R"({"prompt":"hi"})", "true"},
      {"/v1/responses", R"({"input":"hi"})", "true"},
      {"/v1/messages", R"({"max_tokens":5,"messages":[{"role":"user","content":"hi"}]})", "true"},
      {"/api/chat", R"({"stream":false,"messages":[{"role":"user","content":"hi"}]})", ""},
      {"/api/generate", R"({"stream":false,"prompt":"hi"})", ""},
      {"/completion", R"({"prompt":"hi"})", "true"},
      {"/infill", R"({"input_prefix":"hi"})", "true"},
  };
  return all;
}

class GatedWire : public testing::Test {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.gated = true;
    options.max_body_bytes = 4096;
    options.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
    server_ = std::make_unique<TestServer>(gate, std::move(options));
  }
  void TearDown() override { server_.reset(); }  // before what its log writes to
  Reply post(const std::string& path, const std::string& body, const std::string& headers = "") { return Client(server_->port).post(path, body, headers); }
  std::vector<std::string> log_lines() {
    server_->stop();
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  void expect_headers(const Reply& reply) {
    EXPECT_EQ(reply.header("X-Calla-Route"), gate.report.route);
    EXPECT_EQ(reply.header("X-Calla-Model"), gate.report.model);
    EXPECT_EQ(reply.header("X-Calla-Policy"), gate.report.policy);
    EXPECT_EQ(reply.header("X-Calla-Masked"), "card=1, person=2");
    EXPECT_EQ(reply.header("X-Calla-Audit-Id"), gate.report.audit_id);
    EXPECT_EQ(reply.header("X-Ignored-Fields"), "logprobs");
  }
  FakeGate gate;
  std::unique_ptr<TestServer> server_;

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

// The members that name what answered, in whole answers and in every piece of streams.
void expect_model(const std::string& body, const std::string& model) {
  size_t found = 0;
  for (size_t at = 0; (at = body.find("\"model\":\"", at)) != std::string::npos; ++found) {
    at += 9;
    EXPECT_EQ(body.substr(at, body.find('"', at) - at), model) << body;
  }
  EXPECT_GT(found, 0u) << body;
}

TEST_F(GatedWire, HeadersAndModelInEveryDialectWholeAndStreamed) {
  for (const Path& dialect : dialects()) {
    for (const bool streamed : {false, true}) {
      SCOPED_TRACE(dialect.path + (streamed ? " streamed" : ""));
      if (dialect.path == "/infill") continue;  // no model here fills in
      std::string body = dialect.body;
      if (streamed && !dialect.streamed.empty()) body = with(body, "\"stream\":true");
      if (streamed && dialect.streamed.empty()) body.replace(body.find("false"), 5, "true");
      const Reply reply = post(dialect.path, with(body, "\"model\":\"auto\""));
      EXPECT_EQ(reply.status, 200) << reply.body;
      expect_headers(reply);
      expect_model(reply.body, "cloud/big-1");
      EXPECT_EQ(gate.last().model, "auto");
    }
  }
  EXPECT_TRUE(gate.away().empty());
}

TEST_F(GatedWire, NotesOfEveryDialect) {
  for (const Path& dialect : dialects()) {
    if (dialect.path == "/infill") continue;
    SCOPED_TRACE(dialect.path);
    const std::string body = with(dialect.body, "\"model\":\"auto\",\"unheard_of\":1,\"user\":\"u\",\"store\":true,\"metadata\":{},\"safety_identifier\":\"s\",\"prompt_cache_key\":\"k\"");
    EXPECT_EQ(post(dialect.path, body, "X-Calla-Conversation: c1\r\nX-Calla-Privacy: mask\r\nX-Consent: abc; decision=local\r\n").status, 200);
    const GateNotes notes = gate.last().gate;
    EXPECT_EQ(notes.endpoint, dialect.path);
    EXPECT_EQ(notes.conversation, "c1");
    EXPECT_EQ(notes.stricter, "mask");
    EXPECT_EQ(notes.consent, "abc; decision=local");
    EXPECT_EQ(notes.body_bytes, body.size());
    EXPECT_EQ(notes.body_sha256.size(), 64u);
    EXPECT_EQ(notes.unknown_fields, std::vector<std::string>{"unheard_of"});
  }
}

TEST_F(GatedWire, APrivacyHeaderSaidTwiceOrEmptyIsNeverTheLaxerOne) {
  const auto stricter = [&](const std::string& headers) { return post("/v1/chat/completions", with(dialects()[0].body, "\"model\":\"auto\""), headers), gate.last().gate.stricter; };
  EXPECT_EQ(stricter("X-Calla-Privacy: mask\r\nX-Calla-Privacy: refuse\r\n"), "mask, refuse");
  EXPECT_EQ(stricter("X-Calla-Privacy:\r\n"), "\"\"");
  EXPECT_EQ(stricter(""), "");
}

TEST_F(GatedWire, TheCanonicalHashIgnoresOrderAndSpacesAlone) {
  const auto hash = [&](const std::string& body) {
    EXPECT_EQ(post(chat_path, body).status, 200);
    return gate.last().gate.body_sha256;
  };
  const std::string one = hash(R"({"seed":1,"messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(one, hash("{ \"messages\": [{\"content\":\"h\\u0069\", \"role\":\"user\"}],\n\"seed\":1}"));
  EXPECT_NE(one, hash(R"({"seed":2,"messages":[{"role":"user","content":"hi"}]})"));
  EXPECT_NE(one, hash(R"({"seed":1,"messages":[{"role":"user","content":"hi "}]})"));
}

TEST_F(GatedWire, UnknownThingsDeepInside) {
  const struct { std::string body, path; } rows[] = {
      {R"([{"role":"user","content":"x","mood":"glad"}])", "messages[0].mood"},
      {R"([{"role":"wizard","content":"x"}])", "messages[0].role"},
      {R"([{"role":"user","content":null}])", "messages[0].content"},
      {R"([{"role":"user","content":[{"type":"text","text":null}]}])", "messages[0].content[0].text"},
      {R"([{"role":"user","content":[{"type":"hologram","data":"x"}]}])", "messages[0].content[0].type"},
      {R"([{"role":"user","content":[{"type":"text","text":"x","shade":1}]}])", "messages[0].content[0].shade"},
      {R"([{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}","when":1}}]}])", "messages[1].tool_calls[0].function.when"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.body);
    const Reply reply = post(chat_path, R"({"messages":)" + row.body + "}");
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(gate.last().gate.unknown_fields, std::vector<std::string>{row.path});
  }
  EXPECT_EQ(post(chat_path, R"({"messages":[{"role":"user","content":"x"}],"stream_options":{"extra":1},"tools":[{"type":"function","function":{"name":"f","zone":2}}]})").status, 200);
  EXPECT_EQ(gate.last().gate.unknown_fields, (std::vector<std::string>{"stream_options.extra", "tools[0].function.zone"}));
  EXPECT_EQ(post("/v1/messages", R"({"max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"x","tone":1}]}]})").status, 200);
  EXPECT_EQ(gate.last().gate.unknown_fields, std::vector<std::string>{"messages[0].content[0].tone"});
  EXPECT_EQ(post("/v1/responses", R"({"input":[{"type":"web_thing","q":"x"},{"role":"user","content":"x"}]})").status, 200);
  EXPECT_EQ(gate.last().gate.unknown_fields, std::vector<std::string>{"input[0].type"});
}

TEST_F(GatedWire, MediaReachTheGateAsParts) {
  const struct { std::string path, body; } rows[] = {
      {chat_path, R"({"messages":[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]})"},
      {"/v1/responses", R"({"input":[{"role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}]})"},
      {"/v1/messages", R"({"max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]})"},
      {"/api/chat", R"({"stream":false,"messages":[{"role":"user","content":"see","images":["AAAA"]}]})"},
      {"/api/generate", R"({"stream":false,"prompt":"see","images":["AAAA"]})"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.path);
    const Reply reply = post(row.path, row.body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    const Json content = Json::parse(gate.last().messages_json, nullptr, false)[0]["content"];
    ASSERT_EQ(content.size(), 2u) << content;
    EXPECT_EQ(content[0], (Json{{"type", "text"}, {"text", "see"}}));
    EXPECT_NE(text_of(content[1]).find("AAAA"), std::string::npos);
    EXPECT_TRUE(gate.last().gate.unknown_fields.empty());
  }
}

struct Failure { const char* code; int status; const char* type; };
constexpr Failure failures[] = {{"privacy_refused", 403, "policy_violation"},      {"consent_required", 428, "consent_required"},         {"consent_invalid", 400, "invalid_request_error"},
                                {"unsupported_for_cloud", 400, "invalid_request_error"}, {"invalid_privacy_header", 400, "invalid_request_error"}, {"upstream_failed", 502, "upstream_error"},
                                {"upstream_timeout", 504, "upstream_error"}};

TEST_F(GatedWire, TheTableOfErrorsInEveryDialect) {
  for (const Failure& failure : failures) {
    gate.report.code = failure.code;
    gate.report.param = "messages[0].content";
    gate.report.upstream_status = failure.status >= 500 ? 503 : 0;
    gate.report.privacy_json = R"({"classes":{"secret":1},"audit_id":"a-1"})";
    for (const Path& dialect : dialects()) {
      if (dialect.path == "/infill") continue;
      for (const bool streamed : {false, true}) {
        SCOPED_TRACE(dialect.path + " " + failure.code + (streamed ? " streamed" : ""));
        const Reply reply = post(dialect.path, streamed && !dialect.streamed.empty() ? with(dialect.body, "\"stream\":true") : dialect.body);
        EXPECT_EQ(reply.status, failure.status);
        expect_headers(reply);
        const Json body = reply.json();
        const bool ollama = dialect.path.starts_with("/api/"), anthropic = dialect.path == "/v1/messages";
        const Json& error = ollama ? body : body["error"];
        if (!ollama && !anthropic) {
          EXPECT_EQ(error["type"], failure.type);
        }
        EXPECT_EQ(error["code"], failure.code);
        EXPECT_EQ(error["param"], "messages[0].content");
        EXPECT_EQ(error["privacy"]["classes"]["secret"], 1);
        EXPECT_EQ(error.contains("upstream_status"), failure.status >= 500);
        EXPECT_EQ(reply.header("x-should-retry"), failure.status == 428 ? "false" : "");
        EXPECT_EQ(reply.header("Retry-After"), "");
      }
    }
  }
  EXPECT_TRUE(gate.away().empty());
}

TEST_F(GatedWire, AFailureInsideAStreamSaysWhatItWas) {
  gate.script = [this](const ChatRequest& request, const Sink& out, std::stop_token) -> Result<Finish> {
    RouteReport failed = gate.report;
    failed.code = "upstream_failed";
    request.gate.routed(failed);
    out({.kind = Delta::Kind::text, .text = "Hel"});
    return Error{Code::io, "cannot answer: the upstream broke off"};
  };
  const Reply reply = post(chat_path, chat_body("\"stream\":true"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(events(reply.body).back()["error"]["code"], "upstream_failed");
}

TEST_F(GatedWire, BadJsonIsInvalidJsonOnEveryRoute) {
  const std::string key = R"("options":{"a":{"b":1,"b":2}})", surrogate = R"("x":"\ud800")", low = R"("x":"\udc00z")", bytes = "\"x\":\"\xff\"";
  for (const Path& dialect : dialects()) {
    for (const std::string& bad : {key, surrogate, low, bytes, std::string(R"("model":"a","model":"b")")}) {
      SCOPED_TRACE(dialect.path + " " + bad);
      const Reply reply = post(dialect.path, with(dialect.body, bad));
      EXPECT_EQ(reply.status, 400);
      const Json body = reply.json();
      EXPECT_EQ(dialect.path.starts_with("/api/") ? body["code"] : body["error"]["code"], "invalid_json") << reply.body;
      EXPECT_FALSE(reply.header("X-Calla-Audit-Id").empty());
    }
  }
  EXPECT_EQ(gate.calls, 0);
  EXPECT_EQ(gate.away().size(), 5 * dialects().size());
}

TEST_F(GatedWire, WhatIsTurnedAwayIsToldExactlyOnce) {
  EXPECT_EQ(post(chat_path, "{").status, 400);
  EXPECT_EQ(post(chat_path, chat_body("\"model\":\"nobody-4000\"")).status, 404);
  EXPECT_EQ(post(chat_path, chat_body("\"model\":\"small\",\"n\":0")).status, 400);
  EXPECT_EQ(post(chat_path, std::string(5000, 'x')).status, 413);
  EXPECT_EQ(post(text_path, R"({"prompt":[]})").status, 400);
  EXPECT_EQ(post("/v1/embeddings", "{}").status, 400);
  EXPECT_EQ(post("/api/embed", "[").status, 400);
  const auto away = gate.away();
  std::string codes;
  for (const TurnedAway& one : away) codes += one.endpoint + " " + one.code + "; ";
  ASSERT_EQ(away.size(), 7u) << codes;
  EXPECT_EQ(away[0].code, "invalid_json");
  EXPECT_EQ(away[0].endpoint, chat_path);
  EXPECT_EQ(away[0].body_bytes, 1u);
  EXPECT_EQ(away[1].requested, "unknown");
  EXPECT_EQ(away[1].code, "model_not_found");
  EXPECT_EQ(away[3].status, 413);
  EXPECT_EQ(post(chat_path, chat_body()).status, 200);
  EXPECT_EQ(post("/v1/embeddings", R"({"input":["a"]})").status, 200);
  EXPECT_EQ(post("/tokenize", "{").status, 400);                   // nothing is inferred here
  EXPECT_EQ(Client(server_->port).get("/v1/chat/completions").status, 405);
  EXPECT_EQ(gate.away().size(), 7u);
  EXPECT_EQ(gate.calls, 2);
}

TEST_F(GatedWire, EmbeddingsCarryTheRoute) {
  for (const auto& [path, body] : {std::pair<std::string, std::string>{"/v1/embeddings", R"({"input":["a"],"model":"auto"})"}, {"/api/embed", R"({"input":["a"],"model":"auto"})"}, {"/embedding", R"({"content":"a"})"}}) {
    SCOPED_TRACE(path);
    const Reply reply = post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    expect_headers(reply);
  }
}

TEST_F(GatedWire, TwoChoicesInterleavedAreOneRequest) {
  class Pair : public FakeGate {
   public:
    Result<std::vector<Finish>> complete_all(std::span<const ChatRequest> requests, const ChoiceSink& out, std::stop_token) override {
      ++all_calls;
      requests.front().gate.routed(report);
      for (const char* piece : {"a", "b", "c"}) {
        for (size_t choice = 0; choice < requests.size(); ++choice) out.delta(choice, {.kind = Delta::Kind::text, .text = piece + std::to_string(choice)});
      }
      for (size_t choice = requests.size(); choice-- > 0;) out.end(choice, finished());
      return std::vector<Finish>(requests.size(), finished());
    }
    std::atomic<int> all_calls = 0;
  } pair;
  ServerOptions options;
  options.gated = true;
  TestServer server(pair, options);
  const Reply whole = Client(server.port).post(chat_path, chat_body("\"n\":2"));
  EXPECT_EQ(whole.json()["choices"][0]["message"]["content"], "a0b0c0");
  EXPECT_EQ(whole.json()["choices"][1]["message"]["content"], "a1b1c1");
  const Reply streamed = Client(server.port).post(chat_path, chat_body("\"n\":2,\"stream\":true"));
  std::string texts[2];
  for (const Json& event : events(streamed.body)) {
    if (!event.is_object() || event["choices"].empty()) continue;
    const Json& choice = event["choices"][0];
    texts[choice["index"].get<size_t>()] += choice["delta"].value("content", "");
  }
  EXPECT_EQ(texts[0], "a0b0c0");
  EXPECT_EQ(texts[1], "a1b1c1");
  const Reply prompts = Client(server.port).post("/completion", R"({"prompt":["x","y"]})");  // in the order of the prompts
  EXPECT_EQ(prompts.json()[0]["content"], "a0b0c0");
  EXPECT_EQ(prompts.json()[1]["content"], "a1b1c1");
  EXPECT_EQ(pair.all_calls, 3);
  EXPECT_EQ(pair.calls, 0);
}

TEST_F(GatedWire, TheFirstByteWaitsForTheRoute) {
  ServerOptions options;
  options.gated = true;
  options.ping_interval_s = 1;
  gate.script = [this](const ChatRequest& request, const Sink& out, std::stop_token) -> Result<Finish> {
    std::this_thread::sleep_for(1300ms);
    request.gate.routed(gate.report);
    std::this_thread::sleep_for(1500ms);
    out({.kind = Delta::Kind::text, .text = "late"});
    return finished();
  };
  TestServer server(gate, options);
  const Reply reply = Client(server.port).post(chat_path, chat_body("\"stream\":true"));
  expect_headers(reply);
  EXPECT_NE(reply.body.find(": still working"), std::string::npos);
}

TEST_F(GatedWire, TheLogHasRouteAndAuditIdAndNothingAsAClientSpelledIt) {
  const std::string planted = "planted-" + std::to_string(4000) + "-value";
  EXPECT_EQ(post(chat_path, chat_body("\"model\":\"" + planted + "\""), "X-Request-Id: " + planted + "\r\n").status, 404);
  EXPECT_EQ(post(chat_path, chat_body("\"model\":\"auto\",\"" + planted + "\":1")).status, 200);
  EXPECT_EQ(Client(server_->port).get("/" + planted + "?q=" + planted).status, 404);
  EXPECT_EQ(Client(server_->port).get("/v1/models/" + planted).status, 404);
  auto lines = log_lines();
  ASSERT_EQ(lines.size(), 4u);
  std::sort(lines.begin(), lines.end(), [](const std::string& a, const std::string& b) { return a.find("\"status\":200") < b.find("\"status\":200"); });  // the answered one first
  for (const std::string& line : lines) EXPECT_EQ(line.find(planted), std::string::npos) << line;
  const Json answered = Json::parse(lines[0], nullptr, false);
  EXPECT_EQ(answered["route"], "cloud-masked");
  EXPECT_EQ(answered["audit_id"], "a-1");
  EXPECT_EQ(answered["model"], "auto");
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [](const std::string& line) { return line.find("\"audit_id\":\"away-1\"") != std::string::npos; }), 1);
}

TEST_F(GatedWire, NamesMetricsAndCors) {
  EXPECT_EQ(post(chat_path, chat_body("\"model\":\"small\"")).status, 200);
  EXPECT_EQ(gate.last().model, "local/small");
  EXPECT_EQ(post(chat_path, chat_body("\"model\":\"local/small:latest\"")).status, 200);
  EXPECT_EQ(gate.last().model, "local/small");
  EXPECT_EQ(post(chat_path, chat_body()).status, 200);
  EXPECT_EQ(gate.last().model, "local/small");
  EXPECT_NE(Client(server_->port).get("/metrics").body.find("calla_privacy_requests_total{route=\"local\"} 7\n"), std::string::npos);
  const Reply reply = post(chat_path, chat_body(), "Origin: http://localhost:3000\r\n");
  EXPECT_NE(reply.header("Access-Control-Expose-Headers").find("X-Calla-Audit-Id"), std::string::npos);
}

TEST(ReadChatRequest, SaysWhatIsUnknown) {
  const std::string body = R"({"model":"auto","what":1,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]})";
  const auto request = read_chat_request(body);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->model, "auto");
  EXPECT_EQ(request->gate.unknown_fields, std::vector<std::string>{"what"});
  EXPECT_EQ(request->gate.body_bytes, body.size());
  EXPECT_NE(request->messages_json.find("image_url"), std::string::npos);
  EXPECT_FALSE(read_chat_request("{"));
}

// Without a gate a part that is not text is refused at once, as ever, and no completer is told of what is turned away.
TEST(WireWithoutAGate, RefusesWhatCannotBeRead) {
  FakeCompleter plain;
  TestServer server(plain);
  const Reply reply = Client(server.port).post(chat_path, R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.json()["error"]["param"], "messages[0].content[0].type");
  EXPECT_EQ(reply.json()["error"]["code"], "unsupported");
  EXPECT_EQ(reply.header("X-Calla-Audit-Id"), "");
  EXPECT_EQ(plain.calls, 0);
}

TEST(WireWithoutAGate, AnEnginesRefusalNamesThePlace) {
  FakeCompleter plain;
  plain.script = [](const ChatRequest&, const Sink&, std::stop_token) -> Result<Finish> { return Error{Code::unsupported, "messages[2].content[1].type: only text parts can be read"}; };
  TestServer server(plain);
  const Json error = Client(server.port).post(chat_path, chat_body()).json()["error"];
  EXPECT_EQ(error["param"], "messages[2].content[1].type");
  EXPECT_EQ(error["code"], "unsupported");
}

}  // namespace
