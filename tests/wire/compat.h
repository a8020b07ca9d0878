// wire tests: a completer that can do all that models are good for, and what tests of further dialects share.
#pragma once
#include "wire/harness.h"

// Tokens are bytes, a prompt is its messages, and what is done to models is written down.
class ModelCompleter : public FakeCompleter {
 public:
  ModelInfo starter{.name = "starter", .context_tokens = 2048, .architecture = "llama", .tool_syntax = "hermes", .thinks = true, .fills_in = true, .bytes = 1000,
                    .parameters = "0.6B", .quantization = "Q4_0", .format = "gguf", .digest = "abc", .chat_template = "{{ enable_thinking }}{{ reasoning_effort }}", .modified_unix_s = 86400};
  std::vector<ModelInfo> models() const override { return {starter, {.name = "acme/other", .context_tokens = 64, .architecture = "qwen3"}}; }
  Result<std::string> render(const ChatRequest& request) override { return "PROMPT:" + request.messages_json; }
  Result<std::vector<TokenId>> tokenize(const std::string&, std::string_view text, bool special, bool add_bos) override {
    std::vector<TokenId> ids;
    if (add_bos) ids.push_back(256);
    if (special && text == "<s>") return ids.push_back(257), ids;
    for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
    return ids;
  }
  Result<std::string> detokenize(const std::string&, std::span<const TokenId> ids) override {
    std::string text;
    for (const TokenId id : ids) {
      if (id > 255) return Error{Code::invalid_request, "cannot detokenize: an id is beyond the vocabulary"};
      text += static_cast<char>(id);
    }
    return text;
  }
  Result<Embeddings> embed(const EmbedRequest& request, std::stop_token) override {
    embedded = request;
    Embeddings out;
    const size_t count = request.ids.empty() ? request.texts.size() : request.ids.size();
    for (size_t i = 0; i < count; ++i) out.vectors.push_back({0.6f, 0.8f, static_cast<float>(i)});
    out.prompt_tokens = 7;
    return out;
  }
  std::vector<ModelStats> stats() const override { return {{.model = "starter", .running = 1, .waiting = 0, .max_sequences = 3, .prefill_tokens = 11, .cached_tokens = 5, .weight_bytes = 900, .state_bytes = 50, .cache_bytes = 40}}; }
  Status load(const std::string& model, std::optional<std::chrono::seconds> stay) override { return note("load " + model + (stay ? " " + std::to_string(stay->count()) : "")); }
  Status unload(const std::string& model) override { return note("unload " + model); }
  Status pull(const std::string& model, const PullProgress& progress, std::stop_token) override {
    if (model == "missing") return Error{Code::not_found, "cannot pull: there is no such model"};
    if (progress("pulling weights", 10, 100)) progress("verifying", 0, 0);
    if (model == "broken") return Error{Code::io, "cannot pull: the connection broke"};
    return note("pull " + model);
  }
  Status remove(const std::string& model) override { return note("remove " + model); }
  Status copy(const std::string& from, const std::string& to) override { return note("copy " + from + " " + to); }

  std::vector<std::string> notes;
  EmbedRequest embedded;
  bool manages = true;  // false: one model that stays

 private:
  Status note(std::string what) {
    if (!manages) return Error{Code::unsupported, "cannot do that here"};
    notes.push_back(std::move(what));
    return ok_status();
  }
};

class CompatTest : public testing::Test {
 protected:
  int port() {
    if (!server_) server_ = std::make_unique<TestServer>(completer, options);
    return server_->port;
  }
  Reply post(const std::string& path, const std::string& body, const std::string& headers = "") { return Client(port()).post(path, body, headers); }
  Reply get(const std::string& path) { return Client(port()).get(path); }
  Reply send(const std::string& method, const std::string& path, const std::string& body) {
    Client client(port());
    client.send_raw(method + " " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.reply(method != "HEAD");
  }
  Json messages() { return Json::parse(completer.last().messages_json, nullptr, false); }
  ServerOptions options;
  ModelCompleter completer;
  std::unique_ptr<TestServer> server_;
};

// "event: NAME" of every event, in order; checks that each is its data's type.
inline std::vector<std::string> event_names(const std::string& body) {
  std::vector<std::string> names;
  for (size_t at = 0; (at = body.find("event: ", at)) != std::string::npos;) {
    const size_t end = body.find('\n', at), data = end + 7;
    names.push_back(body.substr(at + 7, end - at - 7));
    EXPECT_EQ(body.substr(end + 1, 6), "data: ");
    EXPECT_EQ(Json::parse(body.substr(data, body.find("\n\n", data) - data), nullptr, false).value("type", ""), names.back());
    at = end;
  }
  return names;
}

inline std::vector<Json> lines(const std::string& body) {
  std::vector<Json> out;
  for (size_t at = 0; at < body.size();) {
    const size_t end = body.find('\n', at);
    out.push_back(Json::parse(body.substr(at, end - at), nullptr, false));
    at = end == std::string::npos ? body.size() : end + 1;
  }
  return out;
}

// Thinks, says something, calls two tools; the arguments come in pieces.
inline Result<Finish> busy_answer(const ChatRequest&, const Sink& out, std::stop_token) {
  using Kind = Delta::Kind;
  out({.kind = Kind::progress, .text = "", .prompt_done = 4, .prompt_total = 10});
  out({.kind = Kind::reasoning, .text = "hm"});
  out({.kind = Kind::reasoning, .text = "m"});
  out({.kind = Kind::text, .text = "I look."});
  out({.kind = Kind::tool_call, .text = "", .tool_index = 0, .tool_id = "call_a", .tool_name = "look"});
  out({.kind = Kind::tool_call, .text = "{\"at\":", .tool_index = 0});
  out({.kind = Kind::tool_call, .text = "\"sky\"}", .tool_index = 0});
  out({.kind = Kind::tool_call, .text = "{}", .tool_index = 1, .tool_id = "call_b", .tool_name = "wait"});
  return finished(Finish::Reason::tool_call);
}
