// walk: the shapes of messages and tools that may go to a cloud, member by member, and where text stands in them.
#include <algorithm>
#include <fmt/format.h>
#include "privacy/walk_parts.h"

namespace {

constexpr std::string_view roles[] = {"system", "developer", "user", "assistant", "tool", "function"};
constexpr std::string_view text_parts[] = {"text", "input_text", "output_text"};
constexpr std::string_view opaque_parts[] = {"image_url", "input_image", "image",     "input_audio", "audio",     "file",
                                             "input_file", "document",   "video_url", "video",       "input_video"};
constexpr size_t max_members = 4096;  // of one object in messages or tools, which the wire has bounded before

template <size_t n> bool is_one_of(std::string_view word, const std::string_view (&words)[n]) { return std::find(std::begin(words), std::end(words), word) != std::end(words); }

Error unknown(const std::string& path, std::string_view what) { return {Code::unsupported, fmt::format("{}: {} cannot be sent to a cloud model", path, what)}; }

// A member's name as it may stand in a message: a word of an API, or "*".
std::string shown(std::string_view name) {
  const bool word = !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  return word ? std::string(name) : "*";
}

bool is_blank(const Json& value) { return value.is_null() || (value.is_array() && value.empty()); }

// What every JSON Schema is made of: nothing to look for.
constexpr std::string_view schema_words[] = {"type",  "object",  "properties", "required", "description", "string", "number", "integer", "boolean", "array",
                                             "items", "enum",    "const",      "default",  "format",      "title",  "null",   "anyOf",   "oneOf",   "allOf",
                                             "$ref",  "$schema", "$defs",      "minimum",  "maximum",     "strict", "additionalProperties"};

// Members that answers have without anything in them, and clients send back so: "refusal": null.
constexpr std::string_view often_blank[] = {"refusal", "audio", "annotations", "function_call", "tool_calls", "reasoning_content"};

void erase_blank(Json& object, const auto& is_droppable) {
  std::vector<std::string> blank;
  for (const auto& [name, value] : object.items()) {
    if (is_blank(value) && is_droppable(name)) blank.push_back(name);
  }
  for (const std::string& name : blank) object.erase(name);
}
std::vector<std::string> names_of(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

}  // namespace

// Reads one request into a Walk.
class Walker {
 public:
  explicit Walker(Walk& walk) : walk_(walk), parts_(*walk.parts_) {}

  Status messages(const std::string& text) {
    auto json = parse_json(text, max_members);
    if (!json || !json->is_array()) return unknown("messages", "what is no list of messages");
    parts_.messages = std::move(*json);
    for (size_t i = 0; i < parts_.messages.size(); ++i) TRY_STATUS(message(fmt::format("messages[{}]", i), parts_.messages[i]));
    return ok_status();
  }

  Status tools(const std::string& text) {
    auto json = parse_json(text, max_members);
    if (!json || !json->is_array()) return unknown("tools", "what is no list of tools");
    parts_.tools = std::move(*json);
    for (size_t i = 0; i < parts_.tools.size(); ++i) TRY_STATUS(tool(fmt::format("tools[{}]", i), parts_.tools[i]));
    return ok_status();
  }

  Status constraint(const Constraint& given) {
    parts_.constraint = given;
    if (given.kind == Constraint::Kind::none) return ok_status();
    if (given.kind == Constraint::Kind::json_schema || given.kind == Constraint::Kind::choice) {
      if (auto json = parse_json(given.text)) return json_texts("response_format", "", std::move(*json), {.text = &parts_.constraint.text}, TextField::Kind::name), ok_status();
    }
    if (!given.text.empty()) text("response_format", "", parts_.constraint.text, TextField::Kind::name);
    return ok_status();
  }

  void text(const std::string& path, const std::string& role, std::string& text, TextField::Kind kind = TextField::Kind::text) {
    if (!text.empty()) walk_.fields_.push_back({path, role, "", kind, &text});
  }
  void opaque(const std::string& path, Json* part) {
    walk_.opaque_.push_back(path);
    parts_.opaque.push_back({path, part});
  }

 private:
  Status message(const std::string& at, Json& message);
  Status member(const std::string& at, const std::string& role, const std::string& name, Json& message);
  Status content(const std::string& at, const std::string& role, Json& content);
  Status part(const std::string& at, const std::string& role, Json& part);
  Status calls(const std::string& at, const std::string& role, Json& calls);
  Status function(const std::string& at, const std::string& role, Json& function);
  Status tool(const std::string& at, Json& tool);
  Status text_member(const std::string& at, const std::string& role, Json& value, TextField::Kind kind = TextField::Kind::text) {
    if (!value.is_string()) return unknown(at, "what is no text");
    text(at, role, value.get_ref<std::string&>(), kind);
    return ok_status();
  }
  void json_texts(const std::string& path, const std::string& role, Json json, Walk::Parts::Target target, TextField::Kind value_kind);
  Walk& walk_;
  Walk::Parts& parts_;
};

Status Walker::message(const std::string& at, Json& message) {
  if (!message.is_object()) return unknown(at, "what is no message");
  if (!message.contains("role") || !message["role"].is_string()) return unknown(at + ".role", "a message without a role");
  const std::string role = message["role"];
  if (!is_one_of(role, roles)) return unknown(at + ".role", "an unknown role");
  erase_blank(message, [](std::string_view name) { return is_one_of(name, often_blank); });
  const bool says_more = message.contains("tool_calls") || message.contains("function_call") || message.contains("reasoning_content") || message.contains("refusal");
  if (!message.contains("content") && !says_more) return unknown(at + ".content", "a message without content");
  if (message.contains("content") && message["content"].is_null() && !(role == "assistant" && says_more)) return unknown(at + ".content", "null");
  for (const std::string& name : names_of(message)) TRY_STATUS(member(at, role, name, message));
  return ok_status();
}

Status Walker::member(const std::string& at, const std::string& role, const std::string& name, Json& message) {
  Json& value = message[name];
  const std::string path = at + "." + shown(name);
  if (name == "role") return ok_status();
  if (name == "content") return content(path, role, value);
  if (name == "reasoning_content" || name == "refusal") return text_member(path, role, value);
  if (name == "name" || name == "tool_call_id") return text_member(path, role, value, TextField::Kind::name);
  if (name == "tool_calls") return calls(path, role, value);
  if (name == "function_call" && value.is_object()) return function(path, role, value);
  if (name == "audio" && value.is_object() && value.contains("transcript") && value.size() == 1) return text_member(path + ".transcript", role, value["transcript"]);
  return unknown(path, "an unknown member");
}

Status Walker::content(const std::string& at, const std::string& role, Json& content) {
  if (content.is_null()) return ok_status();
  if (content.is_string()) return text_member(at, role, content);
  if (!content.is_array()) return unknown(at, "what is neither text nor a list of parts");
  for (size_t i = 0; i < content.size(); ++i) TRY_STATUS(part(fmt::format("{}[{}]", at, i), role, content[i]));
  return ok_status();
}

Status Walker::part(const std::string& at, const std::string& role, Json& part) {
  if (!part.is_object() || !part.contains("type") || !part["type"].is_string()) return unknown(at, "a part without a type");
  const std::string type = part["type"];
  if (is_one_of(type, opaque_parts)) return opaque(at, &part), ok_status();
  if (type == "refusal" && part.contains("refusal") && part.size() == 2) return text_member(at + ".refusal", role, part["refusal"]);
  if (!is_one_of(type, text_parts)) return unknown(at + ".type", "an unknown content part");
  if (!part.contains("text")) return unknown(at + ".text", "a text part without text");
  for (const auto& [name, value] : part.items()) {
    if (name != "type" && name != "text" && !is_blank(value)) return unknown(at + "." + shown(name), "an unknown member");
  }
  Json known = {{"type", "text"}, {"text", std::move(part["text"])}};
  part = std::move(known);
  return text_member(at + ".text", role, part["text"]);
}

Status Walker::calls(const std::string& at, const std::string& role, Json& calls) {
  if (!calls.is_array()) return unknown(at, "what is no list of tool calls");
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string here = fmt::format("{}[{}]", at, i);
    Json& call = calls[i];
    if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) return unknown(here, "a tool call without a function");
    call.erase("index");  // left in by clients that gather streams
    for (const auto& [name, value] : call.items()) {
      if (name != "id" && name != "type" && name != "function") return unknown(here + "." + shown(name), "an unknown member");
    }
    if (call.contains("type") && call["type"] != "function") return unknown(here + ".type", "an unknown kind of tool call");
    if (call.contains("id")) TRY_STATUS(text_member(here + ".id", role, call["id"], TextField::Kind::name));
    TRY_STATUS(function(here + ".function", role, call["function"]));
  }
  return ok_status();
}

// {"name", "arguments"}; arguments are a JSON text, or become one.
Status Walker::function(const std::string& at, const std::string& role, Json& function) {
  for (const auto& [name, value] : function.items()) {
    if (name != "name" && name != "arguments") return unknown(at + "." + shown(name), "an unknown member");
  }
  if (!function.contains("name")) return unknown(at + ".name", "a call without a name");
  TRY_STATUS(text_member(at + ".name", role, function["name"], TextField::Kind::name));
  if (!function.contains("arguments")) return ok_status();
  Json& arguments = function["arguments"];
  if (arguments.is_object()) arguments = Json(text_of(arguments));
  if (!arguments.is_string()) return unknown(at + ".arguments", "what is no JSON text");
  std::string& text = arguments.get_ref<std::string&>();
  if (auto json = parse_json(text)) {
    json_texts(at + ".arguments", role, std::move(*json), {.text = &text}, TextField::Kind::text);
  } else {
    this->text(at + ".arguments", role, text);
  }
  return ok_status();
}

Status Walker::tool(const std::string& at, Json& tool) {
  if (!tool.is_object() || !tool.contains("function") || !tool["function"].is_object()) return unknown(at, "a tool that is no function");
  for (const auto& [name, value] : tool.items()) {
    if (name != "type" && name != "function") return unknown(at + "." + shown(name), "an unknown member");
  }
  if (tool.contains("type") && tool["type"] != "function") return unknown(at + ".type", "a tool that is no function");
  Json& function = tool["function"];
  if (!function.contains("name")) return unknown(at + ".function.name", "a function without a name");
  erase_blank(function, [&](std::string_view name) { return name != "name"; });
  for (const std::string& name : names_of(function)) {
    const std::string path = at + ".function." + shown(name);
    Json& value = function[name];
    if (name == "name") {
      TRY_STATUS(text_member(path, "", value, TextField::Kind::name));
    } else if (name == "description") {
      TRY_STATUS(text_member(path, "", value));
    } else if (name == "parameters" && (value.is_object() || value.is_boolean())) {
      json_texts(path, "", value, {.node = &value}, TextField::Kind::name);
    } else if (name != "strict" || !value.is_boolean()) {
      return unknown(path, "an unknown member");
    }
  }
  return ok_status();
}

void Walker::json_texts(const std::string& path, const std::string& role, Json json, Walk::Parts::Target target, TextField::Kind value_kind) {
  auto& nested = parts_.nested.emplace_back(JsonTexts(std::move(json)), target);
  for (JsonTexts::Text& text : nested.first.texts()) {
    using What = JsonTexts::What;
    if (text.text.empty() || is_one_of(text.text, schema_words)) continue;
    const bool prose = text.what == What::value && (text.lead == "description" || text.lead == "title" || text.lead == "$comment");
    const TextField::Kind kind = text.what == What::number ? TextField::Kind::number : text.what == What::key ? TextField::Kind::name : prose ? TextField::Kind::text : value_kind;
    walk_.fields_.push_back({path, role, text.lead, kind, &text.text});
  }
}

Walk::Walk() : parts_(std::make_unique<Parts>()) {}
Walk::~Walk() = default;
Walk::Walk(Walk&&) noexcept = default;
Walk& Walk::operator=(Walk&&) noexcept = default;

Result<Walk> Walk::of(const ChatRequest& request) {
  Walk walk;
  Walker walker(walk);
  Parts& parts = *walk.parts_;
  if (!request.messages_json.empty()) TRY_STATUS(walker.messages(request.messages_json));
  if (!request.tools_json.empty()) TRY_STATUS(walker.tools(request.tools_json));
  parts.tool_choice = request.tool_choice;
  walker.text("tool_choice.function.name", "", parts.tool_choice.name, TextField::Kind::name);
  TRY_STATUS(walker.constraint(request.constraint));
  parts.stop = request.stop;
  for (size_t i = 0; i < parts.stop.size(); ++i) walker.text(fmt::format("stop[{}]", i), "", parts.stop[i]);
  parts.prompt = request.prompt;
  if (parts.prompt) walker.text("prompt", "user", *parts.prompt);
  parts.suffix = request.suffix;
  if (parts.suffix) walker.text("suffix", "user", *parts.suffix);
  if (!request.prompt_ids.empty()) walker.opaque("prompt", nullptr);
  return walk;
}

ScanReport scan_field(const Scanner& scanner, const TextField& field) {
  if (field.lead.empty()) return scanner.scan(*field.text);
  const std::string in_front = field.lead + ": ";
  ScanReport report = scanner.scan(in_front + *field.text);
  const auto shift = [&](std::vector<Finding>& findings) {
    std::erase_if(findings, [&](const Finding& finding) { return finding.end <= in_front.size(); });
    for (Finding& finding : findings) {
      finding.begin = std::max(finding.begin, in_front.size()) - in_front.size();
      finding.end -= in_front.size();
    }
  };
  shift(report.findings);
  shift(report.statements);
  return report;
}
