// upstream_openai: the body of chat completions and of completions.
#include <stdexcept>
#include "privacy/upstream_body.h"

namespace {

std::string arguments_text(const Json& function) {
  const auto arguments = function.find("arguments");
  if (arguments == function.end() || arguments->is_null()) return "{}";
  return arguments->is_string() ? arguments->get<std::string>() : text_of(*arguments);
}

Json tool_calls_of(const Json& message) {
  Json out = Json::array();
  for (const Json& call : message["tool_calls"]) {
    const Json& function = call.at("function");
    Json one = {{"id", call.value("id", "")}, {"type", "function"}, {"function", {{"name", function.value("name", "")}, {"arguments", arguments_text(function)}}}};
    out.push_back(std::move(one));
  }
  return out;
}

void copy_text(const Json& from, const char* name, Json& to) {
  const auto found = from.find(name);
  if (found != from.end() && found->is_string()) to[name] = *found;
}

// {"type": "text", "text"}, or the same with "refusal" for both.
Json part_of(const Json& given) {
  for (const char* type : {"text", "refusal"}) {
    if (given.value("type", "") == type && given.contains(type) && given[type].is_string()) return {{"type", type}, {type, given[type]}};
  }
  throw std::invalid_argument("a part of a message is no text");
}

// A text, or a list of texts. What is neither is never sent.
Json content_of(const Json& content) {
  if (content.is_string()) return content;
  Json parts = Json::array();
  for (const Json& part : content) parts.push_back(part_of(part));
  return parts;
}

// Only what is known of a message; anything else stays here.
Json message_of(const Json& given) {
  Json out = {{"role", given.value("role", "user")}};
  const bool calls = given.contains("tool_calls") && given["tool_calls"].is_array() && !given["tool_calls"].empty();
  const auto content = given.find("content");
  const bool says = content != given.end() && !content->is_null(), speaks = given.contains("audio") && given["audio"].contains("transcript");
  out["content"] = says ? content_of(*content) : speaks ? given["audio"]["transcript"] : calls || given.contains("function_call") ? Json() : Json("");
  for (const char* name : {"name", "reasoning_content", "refusal", "tool_call_id"}) copy_text(given, name, out);
  if (calls) out["tool_calls"] = tool_calls_of(given);
  if (given.contains("function_call")) out["function_call"] = {{"name", given["function_call"].value("name", "")}, {"arguments", arguments_text(given["function_call"])}};
  return out;
}

Json tool_of(const Json& given) {
  Json function = Json::object();
  const Json& from = given.at("function");
  for (const char* name : {"name", "description"}) copy_text(from, name, function);
  for (const char* name : {"parameters", "strict"}) {
    if (from.contains(name) && !from[name].is_null()) function[name] = from[name];
  }
  return {{"type", "function"}, {"function", std::move(function)}};
}

void add_tools(const CleanRequest& request, Json& body) {
  if (!request.tools().is_array() || request.tools().empty()) return;
  for (const Json& tool : request.tools()) body["tools"].push_back(tool_of(tool));
  const ToolChoice& choice = request.settings().tool_choice;
  switch (choice.kind) {
    case ToolChoice::Kind::automatic: break;
    case ToolChoice::Kind::none: body["tool_choice"] = "none"; break;
    case ToolChoice::Kind::required: body["tool_choice"] = "required"; break;
    case ToolChoice::Kind::named: body["tool_choice"] = {{"type", "function"}, {"function", {{"name", choice.name}}}}; break;
  }
  if (!choice.parallel) body["parallel_tool_calls"] = false;
}

void add_numbers(const CleanRequest& request, Json& body) {
  const ChatRequest& given = request.settings();
  if (given.temperature) body["temperature"] = as_written(*given.temperature);
  if (given.top_p) body["top_p"] = as_written(*given.top_p);
  if (given.presence_penalty) body["presence_penalty"] = as_written(*given.presence_penalty);
  if (given.frequency_penalty) body["frequency_penalty"] = as_written(*given.frequency_penalty);
  if (given.max_tokens) body["max_tokens"] = *given.max_tokens;
  if (given.seed) body["seed"] = *given.seed & 0x7fffffffffffffffu;  // as a signed number of 64 bits
  if (request.n() > 1) body["n"] = request.n();
  if (!request.stop().empty()) body["stop"] = request.stop();
}

void add_format(const Constraint& constraint, Json& body) {
  if (constraint.kind == Constraint::Kind::json_object) body["response_format"] = {{"type", "json_object"}};
  if (constraint.kind != Constraint::Kind::json_schema) return;
  body["response_format"] = {{"type", "json_schema"}, {"json_schema", {{"name", "answer"}, {"schema", Json::parse(constraint.text, nullptr, false)}}}};
}

}  // namespace

std::string openai_body(const CleanRequest& request, const std::string& model, bool stream) {
  Json body = {{"model", model}};
  if (request.prompt()) {
    body["prompt"] = *request.prompt();
    if (request.suffix()) body["suffix"] = *request.suffix();
  } else {
    body["messages"] = Json::array();
    for (const Json& message : request.messages()) body["messages"].push_back(message_of(message));
    add_tools(request, body);
    add_format(request.constraint(), body);
    if (request.settings().top_logprobs >= 0) body["logprobs"] = true, body["top_logprobs"] = request.settings().top_logprobs;
    body["store"] = false;
  }
  add_numbers(request, body);
  if (stream) body["stream"] = true, body["stream_options"] = {{"include_usage", true}};
  return text_of(body);
}
