// messages: checks and normalises messages, tools and prompts, so that a template meets what it was written for.
#include "wire/messages.h"

#include <algorithm>
#include <fmt/format.h>
#include "wire/names.h"

namespace {

constexpr size_t max_prompts = 64;  // of one request
constexpr std::string_view roles[] = {"system", "developer", "user", "assistant", "tool", "function"};

constexpr std::string_view media_types[] = {"image_url", "input_image", "input_audio", "audio", "file", "input_file", "image", "document", "video_url", "input_video"};

template <size_t n> bool is_one_of(const std::string_view (&words)[n], std::string_view word) { return std::find(std::begin(words), std::end(words), word) != std::end(words); }

bool lists(std::string_view words, std::string_view word) { return fmt::format(" {} ", words).find(fmt::format(" {} ", word)) != std::string::npos; }

bool is_text_part(const Json& part) {
  const auto type = part.find("type");
  return type != part.end() && (*type == "text" || *type == "input_text" || *type == "output_text");
}

// Whether a part is text. What is not, is a fault, or is left to the gate.
Fault check_part(ParsedRequest& out, const std::string& at, const Json& part, bool& is_text) {
  if (!part.is_object() || !part.contains("type") || !part["type"].is_string()) return fault(at, at + " must be an object with a type", "invalid_type");
  is_text = is_text_part(part) && part.contains("text") && part["text"].is_string();
  note_unknown(out, at, part, is_text_part(part) ? "type text id status annotations logprobs citations cache_control prompt_cache_breakpoint" : "type image_url input_audio audio file file_id file_data file_url filename detail source title context data video_url cache_control");
  if (is_text) return std::nullopt;
  if (!is_text_part(part)) {
    if (!out.gated) return fault(at + ".type", at + ": only text parts can be read", "unsupported");
    if (!is_one_of(media_types, part["type"].get_ref<const std::string&>())) out.chat.gate.unknown_fields.push_back(at + ".type");
    return std::nullopt;
  }
  const bool is_null = part.contains("text") && part["text"].is_null();
  if (!out.gated || !is_null) return fault(at + ".text", at + ".text must be a string", "invalid_type");
  out.chat.gate.unknown_fields.push_back(at + ".text");
  return std::nullopt;
}

Json text_part(const Json& part) { return {{"type", "text"}, {"text", part["text"]}}; }

// Parts that are all text become one text; others stay parts.
Fault flatten_parts(ParsedRequest& out, const std::string& at, Json& content) {
  std::string text;
  bool all_text = true;
  for (size_t i = 0; i < content.size(); ++i) {
    bool is_text = false;
    if (auto wrong = check_part(out, fmt::format("{}[{}]", at, i), content[i], is_text)) return wrong;
    all_text = all_text && is_text;
    if (!is_text) continue;
    if (!text.empty()) text += '\n';
    text += content[i]["text"].get_ref<const std::string&>();
    content[i] = text_part(content[i]);
  }
  if (all_text) content = std::move(text);
  return std::nullopt;
}

Fault flatten_content(ParsedRequest& out, const std::string& at, Json& message) {
  if (!message.contains("content")) return message["role"] == "assistant" ? std::nullopt : fault(at + ".content", at + ".content is required", "missing_field");
  Json& content = message["content"];
  if (content.is_string()) return std::nullopt;
  if (content.is_null()) {
    if (message["role"] == "assistant") return std::nullopt;
    if (out.gated) return out.chat.gate.unknown_fields.push_back(at + ".content"), std::nullopt;
    return fault(at + ".content", at + ".content must be a string or a list of parts, not null", "invalid_type");
  }
  if (!content.is_array()) return fault(at + ".content", at + ".content must be a string or a list of parts", "invalid_type");
  return flatten_parts(out, at + ".content", content);
}

Fault check_tool_calls(ParsedRequest& out, const std::string& at, const Json& calls) {
  if (!calls.is_array()) return fault(at, at + " must be a list", "invalid_type");
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string here = fmt::format("{}[{}].function", at, i);
    const bool named = calls[i].is_object() && calls[i].contains("function") && calls[i]["function"].is_object() &&
                       calls[i]["function"].contains("name") && calls[i]["function"]["name"].is_string();
    if (!named) return fault(here, here + " must be an object with a name", "invalid_type");
    note_unknown(out, fmt::format("{}[{}]", at, i), calls[i], "id type index function");
    note_unknown(out, here, calls[i]["function"], "name arguments");
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

void note_unknown(ParsedRequest& out, const std::string& at, const Json& object, std::string_view known) {
  for (const auto& [name, value] : object.items()) {
    const bool says_nothing = value.is_null() || (value.is_structured() && value.empty());
    if (!says_nothing && !lists(known, name)) out.chat.gate.unknown_fields.push_back(at + "." + shown_name(name));
  }
}

void note_unknown(ParsedRequest& out, const std::string& at, JsonView object, std::string_view known) {
  for (const auto [name, value] : simdjson::dom::object(object)) {
    if (!value.is_null() && !lists(known, name)) out.chat.gate.unknown_fields.push_back(fmt::format("{}.{}", at, shown_name(name)));
  }
}

Fault normalise_message(ParsedRequest& out, const std::string& at, Json& message) {
  if (!message.is_object()) return fault(at, at + " must be an object", "invalid_type");
  const auto role = message.find("role");
  if (role == message.end()) return fault(at + ".role", at + ".role is required", "missing_field");
  if (!role->is_string()) return fault(at + ".role", at + ".role must be a string", "invalid_type");
  if (!is_one_of(roles, role->get_ref<const std::string&>())) {
    out.chat.gate.unknown_fields.push_back(at + ".role");
    if (!out.gated) return fault(at + ".role", at + ".role must be system, developer, user, assistant, tool or function");
  }
  note_unknown(out, at, message, "role content name tool_calls tool_call_id reasoning reasoning_content refusal");
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
    if (auto wrong = check_tool_calls(out, at + ".tool_calls", *calls)) return wrong;
  }
  return flatten_content(out, at, message);
}

void store_messages(ParsedRequest& out, Json checked) {
  Json others = Json::array();
  std::string system;
  bool has_system = false;
  for (Json& message : checked) {
    const bool leads = message["role"] == "system" || message["role"] == "developer";
    if (!leads || !message["content"].is_string()) {  // not text: left to a gate
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
    if (auto wrong = normalise_message(out, fmt::format("{}[{}]", name, i), given[i])) return wrong;
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
    note_unknown(out, at, tool, tool.contains("function") ? "type function cache_control" : "type name description parameters strict cache_control");
    if (tool.contains("function") && tool["function"].is_object()) note_unknown(out, at + ".function", tool["function"], "name description parameters strict");
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
