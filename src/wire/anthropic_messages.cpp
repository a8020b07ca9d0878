// anthropic_messages: content blocks become messages as templates read them; tools become functions.
#include <algorithm>
#include <fmt/format.h>
#include "wire/anthropic_request.h"

namespace {

// Blocks that only Anthropic's own servers make or read.
bool is_foreign(std::string_view type) {
  constexpr std::string_view foreign[] = {"redacted_thinking", "server_tool_use", "mcp_tool_use", "container_upload", "compaction", "tool_reference"};
  return std::find(std::begin(foreign), std::end(foreign), type) != std::end(foreign) || (type.ends_with("_tool_result"));
}

Fault member_text(const std::string& at, JsonView object, const char* name, std::string_view& out) {
  const auto value = find(object, name);
  const std::string param = at + "." + name;
  if (!value) return fault(param, param + " is required", "missing_field");
  return value->get(out) == simdjson::SUCCESS ? std::nullopt : wrong_type(param, "a string", *value);
}

void append_line(std::string& text, std::string_view more) {
  if (!text.empty()) text += '\n';
  text += more;
}

void add_system_text(AnthropicRequest& out, std::string text) {
  out.messages.push_back({{"role", "system"}, {"content", std::move(text)}});
}

// One message being taken apart. Tool results become messages of their own, in place.
class Turn {
 public:
  Turn(AnthropicRequest& out, std::string at, std::string_view role) : out_(out), at_(std::move(at)), role_(role) {}
  Fault read(JsonView content);

 private:
  Fault read_block(const std::string& at, JsonView block);
  Fault read_blocks(const std::string& at, JsonView blocks);
  Fault read_tool_use(const std::string& at, JsonView block);
  Fault read_tool_result(const std::string& at, JsonView block);
  Fault read_text_of(const std::string& at, JsonView content, std::string& text);  // a string, or blocks of nothing but text
  Fault read_document(const std::string& at, JsonView block, std::string& text);
  Fault read_text_block(const std::string& at, std::string_view type, JsonView block, std::string& text);
  void end_message();
  AnthropicRequest& out_;
  const std::string at_, role_;
  std::string text_, thinking_;
  bool has_text_ = false;
  Json calls_ = Json::array();
};

Fault Turn::read(JsonView content) {
  std::string_view text;
  if (content.get(text) == simdjson::SUCCESS) {
    text_ = text;
    has_text_ = true;
  } else if (!content.is_array()) {
    return wrong_type(at_ + ".content", "a string or a list of blocks", content);
  } else if (auto wrong = read_blocks(at_ + ".content", content)) {
    return wrong;
  }
  end_message();
  return std::nullopt;
}

void Turn::end_message() {
  if (role_ == "system") return add_system_text(out_, std::move(text_));
  if (!has_text_ && thinking_.empty() && calls_.empty()) return;
  Json message = {{"role", role_}, {"content", text_}};
  if (!thinking_.empty()) message["reasoning_content"] = thinking_;
  if (!calls_.empty()) message["tool_calls"] = std::move(calls_);
  out_.messages.push_back(std::move(message));
  text_.clear();
  has_text_ = false;
}

Fault Turn::read_blocks(const std::string& at, JsonView blocks) {
  size_t i = 0;
  for (const JsonView block : simdjson::dom::array(blocks)) {
    if (auto wrong = read_block(fmt::format("{}[{}]", at, i++), block)) return wrong;
  }
  return std::nullopt;
}

Fault Turn::read_block(const std::string& at, JsonView block) {
  if (!block.is_object()) return wrong_type(at, "an object with a type", block);
  std::string_view type;
  if (auto wrong = member_text(at, block, "type", type)) return wrong;
  if (type == "thinking" && role_ == "assistant") {
    std::string_view text;
    if (auto wrong = member_text(at, block, "thinking", text)) return wrong;
    if (!text.empty()) append_line(thinking_, text);
    return std::nullopt;
  }
  if (type == "tool_use" && role_ == "assistant") return read_tool_use(at, block);
  if (type == "tool_result" && role_ == "user") return read_tool_result(at, block);
  has_text_ = has_text_ || !is_foreign(type);
  return read_text_block(at, type, block, text_);
}

// Blocks that say something in any place.
Fault Turn::read_text_block(const std::string& at, std::string_view type, JsonView block, std::string& text) {
  std::string_view said;
  if (find(block, "citations") && type != "text") out_.ignored.push_back(at + ".citations");
  if (type == "text") {
    if (auto wrong = member_text(at, block, "text", said)) return wrong;
    append_line(text, said);
    return std::nullopt;
  }
  if (type == "document") return read_document(at, block, text);
  if (is_foreign(type)) return out_.ignored.push_back(fmt::format("{}.type={}", at, type)), std::nullopt;
  if (type == "image") return fault(at, at + ": images cannot be read by this model", "unsupported");
  return fault(at + ".type", at + ".type: no such block can be read in a message of this role", "unsupported");
}

Fault Turn::read_document(const std::string& at, JsonView block, std::string& text) {
  const auto source = find(block, "source");
  if (!source || !source->is_object()) return fault(at + ".source", at + ".source must be an object", source ? "invalid_type" : "missing_field");
  std::string_view type, data;
  if (auto wrong = member_text(at + ".source", *source, "type", type)) return wrong;
  if (const auto title = find_string(block, "title")) append_line(text, *title);
  if (const auto content = find(*source, "content"); type == "content" && content) return read_text_of(at + ".source.content", *content, text);
  if (type != "text") return fault(at + ".source.type", at + ": only documents of plain text can be read", "unsupported");
  if (auto wrong = member_text(at + ".source", *source, "data", data)) return wrong;
  append_line(text, data);
  return std::nullopt;
}

Fault Turn::read_text_of(const std::string& at, JsonView content, std::string& text) {
  std::string_view said;
  if (content.get(said) == simdjson::SUCCESS) return append_line(text, said), std::nullopt;
  if (!content.is_array()) return wrong_type(at, "a string or a list of blocks", content);
  size_t i = 0;
  for (const JsonView block : simdjson::dom::array(content)) {
    const std::string here = fmt::format("{}[{}]", at, i++);
    if (!block.is_object()) return wrong_type(here, "an object with a type", block);
    std::string_view type;
    if (auto wrong = member_text(here, block, "type", type)) return wrong;
    if (auto wrong = read_text_block(here, type, block, text)) return wrong;
  }
  return std::nullopt;
}

Fault Turn::read_tool_use(const std::string& at, JsonView block) {
  std::string_view id, name;
  if (auto wrong = member_text(at, block, "id", id)) return wrong;
  if (auto wrong = member_text(at, block, "name", name)) return wrong;
  const auto input = find(block, "input");
  if (!input || !input->is_object()) return fault(at + ".input", at + ".input must be an object", input ? "invalid_type" : "missing_field");
  calls_.push_back({{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", std::string(simdjson::minify(*input))}}}});
  return std::nullopt;
}

Fault Turn::read_tool_result(const std::string& at, JsonView block) {
  std::string_view id;
  if (auto wrong = member_text(at, block, "tool_use_id", id)) return wrong;
  bool failed = false;
  if (const auto flag = find(block, "is_error"); flag && flag->get(failed) != simdjson::SUCCESS) return wrong_type(at + ".is_error", "true or false", *flag);
  std::string text;
  if (const auto content = find(block, "content")) {
    if (auto wrong = read_text_of(at + ".content", *content, text)) return wrong;
  }
  if (failed && !text.starts_with("Error") && !text.starts_with("error")) text.insert(0, "Error: ");  // templates have no field for it
  end_message();
  out_.messages.push_back({{"role", "tool"}, {"tool_call_id", id}, {"content", text}});
  return std::nullopt;
}

}  // namespace

Fault read_anthropic_system(AnthropicRequest& out, JsonView system) {
  std::string_view text;
  if (system.get(text) == simdjson::SUCCESS) return add_system_text(out, std::string(text)), std::nullopt;
  if (!system.is_array()) return wrong_type("system", "a string or a list of text blocks", system);
  size_t i = 0;
  for (const JsonView block : simdjson::dom::array(system)) {
    const std::string at = fmt::format("system[{}]", i++);
    if (!block.is_object()) return wrong_type(at, "an object with a type", block);
    std::string_view type;
    if (auto wrong = member_text(at, block, "type", type)) return wrong;
    if (type != "text") return fault(at + ".type", at + ".type must be text", "unsupported");
    if (auto wrong = member_text(at, block, "text", text)) return wrong;
    add_system_text(out, std::string(text));
  }
  return std::nullopt;
}

Fault read_anthropic_messages(AnthropicRequest& out, JsonView messages) {
  size_t i = 0;
  for (const JsonView message : simdjson::dom::array(messages)) {
    const std::string at = fmt::format("messages[{}]", i++);
    if (!message.is_object()) return wrong_type(at, "an object", message);
    std::string_view role;
    if (auto wrong = member_text(at, message, "role", role)) return wrong;
    if (role != "user" && role != "assistant" && role != "system") return fault(at + ".role", at + ".role must be user or assistant");
    const auto content = find(message, "content");
    if (!content) return fault(at + ".content", at + ".content is required", "missing_field");
    if (auto wrong = Turn(out, at, role).read(*content)) return wrong;
  }
  return std::nullopt;
}

Fault read_anthropic_tools(AnthropicRequest& out, JsonView tools) {
  size_t i = 0;
  for (const JsonView tool : simdjson::dom::array(tools)) {
    const std::string at = fmt::format("tools[{}]", i++);
    if (!tool.is_object()) return wrong_type(at, "an object", tool);
    const auto type = find(tool, "type");
    std::string_view type_name = "custom", name, description;
    if (type && type->get(type_name) != simdjson::SUCCESS) return wrong_type(at + ".type", "a string", *type);
    if (type_name != "custom") {
      out.ignored.push_back(fmt::format("{}.type={}", at, type_name));
      continue;
    }
    if (auto wrong = member_text(at, tool, "name", name)) return wrong;
    const auto schema = find(tool, "input_schema"), says = find(tool, "description"), strict = find(tool, "strict");
    if (!schema) return fault(at + ".input_schema", at + ".input_schema is required", "missing_field");
    if (!schema->is_object()) return wrong_type(at + ".input_schema", "an object", *schema);
    Json function = {{"name", name}};
    if (says && says->get(description) != simdjson::SUCCESS) return wrong_type(at + ".description", "a string", *says);
    if (says) function["description"] = description;
    function["parameters"] = copy(*schema);
    bool must_follow = false;
    if (strict && strict->get(must_follow) != simdjson::SUCCESS) return wrong_type(at + ".strict", "true or false", *strict);
    if (must_follow) function["strict"] = true;
    out.tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return std::nullopt;
}
