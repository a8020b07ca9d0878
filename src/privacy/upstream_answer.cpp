// upstream_answer: the checks on what an upstream says, and telling a stream from a document.
#include "privacy/upstream_answer.h"

#include <algorithm>
#include "privacy/digest.h"

namespace {

constexpr size_t most_calls = 256;                       // of one choice
constexpr size_t most_name_bytes = 256;                  // of a call's name or id
constexpr size_t most_argument_bytes = size_t{8} << 20;  // of one call

}  // namespace

bool AnswerBuilder::fault(const char* what) {
  if (!fault_) fault_ = what;
  return false;
}

bool AnswerBuilder::known(size_t choice) { return choice < choices_.size() || fault("it answers with more choices than were asked for"); }

bool AnswerBuilder::give(size_t choice, const Delta& delta) {
  began_ = true;
  if (!sink_.delta(choice, delta)) left_ = true;
  return !left_;
}

bool AnswerBuilder::text(size_t choice, Delta::Kind kind, std::string_view text, std::vector<TokenLogprob> logprobs) {
  if (!known(choice)) return false;
  Choice& state = choices_[choice];
  if (state.ended || (text.empty() && logprobs.empty())) return true;
  Delta delta;
  delta.kind = kind;
  delta.text = (kind == Delta::Kind::reasoning ? state.reasoning : state.text).add(text);
  if (delta.text.empty() && logprobs.empty()) return true;
  delta.logprobs = std::move(logprobs);
  return give(choice, delta);
}

bool AnswerBuilder::tool_call(size_t choice, size_t index, std::string_view id, std::string_view name, std::string_view arguments) {
  if (!known(choice)) return false;
  Choice& state = choices_[choice];
  if (state.ended) return true;
  if (index >= most_calls) return fault("it makes more tool calls than an answer can hold");
  if (std::max(id.size(), name.size()) > most_name_bytes) return fault("the name of a tool call is too long");
  const auto [call, is_new] = state.calls.try_emplace(index);
  if (is_new && name.empty()) return fault("a tool call has no name");
  call->second.argument_bytes += arguments.size();
  if (call->second.argument_bytes > most_argument_bytes) return fault("the arguments of a tool call are too long");
  Delta delta;
  delta.kind = Delta::Kind::tool_call;
  delta.text = call->second.halves.add(arguments);
  if (!is_new && delta.text.empty()) return true;
  delta.tool_index = static_cast<int>(index);
  if (is_new) delta.tool_id = id.empty() ? "call_" + random_hex(12) : std::string(id), delta.tool_name = name;
  return give(choice, delta);
}

bool AnswerBuilder::end(size_t choice, Finish::Reason reason) {
  if (!known(choice)) return false;
  Choice& state = choices_[choice];
  if (state.ended) return true;
  for (const auto& [index, call] : state.calls) {
    if (call.argument_bytes == 0 && !tool_call(choice, index, "", "", "{}")) return false;  // no arguments are an empty object
  }
  if (!give_rest(choice)) return false;
  state.ended = began_ = true;
  const bool calls = reason == Finish::Reason::stop && !state.calls.empty();  // some servers say "stop" after a call
  state.finish.reason = calls ? Finish::Reason::tool_call : reason;
  return true;
}

bool AnswerBuilder::give_rest(size_t choice) {
  for (const auto& [kind, joiner] : {std::pair(Delta::Kind::reasoning, &choices_[choice].reasoning), std::pair(Delta::Kind::text, &choices_[choice].text)}) {
    Delta delta;
    delta.kind = kind;
    delta.text = joiner->finish();
    if (!delta.text.empty() && !give(choice, delta)) return false;
  }
  return true;
}

void AnswerBuilder::stopped_by(size_t choice, std::string_view stop_text) {
  if (choice < choices_.size()) choices_[choice].finish.stop_text = stop_text;
}

void AnswerBuilder::warn(size_t choice, std::string warning) {
  if (choice < choices_.size()) choices_[choice].finish.warnings.push_back(std::move(warning));
}

void AnswerBuilder::usage(int prompt_tokens, int cached_tokens, int completion_tokens, int reasoning_tokens) {
  for (Choice& choice : choices_) {
    choice.finish.prompt_tokens = std::max(choice.finish.prompt_tokens, prompt_tokens);
    choice.finish.cached_tokens = std::max(choice.finish.cached_tokens, cached_tokens);
  }
  completion_tokens_ = std::max(completion_tokens_, completion_tokens);
  reasoning_tokens_ = std::max(reasoning_tokens_, reasoning_tokens);
}

bool AnswerBuilder::complete() const {
  const bool all = std::all_of(choices_.begin(), choices_.end(), [](const Choice& choice) { return choice.ended; });
  return !fault_ && (all || (done_ && began_));
}

std::vector<Finish> AnswerBuilder::finishes() const {
  std::vector<Finish> out;
  for (const Choice& choice : choices_) out.push_back(choice.finish);
  if (!out.empty()) out.front().completion_tokens = completion_tokens_, out.front().reasoning_tokens = reasoning_tokens_;  // said for all choices together
  return out;
}

bool AnswerBytes::add(std::string_view bytes) {
  if (form_ == Form::unknown) {
    bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
    if (bytes.empty()) return true;
    form_ = bytes.front() == '{' ? Form::document : Form::events;
  }
  if (form_ == Form::events) {
    const bool more = events_.add(bytes, [&](const SseParser::Event& event) { return reader_.event(event); });
    return more || out_.left() || out_.fault_text() ? more : out_.fault("an event of its stream is too long");
  }
  document_ += bytes;
  return document_.size() <= most_whole_bytes || out_.fault("its answer is too long");
}

void AnswerBytes::finish() {
  if (form_ == Form::events && !out_.left() && !out_.fault_text()) events_.add("\n\n", [&](const SseParser::Event& event) { return reader_.event(event); });
  if (form_ != Form::document || out_.left() || out_.fault_text()) return;
  const auto answer = JsonDocument::parse("an upstream's answer", with_marked_halves(document_), 2 * most_whole_bytes);
  if (!answer || !answer->root().is_object()) return void(out_.fault("its answer is no JSON object"));
  reader_.whole(answer->root());
}

Result<JsonDocument> event_json(const std::string& data) {
  TRY(JsonDocument json, JsonDocument::parse("an event", with_marked_halves(data)));
  if (!json.root().is_object()) return Error{Code::invalid_request, "cannot read an event: it is no object"};
  return json;
}

int count_in(JsonView object, std::string_view key) {
  const auto value = find_int(object, key);
  return value && *value > 0 && *value < 1'000'000'000 ? static_cast<int>(*value) : 0;
}
