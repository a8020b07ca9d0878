// upstream_anthropic: the body of the messages API: a system text apart, blocks of content, results of tools said by the user.
#include <algorithm>
#include <stdexcept>
#include "privacy/upstream_body.h"

namespace {

constexpr int default_max_tokens = 4096;  // the API wants a number

std::string text_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

void add_text(const std::string& text, Json& blocks) {
  if (text.find_first_not_of(" \t\r\n") != std::string::npos) blocks.push_back({{"type", "text"}, {"text", text}});  // empty ones are refused
}

Json input_of(const Json& function) {
  const auto arguments = function.find("arguments");
  if (arguments == function.end() || arguments->is_null()) return Json::object();
  if (arguments->is_object()) return *arguments;
  Json input = Json::parse(arguments->is_string() ? arguments->get<std::string>() : text_of(*arguments), nullptr, false);
  return input.is_object() ? input : Json::object({{"arguments", *arguments}});  // arguments that a model wrote wrong
}

// Of a message: its text, or the texts of its parts. What is neither is never sent.
std::string content_of(const Json& message) {
  const auto content = message.find("content");
  if (content == message.end() || content->is_null()) return message.contains("audio") ? text_in(message["audio"], "transcript") : "";
  if (content->is_string()) return content->get<std::string>();
  std::string out;
  for (const Json& part : *content) {
    const std::string type = text_in(part, "type");
    if (type != "text" && type != "refusal") throw std::invalid_argument("a part of a message is no text");
    out += (out.empty() ? "" : "\n") + text_in(part, type.c_str());
  }
  return out;
}

Json blocks_of(const Json& message, const std::string& role) {
  Json blocks = Json::array();
  const std::string content = content_of(message);
  if (role == "tool" || role == "function") {
    const std::string id = text_in(message, "tool_call_id");
    blocks.push_back({{"type", "tool_result"}, {"tool_use_id", id.empty() ? text_in(message, "name") : id}, {"content", content}});
    return blocks;
  }
  add_text(content, blocks);
  add_text(text_in(message, "refusal"), blocks);
  if (message.contains("function_call")) {  // an older way to call, without an id: its result names the function
    const Json& function = message["function_call"];
    blocks.push_back({{"type", "tool_use"}, {"id", text_in(function, "name")}, {"name", text_in(function, "name")}, {"input", input_of(function)}});
  }
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || !calls->is_array()) return blocks;
  for (const Json& call : *calls) {
    const Json& function = call.at("function");
    blocks.push_back({{"type", "tool_use"}, {"id", text_in(call, "id")}, {"name", text_in(function, "name")}, {"input", input_of(function)}});
  }
  return blocks;
}

// Two of one role in a row become one.
void add_message(const std::string& role, Json blocks, Json& messages) {
  if (blocks.empty()) return;
  if (messages.empty() || messages.back()["role"] != role) return void(messages.push_back({{"role", role}, {"content", std::move(blocks)}}));
  for (Json& block : blocks) messages.back()["content"].push_back(std::move(block));
}

void add_messages(const CleanRequest& request, Json& body) {
  std::string system;
  Json messages = Json::array();
  for (const Json& message : request.messages()) {
    const std::string role = text_in(message, "role");
    if (role == "system" || role == "developer") {
      system += (system.empty() ? "" : "\n\n") + content_of(message);
    } else {
      add_message(role == "assistant" ? "assistant" : "user", blocks_of(message, role), messages);
    }
  }
  if (!system.empty()) body["system"] = system;
  body["messages"] = std::move(messages);
}

Json tool_choice_of(const ToolChoice& choice) {
  Json out;
  switch (choice.kind) {
    case ToolChoice::Kind::automatic: out = {{"type", "auto"}}; break;
    case ToolChoice::Kind::none: return {{"type", "none"}};
    case ToolChoice::Kind::required: out = {{"type", "any"}}; break;
    case ToolChoice::Kind::named: out = {{"type", "tool"}, {"name", choice.name}}; break;
  }
  if (!choice.parallel) out["disable_parallel_tool_use"] = true;
  return out;
}

void add_tools(const CleanRequest& request, Json& body) {
  if (!request.tools().is_array() || request.tools().empty()) return;
  for (const Json& tool : request.tools()) {
    const Json& function = tool.at("function");
    Json one = {{"name", text_in(function, "name")}};
    if (const std::string description = text_in(function, "description"); !description.empty()) one["description"] = description;
    const bool described = function.contains("parameters") && function["parameters"].is_object();
    one["input_schema"] = described ? function["parameters"] : Json{{"type", "object"}};
    body["tools"].push_back(std::move(one));
  }
  body["tool_choice"] = tool_choice_of(request.settings().tool_choice);
}

}  // namespace

std::string anthropic_body(const CleanRequest& request, const std::string& model, bool stream) {
  const ChatRequest& settings = request.settings();
  Json body = {{"model", model}, {"max_tokens", settings.max_tokens.value_or(default_max_tokens)}};
  add_messages(request, body);
  add_tools(request, body);
  if (settings.temperature) body["temperature"] = as_written(std::min(*settings.temperature, 1.0f));
  if (settings.top_p) body["top_p"] = as_written(*settings.top_p);
  if (settings.top_k && *settings.top_k > 0) body["top_k"] = *settings.top_k;
  std::vector<std::string> stops;
  for (const std::string& stop : request.stop()) {
    if (stop.find_first_not_of(" \t\r\n") != std::string::npos) stops.push_back(stop);  // white space alone is refused
  }
  if (!stops.empty()) body["stop_sequences"] = stops;
  if (stream) body["stream"] = true;
  return text_of(body);
}
