// ollama_answer: lines and whole answers, with durations in nanoseconds.
#include "wire/ollama_answer.h"

#include <fmt/format.h>
#include "wire/answer_parts.h"

namespace {

int64_t nanoseconds(double seconds) { return static_cast<int64_t>(seconds * 1e9); }
void add_text(Json& out, OllamaAnswer::Kind kind, const std::string& text, const std::string& thinking, Json calls) {
  if (kind == OllamaAnswer::Kind::generate) {
    out["response"] = text;
    if (!thinking.empty()) out["thinking"] = thinking;
    return;
  }
  out["message"] = {{"role", "assistant"}, {"content", text}};
  if (!thinking.empty()) out["message"]["thinking"] = thinking;
  if (!calls.empty()) out["message"]["tool_calls"] = std::move(calls);
}

Json heading(const std::string& model) { return {{"model", model}, {"created_at", iso_time_now()}}; }

}  // namespace

OllamaAnswer::OllamaAnswer(Kind kind, std::string model, bool logprobs, Clock::time_point began, double load_s, std::function<Json(const std::string& text)> context)
    : kind_(kind), model_(std::move(model)), logprobs_(logprobs), began_(began), load_s_(load_s), context_(std::move(context)) {}

Json OllamaAnswer::line(const std::string& text, const std::string& thinking, Json calls) const {
  Json out = heading(model_);
  add_text(out, kind_, text, thinking, std::move(calls));
  out["done"] = false;
  return out;
}

// A call that the token limit cut is withheld: half of its arguments must not be executed.
void OllamaAnswer::end_call(std::vector<Json>& out) {
  if (!call_) return;
  const Call call = std::move(*call_);
  call_.reset();
  Json arguments = Json::parse(call.arguments.empty() ? "{}" : call.arguments, nullptr, false);
  if (!arguments.is_object()) return;
  Json entry = {{"id", call.id.empty() ? random_id("call_") : call.id}, {"function", {{"index", call.index}, {"name", call.name}, {"arguments", std::move(arguments)}}}};
  calls_.push_back(entry);
  out.push_back(line("", "", Json::array({std::move(entry)})));
}

void OllamaAnswer::push(const Delta& delta, std::vector<Json>& out) {
  if (delta.kind == Delta::Kind::progress) return;
  const bool calling = delta.kind == Delta::Kind::tool_call, thinking = delta.kind == Delta::Kind::reasoning;
  if (!calling || !call_ || call_->index != delta.tool_index) end_call(out);
  if (calling) {
    if (!call_) call_ = Call{delta.tool_index, delta.tool_id, delta.tool_name, {}};
    call_->arguments += delta.text;
  }
  const std::string text = calling ? "" : delta.text;
  Json logprobs = logprobs_ ? chat_logprobs(delta.logprobs)["content"] : Json::array();
  if (text.empty() && logprobs.empty()) return;
  (thinking ? thinking_ : text_) += text;
  Json next = line(thinking ? "" : text, thinking ? text : "", {});
  if (!logprobs.empty()) {
    all_logprobs_.insert(all_logprobs_.end(), logprobs.begin(), logprobs.end());
    next["logprobs"] = std::move(logprobs);
  }
  out.push_back(std::move(next));
}

void OllamaAnswer::finish(const Finish& finish, std::vector<Json>& out) {
  end_call(out);
  Json end = {{"done", true},
              {"done_reason", finish.reason == Finish::Reason::length ? "length" : "stop"},
              {"total_duration", nanoseconds(std::chrono::duration<double>(Clock::now() - began_).count())},
              {"load_duration", nanoseconds(load_s_)},
              {"prompt_eval_count", finish.prompt_tokens},
              {"prompt_eval_duration", nanoseconds(finish.prefill_s)},
              {"eval_count", finish.completion_tokens},
              {"eval_duration", nanoseconds(finish.decode_s)}};
  add_notes(end, finish);
  if (context_) end["context"] = context_(text_);
  whole_ = heading(model_);
  Json last = whole_;
  add_text(whole_, kind_, text_, thinking_, calls_);
  if (logprobs_) whole_["logprobs"] = all_logprobs_;
  add_text(last, kind_, "", "", {});
  whole_.update(end);
  last.update(end);
  out.push_back(std::move(last));
}

std::string iso_time_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now);
  std::string text = iso_time(seconds.count());
  text.pop_back();
  return fmt::format("{}.{:09}Z", text, std::chrono::duration_cast<std::chrono::nanoseconds>(now - seconds).count());
}

Json ollama_loaded(OllamaAnswer::Kind kind, const std::string& model, const char* reason) {
  Json out = heading(model);
  add_text(out, kind, "", "", {});
  out["done"] = true;
  out["done_reason"] = reason;
  return out;
}
