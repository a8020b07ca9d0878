// messages: checks and normalises messages, tools and prompts, so that a template meets what it was written for.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include "wire/fields.h"

namespace {

constexpr std::string_view roles[] = {"system", "developer", "user", "assistant", "tool", "function"};

// One content part's text appended; only text can be read so far.
Fault append_part(const std::string& at, const Json& part, std::string& text) {
  if (!part.is_object() || !part.contains("type") || !part["type"].is_string()) return fault(at, at + " must be an object with a type", "invalid_type");
  const std::string type = part["type"];
  if (type != "text" && type != "input_text" && type != "output_text") return fault(at + ".type", at + ": only text parts can be read", "unsupported");
  if (!part.contains("text") || !part["text"].is_string()) return fault(at + ".text", at + ".text must be a string", "invalid_type");
  if (!text.empty()) text += '\n';
  text += part["text"].get_ref<const std::string&>();
  return std::nullopt;
}

Fault flatten_content(const std::string& at, Json& message) {
  if (!message.contains("content")) return message["role"] == "assistant" ? std::nullopt : fault(at + ".content", at + ".content is required", "missing_field");
  Json& content = message["content"];
  if (content.is_string()) return std::nullopt;
  if (content.is_null()) {
    if (message["role"] == "assistant") return std::nullopt;
    return fault(at + ".content", at + ".content must be a string or a list of parts, not null", "invalid_type");
  }
  if (!content.is_array()) return fault(at + ".content", at + ".content must be a string or a list of parts", "invalid_type");
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    if (auto wrong = append_part(fmt::format("{}.content[{}]", at, i), content[i], text)) return wrong;
  }
  content = std::move(text);
  return std::nullopt;
}

Fault check_tool_calls(const std::string& at, const Json& calls) {
  if (!calls.is_array()) return fault(at, at + " must be a list", "invalid_type");
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string here = fmt::format("{}[{}].function", at, i);
    const bool named = calls[i].is_object() && calls[i].contains("function") && calls[i]["function"].is_object() &&
                       calls[i]["function"].contains("name") && calls[i]["function"]["name"].is_string();
    if (!named) return fault(here, here + " must be an object with a name", "invalid_type");
  }
  return std::nullopt;
}

Fault check_message(const std::string& at, Json& message) {
  if (!message.is_object()) return fault(at, at + " must be an object", "invalid_type");
  const auto role = message.find("role");
  if (role == message.end()) return fault(at + ".role", at + ".role is required", "missing_field");
  if (!role->is_string()) return fault(at + ".role", at + ".role must be a string", "invalid_type");
  if (std::find(std::begin(roles), std::end(roles), role->get_ref<const std::string&>()) == std::end(roles)) {
    return fault(at + ".role", at + ".role must be system, developer, user, assistant, tool or function");
  }
  for (const char* name : {"reasoning", "reasoning_content"}) {
    const auto found = message.find(name);
    if (found != message.end() && !found->is_string() && !found->is_null()) return fault(at + "." + name, at + "." + name + " must be a string", "invalid_type");
  }
  if (message.contains("reasoning")) {  // templates know reasoning_content
    Json reasoning = std::move(message["reasoning"]);
    message.erase("reasoning");
    if (!message.contains("reasoning_content")) message["reasoning_content"] = std::move(reasoning);
  }
  const auto calls = message.find("tool_calls");
  if (calls != message.end() && calls->is_null()) {
    message.erase("tool_calls");
  } else if (calls != message.end()) {
    if (auto wrong = check_tool_calls(at + ".tool_calls", *calls)) return wrong;
  }
  return flatten_content(at, message);
}

// Ids of one prompt; false when the list holds anything else.
bool read_ids(JsonView list, std::vector<TokenId>& ids) {
  for (const JsonView item : simdjson::dom::array(list)) {
    int64_t id = 0;
    if (item.get(id) != simdjson::SUCCESS || id < 0 || id > INT32_MAX) return false;
    ids.push_back(static_cast<TokenId>(id));
  }
  return !ids.empty();
}

}  // namespace

Fault read_messages(ParsedRequest& out, JsonView messages) {
  Json given = copy(messages), others = Json::array();
  std::string system;
  bool has_system = false;
  for (size_t i = 0; i < given.size(); ++i) {
    Json& message = given[i];
    if (auto wrong = check_message(fmt::format("messages[{}]", i), message)) return wrong;
    if (message["role"] != "system" && message["role"] != "developer") {
      others.push_back(std::move(message));
      continue;
    }
    if (has_system) system += "\n\n";
    system += message["content"].get_ref<const std::string&>();
    has_system = true;
  }
  if (has_system) others.insert(others.begin(), Json{{"role", "system"}, {"content", system}});
  out.chat.messages_json = others.dump(-1, ' ', false, Json::error_handler_t::replace);
  return std::nullopt;
}

Fault read_tools(ParsedRequest& out, JsonView tools) {
  Json kept = Json::array(), given = copy(tools);
  for (size_t i = 0; i < given.size(); ++i) {
    const Json& tool = given[i];
    const std::string at = fmt::format("tools[{}]", i);
    if (!tool.is_object() || !tool.contains("type") || !tool["type"].is_string()) return fault(at + ".type", at + " must be an object with a type", "invalid_type");
    const std::string type = tool["type"];
    if (type != "function") {
      out.ignored.push_back(at + ".type=" + type);
      continue;
    }
    const bool named = tool.contains("function") && tool["function"].is_object() && tool["function"].contains("name") && tool["function"]["name"].is_string();
    if (!named) return fault(at + ".function", at + ".function must be an object with a name", "invalid_type");
    kept.push_back(tool);
  }
  if (!kept.empty()) out.chat.tools_json = kept.dump(-1, ' ', false, Json::error_handler_t::replace);
  return std::nullopt;
}

Fault read_tool_choice(ParsedRequest& out, JsonView choice) {
  std::string_view text;
  if (choice.get(text) == simdjson::SUCCESS) {
    if (text == "auto") return std::nullopt;
    if (text == "none") return out.tools_off = true, std::nullopt;
    if (text == "required") return fault("tool_choice", "tool_choice required cannot be enforced yet", "unsupported");
    return fault("tool_choice", "tool_choice must be none, auto, required or a function");
  }
  if (choice.is_object()) return fault("tool_choice", "a named tool_choice cannot be enforced yet", "unsupported");
  return fault("tool_choice", std::string("tool_choice must be a string or an object, not ") + kind_name(choice), "invalid_type");
}

Fault read_prompt(ParsedRequest& out, JsonView prompt) {
  std::string_view text;
  if (prompt.get(text) == simdjson::SUCCESS) return out.chat.prompt = std::string(text), std::nullopt;
  const auto wrong = fault("prompt", std::string("prompt must be a string or a list of token ids, not ") + kind_name(prompt), "invalid_type");
  if (!prompt.is_array()) return wrong;
  const simdjson::dom::array list(prompt);
  if (list.size() == 0) return fault("prompt", "prompt must not be an empty list");
  const JsonView first = list.at(0);
  if (first.is_string() || first.is_array()) {
    if (list.size() > 1) return fault("prompt", "prompt must be one prompt: a list of several cannot be answered", "unsupported");
    return read_prompt(out, first);
  }
  if (!read_ids(prompt, out.chat.prompt_ids)) return fault("prompt", "prompt must be a string or a list of token ids", "invalid_type");
  return std::nullopt;
}
