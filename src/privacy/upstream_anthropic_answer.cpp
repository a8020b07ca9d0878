// upstream_anthropic_answer: events and whole answers of the messages API.
#include <map>
#include "privacy/upstream_answer.h"

namespace {

std::string_view string_in(JsonView object, std::string_view key) { return find_string(object, key).value_or(""); }

class AnthropicReader : public AnswerReader {
 public:
  explicit AnthropicReader(AnswerBuilder& out) : out_(out) {}

  bool event(const SseParser::Event& event) override {
    if (out_.said_done()) return true;
    const auto json = event_json(event.data);
    if (!json) return out_.fault("an event of its stream is no JSON object");
    return event_of(string_in(json->root(), "type"), json->root());
  }

  bool whole(JsonView json) override {
    const auto content = find(json, "content");
    if (find(json, "error")) return out_.fault("it reports an error of its own");
    if (!content || !content->is_array()) return out_.fault("its answer has no content");
    if (const auto usage = find(json, "usage")) read_usage(*usage);
    int64_t index = 0;
    for (const JsonView one : simdjson::dom::array(*content)) {
      if (!begin_block(index++, one)) return false;
    }
    return end(json);
  }

 private:
  bool event_of(std::string_view type, JsonView json) {
    if (type == "error") return out_.fault("it reports an error of its own");
    if (type == "message_stop") return out_.done(), true;
    if (type == "message_start") {
      const auto message = find(json, "message");
      const auto usage = message ? find(*message, "usage") : std::nullopt;
      if (usage) read_usage(*usage);
    }
    const int64_t index = find_int(json, "index").value_or(0);
    if (type == "content_block_start") {
      const auto block = find(json, "content_block");
      return block ? begin_block(index, *block) : out_.fault("a content block of its answer is malformed");
    }
    const auto delta = find(json, "delta");
    if (type == "content_block_delta") return delta ? more(index, *delta) : out_.fault("a content block of its answer is malformed");
    if (type != "message_delta") return true;  // ping, content_block_stop, and what is not known yet
    if (const auto usage = find(json, "usage")) read_usage(*usage);
    return !delta || end(*delta);
  }

  // Of a stream, its beginning; of a whole answer, all of it.
  bool begin_block(int64_t index, JsonView block) {
    const std::string_view type = string_in(block, "type");
    if (type == "text") return out_.text(0, Delta::Kind::text, string_in(block, "text"));
    if (type == "thinking") return out_.text(0, Delta::Kind::reasoning, string_in(block, "thinking"));
    if (type != "tool_use") return true;
    const size_t call = calls_.size();
    calls_[index] = call;
    const auto input = find(block, "input");
    const bool has_input = input && input->is_object() && simdjson::dom::object(*input).size() > 0;
    return out_.tool_call(0, call, string_in(block, "id"), string_in(block, "name"), has_input ? std::string(simdjson::minify(*input)) : "");
  }

  bool more(int64_t index, JsonView delta) {
    const std::string_view type = string_in(delta, "type");
    if (type == "text_delta") return out_.text(0, Delta::Kind::text, string_in(delta, "text"));
    if (type == "thinking_delta") return out_.text(0, Delta::Kind::reasoning, string_in(delta, "thinking"));
    if (type != "input_json_delta") return true;
    const auto call = calls_.find(index);
    if (call == calls_.end()) return out_.fault("arguments come for no tool call");
    return out_.tool_call(0, call->second, "", "", string_in(delta, "partial_json"));
  }

  bool end(JsonView json) {
    const std::string_view reason = string_in(json, "stop_reason");
    if (reason.empty()) return true;
    if (reason == "refusal") out_.warn(0, "the upstream's filter ended the answer");
    if (reason == "stop_sequence") out_.stopped_by(0, string_in(json, "stop_sequence"));
    const bool cut = reason == "max_tokens" || reason == "model_context_window_exceeded";
    return out_.end(0, cut ? Finish::Reason::length : reason == "tool_use" ? Finish::Reason::tool_call : Finish::Reason::stop);
  }

  void read_usage(JsonView usage) {
    const int cached = count_in(usage, "cache_read_input_tokens");
    const int prompt = count_in(usage, "input_tokens") + cached + count_in(usage, "cache_creation_input_tokens");  // three parts of one prompt
    out_.usage(prompt, cached, count_in(usage, "output_tokens"), 0);
  }

  AnswerBuilder& out_;
  std::map<int64_t, size_t> calls_;  // content blocks that are tool calls, by their index; bounded by AnswerBuilder
};

}  // namespace

std::unique_ptr<AnswerReader> anthropic_reader(AnswerBuilder& out) { return std::make_unique<AnthropicReader>(out); }
