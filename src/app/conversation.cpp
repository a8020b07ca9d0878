// conversation: building requests and streaming answers.
#include "app/conversation.h"

#include <fmt/format.h>
#include "app/console.h"

namespace {

constexpr const char* kDim = "\033[2m";

// Writes deltas as they come, and switches the dimming on and off between thinking and answer.
class Streamer {
 public:
  explicit Streamer(const AnswerOutput& output) : output_(output) {}
  ~Streamer() { leave_thinking(); }

  bool write(const Delta& delta, WholeAnswer& answer) {
    if (delta.kind == Delta::Kind::reasoning) {
      answer.reasoning += delta.text;
      if (output_.thinking == nullptr) return true;
      enter_thinking();
      return put(output_.thinking, printable(delta.text));
    }
    answer.text += delta.text;
    if (output_.text == nullptr || delta.text.empty()) return true;
    leave_thinking();
    return put(output_.text, output_.text_is_terminal ? printable(delta.text) : delta.text);
  }

 private:
  static bool put(FILE* file, const std::string& text) { return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0; }
  void enter_thinking() {
    if (thinking_) return;
    thinking_ = true;
    if (output_.color) std::fputs(kDim, output_.thinking);
  }
  void leave_thinking() {
    if (!thinking_) return;
    thinking_ = false;
    std::fputs(output_.color ? "\033[0m\n\n" : "\n\n", output_.thinking);
    std::fflush(output_.thinking);
  }
  AnswerOutput output_;
  bool thinking_ = false;
};

}  // namespace

void Conversation::answered(const WholeAnswer& answer) {
  add("assistant", answer.text);
  if (!answer.reasoning.empty()) messages_.back()["reasoning_content"] = answer.reasoning;
}

bool Conversation::drop_answer() {
  if (messages_.empty() || messages_.back()["role"] != "assistant") return false;
  messages_.erase(messages_.size() - 1);
  return true;
}

void Conversation::drop_question() {
  if (!messages_.empty() && messages_.back()["role"] == "user") messages_.erase(messages_.size() - 1);
}

Json Conversation::all_messages() const {
  Json all = Json::array();
  if (!system_.empty()) all.push_back({{"role", "system"}, {"content", system_}});
  for (const Json& message : messages_) all.push_back(message);
  return all;
}

namespace {

Json settings_json(const Options& o) {
  Json settings = Json::object();
  const auto put = [&](const char* name, const auto& value) { if (value) settings[name] = *value; };
  put("temp", o.temperature);
  put("top_k", o.top_k);
  put("top_p", o.top_p);
  put("min_p", o.min_p);
  put("repeat_penalty", o.repetition_penalty);
  put("presence_penalty", o.presence_penalty);
  put("frequency_penalty", o.frequency_penalty);
  put("seed", o.seed);
  put("max_tokens", o.max_tokens);
  return settings;
}

Error not_saved(std::string_view what, const char* expected) { return {Code::invalid_request, "cannot load the conversation: " + std::string(what) + ": " + expected}; }

Result<Json> loaded_messages(std::string_view what, JsonView root, std::string& system) {
  const auto list = find(root, "messages");
  if (!list || !list->is_array()) return not_saved(what, "a list 'messages' expected");
  Json messages = Json::array();
  for (const JsonView message : simdjson::dom::array(*list)) {
    const auto role = find_string(message, "role"), content = find_string(message, "content");
    if (!role || !content) return not_saved(what, "role and content expected in every message");
    if (*role == "system") {
      system = *content;
      continue;
    }
    messages.push_back({{"role", *role}, {"content", *content}});
    if (const auto reasoning = find_string(message, "reasoning_content")) messages.back()["reasoning_content"] = *reasoning;
  }
  return messages;
}

}  // namespace

Json Conversation::save(const Options& settings) const {
  return {{"calla", "conversation"}, {"model", settings.model}, {"settings", settings_json(settings)}, {"messages", all_messages()}};
}

Status Conversation::load(std::string_view what, std::string_view text, Options& settings) {
  TRY(const JsonDocument document, JsonDocument::parse(what, text));
  std::string system;
  TRY(Json messages, loaded_messages(what, document.root(), system));
  Options changed = settings;
  if (const auto saved = find(document.root(), "settings"); saved && saved->is_object())
    for (const auto field : simdjson::dom::object(*saved)) TRY_STATUS(set_option(changed, kSampling, field.key, simdjson::to_string(field.value)));
  settings = std::move(changed);
  system_ = std::move(system);
  messages_ = std::move(messages);
  return ok_status();
}

ChatRequest make_request(const Options& options, const Conversation& conversation) {
  ChatRequest request;
  request.model = options.model;
  request.messages_json = text_of(conversation.all_messages());
  if (options.think) request.template_kwargs_json = Json{{"enable_thinking", *options.think}}.dump();
  fill_in_sampling(options, request);
  return request;
}

Result<WholeAnswer> stream_answer(Completer& completer, const ChatRequest& request, const AnswerOutput& output, std::stop_token stop) {
  WholeAnswer answer;
  Streamer streamer(output);
  TRY(answer.finish, completer.complete(request, [&](const Delta& delta) { return streamer.write(delta, answer); }, stop));
  return answer;
}

const char* reason_word(Finish::Reason reason) {
  switch (reason) {
    case Finish::Reason::stop: return "stop";
    case Finish::Reason::length: return "length";
    case Finish::Reason::tool_call: return "tool_calls";
    case Finish::Reason::cancelled: return "cancelled";
  }
  return "stop";
}

std::string speed_line(const Finish& f) {
  const auto rate = [](double tokens, double seconds) { return seconds > 0 ? fmt::format("{:.1f} tokens/s", tokens / seconds) : std::string("-"); };
  return fmt::format("{} prompt tokens ({} cached) in {:.2f} s: {}; {} tokens in {:.2f} s: {}; ended by {}", f.prompt_tokens, f.cached_tokens, f.prefill_s,
                     rate(f.prompt_tokens - f.cached_tokens, f.prefill_s), f.completion_tokens, f.decode_s, rate(f.completion_tokens, f.decode_s), reason_word(f.reason));
}
