// anthropic_answer: the order of events: message_start, blocks with their deltas, message_delta, message_stop.
#include "wire/anthropic_answer.h"

namespace {

// Clients hand a thinking block back only when it is signed. Nothing here is encrypted, so nothing is checked.
constexpr const char* thinking_signature = "calla";

Json usage(int prompt_tokens, int cached_tokens, int completion_tokens) {  // input_tokens: those not read from the cache
  return {{"input_tokens", prompt_tokens - cached_tokens}, {"cache_creation_input_tokens", 0}, {"cache_read_input_tokens", cached_tokens}, {"output_tokens", completion_tokens}};
}

const char* stop_reason(const Finish& finish) {
  switch (finish.reason) {
    case Finish::Reason::length: return "max_tokens";
    case Finish::Reason::tool_call: return "tool_use";
    default: return finish.stop_text.empty() ? "end_turn" : "stop_sequence";
  }
}

}  // namespace

AnthropicAnswer::AnthropicAnswer(std::string model, bool hide_thinking)
    : hide_thinking_(hide_thinking),
      message_({{"id", random_id("msg_")}, {"type", "message"}, {"role", "assistant"}, {"model", std::move(model)}, {"content", Json::array()},
                {"stop_reason", nullptr}, {"stop_sequence", nullptr}, {"usage", usage(0, 0, 0)}}) {}

Json AnthropicAnswer::event(const char* type, const char* member, Json value) const {
  return {{"type", type}, {"index", message_["content"].size() - 1}, {member, std::move(value)}};
}

void AnthropicAnswer::start(int prompt_tokens, std::vector<Json>& out) {
  if (std::exchange(started_, true)) return;
  message_["usage"] = usage(prompt_tokens, 0, 0);
  out.push_back({{"type", "message_start"}, {"message", message_}});
  out.push_back({{"type", "ping"}});
}

void AnthropicAnswer::open(Block block, const Delta& delta, std::vector<Json>& out) {
  if (block_ == block && (block != Block::tool_use || tool_index_ == delta.tool_index)) return;
  close(out);
  block_ = block;
  tool_index_ = delta.tool_index;
  Json empty;
  if (block == Block::text) empty = {{"type", "text"}, {"text", ""}};
  if (block == Block::thinking) empty = {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}};
  if (block == Block::tool_use) {
    empty = {{"type", "tool_use"}, {"id", delta.tool_id.empty() ? random_id("toolu_") : delta.tool_id}, {"name", delta.tool_name}, {"input", Json::object()}};
  }
  message_["content"].push_back(empty);
  out.push_back(event("content_block_start", "content_block", std::move(empty)));
}

void AnthropicAnswer::close(std::vector<Json>& out) {
  if (block_ == Block::none) return;
  Json& block = message_["content"].back();
  if (block_ == Block::thinking) {
    block["signature"] = thinking_signature;
    out.push_back(event("content_block_delta", "delta", {{"type", "signature_delta"}, {"signature", thinking_signature}}));
  }
  if (block_ == Block::tool_use && !arguments_.empty()) {
    Json input = Json::parse(arguments_, nullptr, false);
    input.is_object() ? block["input"] = std::move(input) : block["partial_json"] = arguments_;  // cut by the token limit
  }
  arguments_.clear();
  block_ = Block::none;
  out.push_back({{"type", "content_block_stop"}, {"index", message_["content"].size() - 1}});
}

void AnthropicAnswer::push(const Delta& delta, std::vector<Json>& out) {
  start(delta.prompt_total, out);
  if (delta.kind == Delta::Kind::tool_call) {
    open(Block::tool_use, delta, out);
    if (delta.text.empty()) return;
    arguments_ += delta.text;
    out.push_back(event("content_block_delta", "delta", {{"type", "input_json_delta"}, {"partial_json", delta.text}}));
    return;
  }
  if (delta.kind == Delta::Kind::progress || delta.text.empty()) return;
  const bool thinking = delta.kind == Delta::Kind::reasoning;
  open(thinking ? Block::thinking : Block::text, delta, out);
  if (thinking && hide_thinking_) return;
  const char* member = thinking ? "thinking" : "text";
  message_["content"].back()[member].get_ref<std::string&>() += delta.text;
  out.push_back(event("content_block_delta", "delta", {{"type", thinking ? "thinking_delta" : "text_delta"}, {member, delta.text}}));
}

void AnthropicAnswer::finish(const Finish& finish, std::vector<Json>& out) {
  start(finish.prompt_tokens, out);
  close(out);
  message_["stop_reason"] = stop_reason(finish);
  if (!finish.stop_text.empty() && finish.reason == Finish::Reason::stop) message_["stop_sequence"] = finish.stop_text;
  message_["usage"] = usage(finish.prompt_tokens, finish.cached_tokens, finish.completion_tokens);
  add_notes(message_, finish);
  Json end = {{"type", "message_delta"}, {"delta", {{"stop_reason", message_["stop_reason"]}, {"stop_sequence", message_["stop_sequence"]}}}, {"usage", message_["usage"]}};
  add_notes(end, finish);
  out.push_back(std::move(end));
  out.push_back({{"type", "message_stop"}});
}

Json AnthropicAnswer::error(const ApiError& error) const { return anthropic_error(error); }
