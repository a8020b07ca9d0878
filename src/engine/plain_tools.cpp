// plain_tools: rewrites messages.
#include "engine/plain_tools.h"
#include "core/json_writer.h"

namespace {
std::string instructions(const Json& tools) {
  std::string text = "You can call functions. These are there, one JSON object a line:\n<tools>\n";
  for (const Json& tool : tools) text += text_of(tool.contains("function") ? tool["function"] : tool) + "\n";
  return text +
         "</tools>\nTo call one, write a JSON object with its name and arguments within <tool_call> tags:\n"
         "<tool_call>\n{\"name\": \"NAME\", \"arguments\": {…}}\n</tool_call>\nCall a function only when it helps; otherwise answer in words.";
}

// Arguments come as JSON text or as an object.
Json arguments_of(const Json& function) {
  if (!function.contains("arguments")) return Json::object();
  const Json& arguments = function["arguments"];
  if (!arguments.is_string()) return arguments;
  Json parsed = Json::parse(arguments.get_ref<const std::string&>(), nullptr, false);
  return parsed.is_discarded() ? arguments : parsed;
}

std::string content_of(const Json& message) { return message.contains("content") && message["content"].is_string() ? message["content"].get<std::string>() : ""; }

// Templates without tools expect every content to be text.
void rewrite(Json& message) {
  const std::string role = message.value("role", "");
  if (role == "tool" || role == "function") {
    message = {{"role", "user"}, {"content", "<tool_response>\n" + content_of(message) + "\n</tool_response>"}};
  } else if (message.contains("tool_calls") && message["tool_calls"].is_array()) {
    std::string text = content_of(message);
    for (const Json& call : message["tool_calls"]) {
      const Json& function = call.contains("function") ? call["function"] : call;
      text += (text.empty() ? "" : "\n") + ("<tool_call>\n" + text_of({{"name", function.value("name", "")}, {"arguments", arguments_of(function)}})) + "\n</tool_call>";
    }
    message.erase("tool_calls");
    message["content"] = text;
  } else if (message.contains("content") && message["content"].is_null()) {
    message["content"] = "";
  }
}
}  // namespace

Result<std::string> with_plain_tools(const std::string& messages_json, const std::string& tools_json) {
  Json messages = Json::parse(messages_json, nullptr, false);
  const Json tools = tools_json.empty() ? Json::array() : Json::parse(tools_json, nullptr, false);
  if (!messages.is_array() || !tools.is_array()) return Error{Code::invalid_request, "cannot read messages or tools: a list was expected"};
  for (Json& message : messages) {
    if (!message.is_object() || (message.contains("role") && !message["role"].is_string())) return Error{Code::invalid_request, "cannot read messages: an object with a role was expected"};
    rewrite(message);
  }
  if (!tools.empty()) {
    if (messages.empty() || messages[0].value("role", "") != "system") messages.insert(messages.begin(), Json{{"role", "system"}, {"content", ""}});
    const std::string said = content_of(messages[0]);
    messages[0]["content"] = said + (said.empty() ? "" : "\n\n") + instructions(tools);
  }
  return text_of(messages);
}
