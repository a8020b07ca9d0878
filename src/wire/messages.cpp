// messages: checks and normalises messages, tools and prompts, so that a template meets what it was written for.
#include "wire/messages.h"

#include <algorithm>
#include <fmt/format.h>

namespace {

constexpr size_t max_prompts = 64;  // of one request
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

// One prompt: a text or a list of ids.
bool read_one_prompt(JsonView json, std::vector<Prompt>& prompts) {
  std::string_view text;
  if (json.get(text) == simdjson::SUCCESS) return prompts.push_back({std::string(text), {}}), true;
  Prompt& prompt = prompts.emplace_back();
  return json.is_array() && read_token_ids(json, prompt.ids) && !prompt.ids.empty();
}

bool is_named(const Json& tool, const char* member) {
  return tool.contains(member) && tool[member].is_object() && tool[member].contains("name") && tool[member]["name"].is_string();
}

// {"type":"function","name",…} as {"type":"function","function":{"name",…}}.
Json nested_tool(const Json& tool) {
  Json function = tool;
  function.erase("type");
  return {{"type", "function"}, {"function", std::move(function)}};
}

// {"type":"allowed_tools", …}: the mode and the names, in the shape of chat completions or of Responses.
Fault read_allowed_tools(ParsedRequest& out, const std::string& at, const Json& choice) {
  const Json& inner = choice.contains("allowed_tools") && choice["allowed_tools"].is_object() ? choice["allowed_tools"] : choice;
  const std::string mode = inner.contains("mode") && inner["mode"].is_string() ? inner["mode"] : "";
  if (mode != "auto" && mode != "required") return fault(at + ".mode", at + ".mode must be auto or required");
  if (!inner.contains("tools") || !inner["tools"].is_array()) return fault(at + ".tools", at + ".tools must be a list", "invalid_type");
  std::vector<std::string> names;
  for (const Json& tool : inner["tools"]) {
    if (is_named(tool, "function")) {
      names.push_back(tool["function"]["name"]);
    } else if (tool.is_object() && tool.contains("name") && tool["name"].is_string()) {
      names.push_back(tool["name"]);
    } else {
      return fault(at + ".tools", at + ".tools must name functions", "invalid_type");
    }
  }
  out.allowed_tools = std::move(names);
  out.chat.tool_choice.kind = mode == "required" ? ToolChoice::Kind::required : ToolChoice::Kind::automatic;
  return std::nullopt;
}

}  // namespace

Fault normalise_message(const std::string& at, Json& message) {
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

void store_messages(ParsedRequest& out, Json checked) {
  Json others = Json::array();
  std::string system;
  bool has_system = false;
  for (Json& message : checked) {
    if (message["role"] != "system" && message["role"] != "developer") {
      others.push_back(std::move(message));
      continue;
    }
    if (has_system) system += "\n\n";
    system += message["content"].get_ref<const std::string&>();
    has_system = true;
  }
  if (has_system) others.insert(others.begin(), Json{{"role", "system"}, {"content", system}});
  out.chat.messages_json = text_of(others);
}

Fault normalise_messages(ParsedRequest& out, const std::string& name, Json given) {
  for (size_t i = 0; i < given.size(); ++i) {
    if (auto wrong = normalise_message(fmt::format("{}[{}]", name, i), given[i])) return wrong;
  }
  store_messages(out, std::move(given));
  return std::nullopt;
}

Fault normalise_tools(ParsedRequest& out, const std::string& name, const Json& given) {
  Json kept = Json::array();
  for (size_t i = 0; i < given.size(); ++i) {
    const Json& tool = given[i];
    const std::string at = fmt::format("{}[{}]", name, i);
    if (!tool.is_object() || !tool.contains("type") || !tool["type"].is_string()) return fault(at + ".type", at + " must be an object with a type", "invalid_type");
    const std::string type = tool["type"];
    if (type != "function") {
      out.ignored.push_back(at + ".type=" + type);
      continue;
    }
    const bool flat = !tool.contains("function") && tool.contains("name") && tool["name"].is_string();
    if (!flat && !is_named(tool, "function")) return fault(at + ".function", at + ".function must be an object with a name", "invalid_type");
    kept.push_back(flat ? nested_tool(tool) : tool);
  }
  if (!kept.empty()) out.chat.tools_json = text_of(kept);
  return std::nullopt;
}

Fault set_messages(ParsedRequest& out, const FieldValue& value) { return normalise_messages(out, value.name, copy(value.json)); }
Fault set_tools(ParsedRequest& out, const FieldValue& value) { return normalise_tools(out, value.name, copy(value.json)); }

Fault set_tool_choice(ParsedRequest& out, const FieldValue& value) {
  ToolChoice& choice = out.chat.tool_choice;
  std::string_view text;
  if (value.json.get(text) == simdjson::SUCCESS) {
    if (text != "auto" && text != "none" && text != "required") return fault(value.name, value.name + " must be none, auto, required or a function");
    choice.kind = text == "auto" ? ToolChoice::Kind::automatic : text == "none" ? ToolChoice::Kind::none : ToolChoice::Kind::required;
    return std::nullopt;
  }
  if (!value.json.is_object()) return wrong_type(value.name, "a string or an object", value.json);
  const Json given = copy(value.json);
  const std::string type = given.contains("type") && given["type"].is_string() ? given["type"] : "";
  if (type == "allowed_tools") return read_allowed_tools(out, value.name, given);
  const bool inside = is_named(given, "function"), beside = given.contains("name") && given["name"].is_string();
  if (type != "function" || (!inside && !beside)) return fault(value.name, value.name + " must name a function");
  choice.kind = ToolChoice::Kind::named;
  choice.name = inside ? given["function"]["name"] : given["name"];
  return std::nullopt;
}

Fault set_prompt(ParsedRequest& out, const FieldValue& value) { return read_prompts(value, max_prompts, out.prompts); }

Fault read_prompts(const FieldValue& value, size_t most, std::vector<Prompt>& prompts) {
  constexpr const char* expected = "a string, a list of token ids, or a list of such";
  const JsonView json = value.json;
  if (!json.is_string() && !json.is_array()) return wrong_type(value.name, expected, json);
  const bool several = json.is_array() && simdjson::dom::array(json).size() > 0 && !simdjson::dom::array(json).at(0).is_number();
  const auto wrong = fault(value.name, fmt::format("{} must be {}", value.name, expected), "invalid_type");
  if (!several) return read_one_prompt(json, prompts) ? std::nullopt : wrong;
  if (simdjson::dom::array(json).size() > most) return fault(value.name, fmt::format("{} must hold at most {} prompts", value.name, most));
  for (const JsonView item : simdjson::dom::array(json)) {
    if (!read_one_prompt(item, prompts)) return wrong;
  }
  return std::nullopt;
}

Json messages_schema() {
  const Json part = {{"type", "object"}, {"properties", {{"type", {{"enum", {"text"}}}}, {"text", {{"type", "string"}}}}}, {"required", {"type", "text"}}};
  const Json content = {{"anyOf", Json::array({Json{{"type", {"string", "null"}}}, Json{{"type", "array"}, {"items", part}}})}};
  Json message = {{"type", "object"}, {"properties", {{"role", {{"enum", Json(std::vector<std::string>(std::begin(roles), std::end(roles)))}}}, {"content", content}}}, {"required", {"role"}}};
  return {{"type", "array"}, {"minItems", 1}, {"items", std::move(message)}};
}

Json tools_schema() {
  const Json function = {{"type", "object"},
                         {"properties", {{"name", {{"type", "string"}}}, {"description", {{"type", "string"}}}, {"parameters", {{"type", "object"}}}, {"strict", {{"type", {"boolean", "null"}}}}}},
                         {"required", {"name"}}};
  const Json tool = {{"type", "object"}, {"properties", {{"type", {{"type", "string"}}}, {"function", function}}}, {"required", {"type"}}};
  return {{"type", "array"}, {"items", tool}};
}

Json tool_choice_schema() {
  const Json named = {{"type", "object"}, {"properties", {{"type", {{"enum", {"function", "allowed_tools"}}}}}}, {"required", {"type"}}};
  return {{"anyOf", Json::array({Json{{"enum", {"none", "auto", "required", nullptr}}}, named})}};
}

Json prompt_schema() { return prompts_schema(max_prompts); }

Json prompts_schema(size_t most) {
  const Json text = {{"type", "string"}}, ids = {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}, {"minItems", 1}};
  return {{"anyOf", Json::array({text, ids, Json{{"type", "array"}, {"items", {{"anyOf", Json::array({text, ids})}}}, {"minItems", 1}, {"maxItems", most}}})}};
}
