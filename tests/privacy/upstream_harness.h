// privacy tests: clean requests, upstreams on loopback and what they say.
#pragma once
#include "core/json_writer.h"
#include "privacy/loopback.h"
#include "privacy/upstream.h"

inline CleanRequest clean(const ChatRequest& request, int n = 1) {
  const auto vault = Vault::make(std::string(32, 'k'));
  auto walk = Walk::of(request);
  const Policy policy;
  auto masked = Masker(**vault, policy).mask(request, std::move(*walk), {}, {}, n);
  EXPECT_TRUE(masked) << masked.error().message;
  return std::move(masked->clean);
}

inline ChatRequest asking(const std::string& text) {
  ChatRequest request;
  request.messages_json = text_of(Json::array({{{"role", "user"}, {"content", text}}}));
  return request;
}

inline UpstreamOptions options_for(const Loopback& server) {
  UpstreamOptions options;
  options.name = "cloud";
  options.base_url = server.url();
  options.models = {"big-1"};
  options.timeout_s = 5;
  return options;
}

inline std::unique_ptr<Upstream> upstream_of(UpstreamOptions options) {
  auto made = Upstream::make(std::move(options));
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

// What came, choice by choice.
struct Heard {
  Heard() = default;
  Heard(const Heard&) = delete;        // its sink knows where it lies
  struct Call { std::string id, name, arguments; };
  struct Choice { std::string text, reasoning; std::vector<Call> calls; int ends = 0; Finish finish; };
  std::vector<Choice> choices = std::vector<Choice>(4);
  int deltas = 0;
  void forget() { choices.assign(4, {}), deltas = 0; }
  std::function<bool()> after = [] { return true; };
  ChoiceSink sink{[this](size_t choice, const Delta& delta) { return take(choices.at(choice), delta); },
                  [this](size_t choice, const Finish& finish) { return choices.at(choice).ends += 1, choices.at(choice).finish = finish, true; }};

 private:
  bool take(Choice& choice, const Delta& delta) {
    ++deltas;
    if (delta.kind == Delta::Kind::text) choice.text += delta.text;
    if (delta.kind == Delta::Kind::reasoning) choice.reasoning += delta.text;
    if (delta.kind == Delta::Kind::tool_call) {
      if (choice.calls.size() <= static_cast<size_t>(delta.tool_index)) choice.calls.resize(static_cast<size_t>(delta.tool_index) + 1);
      Call& call = choice.calls[static_cast<size_t>(delta.tool_index)];
      if (!delta.tool_name.empty()) call.id = delta.tool_id, call.name = delta.tool_name;
      call.arguments += delta.text;
    }
    return after();
  }
};

inline UpstreamAnswer ask(Upstream& upstream, const ChatRequest& request, Heard& heard, int n = 1, std::stop_token stop = {}) {
  return upstream.send(clean(request, n), "big-1", heard.sink, std::move(stop));
}

inline std::string event(const Json& json) { return "data: " + text_of(json) + "\n\n"; }
inline std::string chunk(const Json& delta, size_t index = 0, const Json& finish = nullptr) {
  return event({{"id", "x"}, {"object", "chat.completion.chunk"}, {"choices", Json::array({{{"index", index}, {"delta", delta}, {"finish_reason", finish}}})}});
}
inline std::string said(const std::string& text, size_t index = 0) { return chunk({{"content", text}}, index); }
inline std::string ended(size_t index = 0, const std::string& reason = "stop") { return chunk(Json::object(), index, reason); }
inline const std::string done = "data: [DONE]\n\n";
inline Json whole_answer(const std::string& text) {
  return {{"id", "x"}, {"object", "chat.completion"}, {"choices", Json::array({{{"index", 0}, {"message", {{"role", "assistant"}, {"content", text}}}, {"finish_reason", "stop"}}})},
          {"usage", {{"prompt_tokens", 5}, {"completion_tokens", 2}}}};
}
