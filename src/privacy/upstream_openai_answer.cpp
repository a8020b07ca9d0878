// upstream_openai_answer: chunks and whole answers of chat completions and of completions, in the spellings of the servers that speak them.
#include "privacy/upstream_answer.h"

namespace {

std::string_view string_in(JsonView object, std::string_view key) { return find_string(object, key).value_or(""); }

// Text may come as a string, or as parts of which some are thoughts.
struct Pieces { std::string text, thought; };
void gather(JsonView content, Pieces& out) {
  std::string_view text;
  if (content.get(text) == simdjson::SUCCESS) return void(out.text += text);
  if (!content.is_array()) return;
  for (const JsonView part : simdjson::dom::array(content)) {
    const std::string_view type = string_in(part, "type");
    if (type == "text" || type == "output_text") out.text += string_in(part, "text");
    if (type == "refusal") out.text += string_in(part, "refusal");
    if (type != "thinking") continue;
    Pieces inner;
    if (const auto thinking = find(part, "thinking")) gather(*thinking, inner);
    out.thought += inner.text;
  }
}

std::string bytes_of(JsonView token) {
  std::string out;
  const auto bytes = find(token, "bytes");
  if (!bytes || !bytes->is_array()) return std::string(string_in(token, "token"));
  for (const JsonView item : simdjson::dom::array(*bytes)) {
    uint64_t byte = 0;
    if (item.get(byte) == simdjson::SUCCESS && byte < 256) out += static_cast<char>(byte);
  }
  return out;
}

std::vector<TokenLogprob> logprobs_in(JsonView choice) {
  std::vector<TokenLogprob> out;
  const auto logprobs = find(choice, "logprobs");
  const auto content = logprobs ? find(*logprobs, "content") : std::nullopt;
  if (!content || !content->is_array()) return out;
  for (const JsonView token : simdjson::dom::array(*content)) {
    TokenLogprob& one = out.emplace_back();
    one.bytes = bytes_of(token);
    one.logprob = static_cast<float>(find_double(token, "logprob").value_or(0));
    const auto top = find(token, "top_logprobs");
    if (!top || !top->is_array()) continue;
    for (const JsonView other : simdjson::dom::array(*top)) one.top.emplace_back(bytes_of(other), static_cast<float>(find_double(other, "logprob").value_or(0)));
  }
  return out;
}

class OpenAiReader : public AnswerReader {
 public:
  explicit OpenAiReader(AnswerBuilder& out) : out_(out) {}

  bool event(const SseParser::Event& event) override {
    if (out_.said_done()) return true;  // what follows the end means nothing
    if (event.data == "[DONE]") return out_.done(), true;
    const auto chunk = event_json(event.data);
    if (!chunk) return out_.fault("an event of its stream is no JSON object");
    return answer(chunk->root());
  }

  bool whole(JsonView json) override {
    if (!answer(json)) return false;
    return out_.began() || out_.fault("its answer has no choices");
  }

 private:
  bool answer(JsonView json) {
    if (find(json, "error")) return out_.fault("it reports an error of its own");
    if (const auto usage = find(json, "usage")) read_usage(*usage);
    const auto choices = find(json, "choices");
    if (!choices || !choices->is_array()) return true;  // kinds of events that we do not know
    for (const JsonView one : simdjson::dom::array(*choices)) {
      if (!choice(one)) return false;
    }
    return true;
  }

  bool choice(JsonView json) {
    if (!json.is_object()) return out_.fault("a choice of its answer is no object");
    const int64_t given = find_int(json, "index").value_or(0);
    const size_t index = given < 0 ? out_.size() : static_cast<size_t>(given);
    auto said = find(json, "delta");
    if (!said) said = find(json, "message");
    auto logprobs = logprobs_in(json);
    if (said && !message(index, *said, logprobs)) return false;
    if (!said && !out_.text(index, Delta::Kind::text, string_in(json, "text"))) return false;
    if (!logprobs.empty() && !out_.text(index, Delta::Kind::text, "", std::move(logprobs))) return false;
    return end(index, string_in(json, "finish_reason"));
  }

  bool message(size_t index, JsonView json, std::vector<TokenLogprob>& logprobs) {
    Pieces pieces;
    if (const auto content = find(json, "content")) gather(*content, pieces);
    const std::string_view thought = string_in(json, "reasoning_content");
    pieces.thought += thought.empty() ? string_in(json, "reasoning") : thought;  // some send both
    if (!out_.text(index, Delta::Kind::reasoning, pieces.thought)) return false;
    if (!pieces.text.empty() && !out_.text(index, Delta::Kind::text, pieces.text, std::exchange(logprobs, {}))) return false;
    if (!out_.text(index, Delta::Kind::text, string_in(json, "refusal"))) return false;
    if (const auto call = find(json, "function_call"); call && !function(index, 0, "", *call)) return false;
    const auto calls = find(json, "tool_calls");
    return !calls || !calls->is_array() || tool_calls(index, simdjson::dom::array(*calls));
  }

  bool tool_calls(size_t index, simdjson::dom::array calls) {
    int64_t position = 0;
    for (const JsonView call : calls) {
      const int64_t given = find_int(call, "index").value_or(position++);
      const auto function_json = find(call, "function");
      if (given < 0 || !function_json) return out_.fault("a tool call of its answer is malformed");
      if (!function(index, static_cast<size_t>(given), string_in(call, "id"), *function_json)) return false;
    }
    return true;
  }

  bool function(size_t index, size_t call, std::string_view id, JsonView json) {
    const auto arguments = find(json, "arguments");
    const bool is_object = arguments && arguments->is_object();  // some servers do not write them as a text
    return out_.tool_call(index, call, id, string_in(json, "name"), is_object ? std::string(simdjson::minify(*arguments)) : std::string(string_in(json, "arguments")));
  }

  bool end(size_t index, std::string_view reason) {
    if (reason.empty()) return true;
    if (reason == "error") return out_.fault("it reports an error of its own");
    if (reason == "content_filter") out_.warn(index, "the upstream's filter ended the answer");
    const bool calls = reason == "tool_calls" || reason == "function_call";
    return out_.end(index, reason == "length" ? Finish::Reason::length : calls ? Finish::Reason::tool_call : Finish::Reason::stop);
  }

  void read_usage(JsonView usage) {
    const auto prompt = find(usage, "prompt_tokens_details"), completion = find(usage, "completion_tokens_details");
    out_.usage(count_in(usage, "prompt_tokens"), prompt ? count_in(*prompt, "cached_tokens") : 0, count_in(usage, "completion_tokens"),
               completion ? count_in(*completion, "reasoning_tokens") : 0);
  }

  AnswerBuilder& out_;
};

}  // namespace

std::unique_ptr<AnswerReader> openai_reader(AnswerBuilder& out) { return std::make_unique<OpenAiReader>(out); }
