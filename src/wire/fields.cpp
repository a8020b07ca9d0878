// fields: chat completions and completions: their own rows, and what is settled once all rows are read.
#include "wire/fields.h"

#include <algorithm>
#include <fmt/format.h>
#include "wire/canonical.h"
#include "wire/messages.h"

namespace {

using enum Field::Kind;

template <auto member> Fault set_flag(ParsedRequest& out, const FieldValue& value) { return out.*member = value.flag, std::nullopt; }
template <auto member> Fault set_chat_flag(ParsedRequest& out, const FieldValue& value) { return out.chat.*member = value.flag, std::nullopt; }

constexpr Row<ParsedRequest> stream_option_rows[] = {
    {{"include_usage", boolean, 0, 0, "a last chunk with usage"}, set_flag<&ParsedRequest::include_usage>},
    {{"continuous_usage_stats", boolean, 0, 0, "usage so far in every chunk"}, set_flag<&ParsedRequest::continuous_usage>},
};

Fault set_stream_options(ParsedRequest& out, const FieldValue& value) {
  FieldReader reader(value.json, value.name + ".");
  if (auto wrong = reader.read(stream_option_rows, out)) return wrong;
  reader.list_unknown(out.ignored, out.chat.gate.unknown_fields);
  if (!out.stream) out.ignored.push_back(value.name);
  return std::nullopt;
}

Json stream_options_schema() { return object_schema(stream_option_rows); }

Fault set_model(ParsedRequest& out, const FieldValue& value) { return out.chat.model = value.text, std::nullopt; }
Fault set_n(ParsedRequest& out, const FieldValue& value) { return out.n = value.small(), std::nullopt; }

template <auto member> Fault set_limit(ParsedRequest& out, const FieldValue& value) {
  if (value.integer == 0) return fault(value.name, value.name + " must be at least 1, or -1 for no limit");
  if (value.integer > 0) member(out) = value.small();
  return std::nullopt;
}
constexpr auto max_tokens_of = [](ParsedRequest& out) -> std::optional<int>& { return out.chat.max_tokens; };
constexpr auto max_completion_of = [](ParsedRequest& out) -> std::optional<int>& { return out.max_completion_tokens; };

Fault set_no_prompt_logprobs(ParsedRequest&, const FieldValue& value) { return fault(value.name, "log probabilities of the prompt cannot be given", "unsupported"); }

constexpr Row<ParsedRequest> base[] = {
    {{"strict", boolean, 0, 0, "what would be ignored is a 400"}, set_flag<&ParsedRequest::strict>},
    {{"model", text, 0, 1024, "a name of /v1/models or an alias; the first model when absent"}, set_model},
    {{"stream", boolean, 0, 0, "answer in server-sent events"}, set_flag<&ParsedRequest::stream>},
};

constexpr Row<ParsedRequest> common[] = {
    {{"stream_options", object, 0, 0, "include_usage, continuous_usage_stats", nullptr, stream_options_schema}, set_stream_options},
    {{"timings", boolean, 0, 0, "false: no timings in the answer"}, set_flag<&ParsedRequest::timings>},
    {{"timings_per_token", boolean, 0, 0, "timings so far in every chunk"}, set_flag<&ParsedRequest::timings_per_token>},
    {{"n", integer, 1, 16, "answers to each prompt; the seed of the i-th is seed + i"}, set_n},
    {{"max_tokens", integer, -1, int_max, "length of the answer; -1: up to the context"}, set_limit<max_tokens_of>},
    {{"max_completion_tokens", integer, -1, int_max, "the same; wins"}, set_limit<max_completion_of>},
    {{"prompt_logprobs", any, 0, 0, "cannot be given", nullptr, nullptr, true}, set_no_prompt_logprobs},
};

Fault set_salt(ParsedRequest& out, const FieldValue& value) { return out.chat.cache_salt = value.text, std::nullopt; }
Fault set_priority(ParsedRequest& out, const FieldValue& value) { return out.chat.priority = value.small(), std::nullopt; }
// All prompts of a model share one cache, found by their tokens: what a key asks for is always so.
Fault set_cache_key(ParsedRequest&, const FieldValue&) { return std::nullopt; }

void set_deadline(ParsedRequest& out, double seconds) {
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  out.chat.deadline = std::min(out.chat.deadline.value_or(deadline), deadline);
}
Fault set_timeout(ParsedRequest& out, const FieldValue& value) { return set_deadline(out, value.number), std::nullopt; }
Fault set_predict_ms(ParsedRequest& out, const FieldValue& value) {
  if (value.integer > 0) set_deadline(out, static_cast<double>(value.integer) / 1e3);
  return std::nullopt;
}

constexpr double max_timeout_s = 86400;

constexpr Row<ParsedRequest> serving[] = {
    {{"cache_prompt", boolean, 0, 0, "false: the prompt is computed anew"}, set_chat_flag<&ChatRequest::use_cache>},
    {{"prompt_cache_key", text, 0, 1024, "prompts share one cache with or without it"}, set_cache_key},
    {{"session_id", text, 0, 1024, "the same"}, set_cache_key},
    {{"cache_salt", text, 0, 1024, "cached state is shared only under the same salt"}, set_salt},
    {{"explain_cache", boolean, 0, 0, "the answer says where the prompt left the cache"}, set_chat_flag<&ChatRequest::explain_cache>},
    {{"return_progress", boolean, 0, 0, "chunks with the progress of the prompt"}, set_chat_flag<&ChatRequest::report_progress>},
    {{"priority", integer, -1000000, 1000000, "higher goes first"}, set_priority},
    {{"timeout_s", number, 0.001, max_timeout_s, "the whole answer must end in time, counted from its arrival"}, set_timeout},
    {{"t_max_predict_ms", integer, -1, max_timeout_s * 1e3, "the same in milliseconds; 0 or -1: no limit"}, set_predict_ms},
};

Fault set_parallel(ParsedRequest& out, const FieldValue& value) { return out.chat.tool_choice.parallel = value.flag, std::nullopt; }
Fault set_top_logprobs(ParsedRequest& out, const FieldValue& value) { return out.top_logprobs = value.small(), std::nullopt; }
Fault set_generation_prompt(ParsedRequest& out, const FieldValue& value) { return out.add_generation_prompt = value.flag, std::nullopt; }

constexpr Row<ParsedRequest> chat[] = {
    {{"messages", array, 1, no_limit, "the conversation", nullptr, messages_schema}, set_messages},
    {{"logprobs", boolean, 0, 0, "log probability of each token"}, set_flag<&ParsedRequest::logprobs>},
    {{"top_logprobs", integer, 0, 20, "and of the n best"}, set_top_logprobs},
    {{"tools", array, 0, 1024, "functions that may be called", nullptr, tools_schema}, set_tools},
    {{"tool_choice", any, 0, 0, "none, auto, required or a function", nullptr, tool_choice_schema}, set_tool_choice},
    {{"parallel_tool_calls", boolean, 0, 0, "more than one call in an answer"}, set_parallel},
    {{"continue_final_message", boolean, 0, 0, "the last message is the beginning of the answer"}, set_chat_flag<&ChatRequest::continue_final_message>},
    {{"add_generation_prompt", boolean, 0, 0, "false only with continue_final_message"}, set_generation_prompt},
    {{"echo", boolean, 0, 0, "repeats the message that is continued"}, set_flag<&ParsedRequest::echo>},
};

Fault set_completion_logprobs(ParsedRequest& out, const FieldValue& value) {
  out.logprobs = true;
  out.top_logprobs = value.small();
  return std::nullopt;
}
Fault set_best_of(ParsedRequest& out, const FieldValue& value) { return out.best_of = value.small(), std::nullopt; }
Fault set_suffix(ParsedRequest& out, const FieldValue& value) {
  if (!value.text.empty()) out.chat.suffix = value.text;
  return std::nullopt;
}

constexpr Row<ParsedRequest> completion[] = {
    {{"prompt", any, 0, 0, "one or several texts or lists of token ids", nullptr, prompt_schema}, set_prompt},
    {{"suffix", text, 0, no_limit, "what comes after the answer"}, set_suffix},
    {{"echo", boolean, 0, 0, "the answer begins with the prompt"}, set_flag<&ParsedRequest::echo>},
    {{"logprobs", integer, 0, 20, "log probability of each token and of the n best"}, set_completion_logprobs},
    {{"best_of", integer, 1, 16, "must equal n: no more are made than are answered"}, set_best_of},
};

Fault settle_tools(ParsedRequest& out) {
  ToolChoice& choice = out.chat.tool_choice;
  Json tools = out.chat.tools_json.empty() ? Json::array() : Json::parse(out.chat.tools_json, nullptr, false);
  const auto is_there = [&](const std::string& name) { return std::any_of(tools.begin(), tools.end(), [&](const Json& tool) { return tool["function"]["name"] == name; }); };
  for (const std::string& name : out.allowed_tools.value_or(std::vector<std::string>())) {
    if (!is_there(name)) return fault("tool_choice", "tool_choice allows a function that is not in tools");
  }
  if (out.allowed_tools) {
    Json kept = Json::array();
    for (const Json& tool : tools) {
      const auto is_this = [&](const std::string& name) { return tool["function"]["name"] == name; };
      if (std::any_of(out.allowed_tools->begin(), out.allowed_tools->end(), is_this)) kept.push_back(tool);
    }
    tools = std::move(kept);
    out.chat.tools_json = tools.empty() ? "" : text_of(tools);
  }
  if (choice.kind == ToolChoice::Kind::required && tools.empty()) return fault("tool_choice", "tool_choice required needs tools");
  if (choice.kind == ToolChoice::Kind::named && !is_there(choice.name)) return fault("tool_choice", "tool_choice names a function that is not in tools");
  if (choice.kind == ToolChoice::Kind::none) out.chat.tools_json.clear();
  const bool forced = choice.kind == ToolChoice::Kind::required || choice.kind == ToolChoice::Kind::named;
  if (forced) out.chat.constraint = {};  // it binds text, and a forced call leaves none
  return std::nullopt;
}

Fault settle_continuation(ParsedRequest& out) {
  const bool continues = out.chat.continue_final_message;
  if (continues && out.add_generation_prompt.value_or(false)) return fault("add_generation_prompt", "add_generation_prompt and continue_final_message exclude each other");
  if (!continues && !out.add_generation_prompt.value_or(true)) return fault("add_generation_prompt", "add_generation_prompt false needs continue_final_message");
  if (!continues) return out.echo ? (out.ignored.push_back("echo"), std::nullopt) : std::nullopt;
  const Json messages = Json::parse(out.chat.messages_json, nullptr, false);
  const bool text = !messages.empty() && messages.back()["role"] == "assistant" && messages.back().contains("content") && messages.back()["content"].is_string();
  return text ? std::nullopt : fault("continue_final_message", "continue_final_message needs a last message of the assistant with text");
}

Fault settle_completion(ParsedRequest& out) {
  if (out.prompts.empty()) return fault("prompt", "prompt is required", "missing_field");
  if (out.best_of && *out.best_of != out.n) return fault("best_of", "best_of must equal n: no more answers are made than are given", "unsupported");
  if (out.echo && out.logprobs) return fault("echo", "echo with logprobs: log probabilities of the prompt cannot be given", "unsupported");
  if (out.chat.suffix && std::any_of(out.prompts.begin(), out.prompts.end(), [](const Prompt& prompt) { return !prompt.ids.empty(); })) {
    return fault("suffix", "suffix needs a prompt of text");
  }
  return std::nullopt;
}

Fault settle(Dialect dialect, ParsedRequest& out) {
  if (out.max_completion_tokens) out.chat.max_tokens = out.max_completion_tokens;
  if (out.top_logprobs && !out.logprobs) return fault("top_logprobs", "top_logprobs needs logprobs: true");
  if (out.logprobs) out.chat.top_logprobs = out.top_logprobs.value_or(0);
  if (dialect == Dialect::completions) return settle_completion(out);
  if (out.chat.messages_json.empty()) return fault("messages", "messages is required", "missing_field");
  return settle_chat(out);
}

}  // namespace

Rows base_rows() { return base; }
Rows openai_rows() { return common; }
Rows serving_rows() { return serving; }
Rows chat_rows() { return chat; }
Rows completion_rows() { return completion; }

std::vector<Rows> tables_of(Dialect dialect) {
  if (dialect == Dialect::completions) return {base, common, completion, sampling_rows(), format_rows(), serving};
  return {base, common, chat, sampling_rows(), thinking_rows(), format_rows(), serving};
}

Fault settle_chat(ParsedRequest& out) {
  if (!out.kwargs.empty()) out.chat.template_kwargs_json = text_of(out.kwargs);
  if (auto wrong = settle_tools(out)) return wrong;
  return settle_continuation(out);
}

Fault parse_request(Dialect dialect, std::string_view body, ParsedRequest& out) {
  JsonDocument document;
  if (auto wrong = parse_body(body, document)) return wrong;
  FieldReader reader(document.root());
  for (const Rows table : tables_of(dialect)) {
    if (auto wrong = reader.read(table, out)) return wrong;
  }
  reader.list_unknown(out.ignored, out.chat.gate.unknown_fields);
  return settle(dialect, out);
}

bool can_call(const ModelInfo& model) { return !model.tool_syntax.empty() || model.chat_template.empty(); }

bool heeds_thinking(const ModelInfo& model, bool by_effort) {
  const auto knows = [&](const char* word) { return model.chat_template.find(word) != std::string::npos; };
  return by_effort ? knows("reasoning_effort") : model.thinks || knows("enable_thinking");
}

Fault settle_for(const ModelInfo& model, ParsedRequest& out) {
  out.chat.model = model.name;
  if (out.chat.suffix && !model.fills_in) return fault("suffix", "suffix cannot be honoured: this model has no tokens for filling in", "unsupported");
  if (!out.chat.tools_json.empty() && !can_call(model)) return fault("tools", "tools cannot be called: this model's template has no place for them", "unsupported");
  if (!out.thinks_by.empty() && !heeds_thinking(model, out.kwargs.contains("reasoning_effort"))) out.ignored.push_back(out.thinks_by);
  return out.strict ? refuse_ignored(out.ignored) : std::nullopt;
}

Result<ChatRequest> read_chat_request(std::string_view body) {
  ParsedRequest parsed;
  parsed.gated = true;
  if (const auto wrong = parse_request(Dialect::chat, body, parsed)) return Error{Code::invalid_request, "cannot read the request: " + wrong->message};
  ChatRequest request = std::move(parsed.chat);
  request.gate.endpoint = "/v1/chat/completions";
  request.gate.body_bytes = body.size();
  request.gate.body_sha256 = canonical_sha256(body);
  return request;
}
