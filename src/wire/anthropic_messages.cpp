// anthropic_messages: content blocks become messages as templates read them; tools become functions.
#include <algorithm>
#include <fmt/format.h>
#include "wire/anthropic_request.h"
#include "wire/messages.h"

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

// Text, and in front of a privacy gate also what is not text, in the order of the blocks.
struct Content {
  std::string text;
  Json parts = Json::array();
  void add(Json part) {
    end_text();
    parts.push_back(std::move(part));
  }
  Json take() {
    if (parts.empty()) return std::exchange(text, {});
    end_text();
    return std::exchange(parts, Json::array());
  }

 private:
  void end_text() {
    if (!text.empty()) parts.push_back({{"type", "text"}, {"text", std::exchange(text, {})}});
  }
};

// An image's or a document's place as chat completions write it: {"type":"base64","media_type","data"} or {"type":"url","url"}.
std::string url_of(JsonView source) {
  if (const auto url = find_string(source, "url")) return std::string(*url);
  return fmt::format("data:{};base64,{}", find_string(source, "media_type").value_or("application/octet-stream"), find_string(source, "data").value_or(""));
}

Json media_part(std::string_view type, JsonView block) {
  const auto source = find(block, "source");
  const std::string url = source ? url_of(*source) : "";
  if (type == "image") return {{"type", "image_url"}, {"image_url", {{"url", url}}}};
  return {{"type", "file"}, {"file", {{"file_data", url}}}};
}

constexpr std::string_view block_members(std::string_view type) {
  if (type == "text") return "type text cache_control citations";
  if (type == "thinking") return "type thinking signature cache_control";
  if (type == "tool_use") return "type id name input cache_control caller";
  if (type == "tool_result") return "type tool_use_id content is_error cache_control";
  return "type source title context citations cache_control data";
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
  Fault read_text_of(const std::string& at, JsonView content, Content& said);  // a string, or blocks of nothing but text
  Fault read_document(const std::string& at, JsonView block, Content& said);
  Fault read_text_block(const std::string& at, std::string_view type, JsonView block, Content& said);
  Fault unreadable(Fault wrong, std::string_view type, JsonView block, Content& said);
  void end_message();
  AnthropicRequest& out_;
  const std::string at_, role_;
  Content content_;
  std::string thinking_;
  bool has_text_ = false;
  Json calls_ = Json::array();
};

Fault Turn::read(JsonView content) {
  std::string_view text;
  if (content.get(text) == simdjson::SUCCESS) {
    content_.text = text;
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
  if (role_ == "system" && content_.parts.empty()) return add_system_text(out_, std::move(content_.text));
  if (!has_text_ && thinking_.empty() && calls_.empty()) return;
  Json message = {{"role", role_}, {"content", content_.take()}};
  if (!thinking_.empty()) message["reasoning_content"] = thinking_;
  if (!calls_.empty()) message["tool_calls"] = std::move(calls_);
  out_.messages.push_back(std::move(message));
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
  note_unknown(out_, at, block, block_members(type));
  if (type == "thinking" && role_ == "assistant") {
    std::string_view text;
    if (auto wrong = member_text(at, block, "thinking", text)) return wrong;
    if (!text.empty()) append_line(thinking_, text);
    return std::nullopt;
  }
  if (type == "tool_use" && role_ == "assistant") return read_tool_use(at, block);
  if (type == "tool_result" && role_ == "user") return read_tool_result(at, block);
  has_text_ = has_text_ || !is_foreign(type);
  return read_text_block(at, type, block, content_);
}

// Blocks that say something in any place.
Fault Turn::read_text_block(const std::string& at, std::string_view type, JsonView block, Content& content) {
  std::string_view said;
  if (find(block, "citations") && type != "text") out_.ignored.push_back(at + ".citations");
  if (type == "text") {
    if (auto wrong = member_text(at, block, "text", said)) return wrong;
    append_line(content.text, said);
    return std::nullopt;
  }
  if (type == "document") return read_document(at, block, content);
  if (is_foreign(type)) {
    out_.chat.gate.unknown_fields.push_back(at + ".type");
    return out_.ignored.push_back(fmt::format("{}.type={}", at, type)), std::nullopt;
  }
  if (type == "image") return unreadable(fault(at, at + ": images cannot be read by this model", "unsupported"), type, block, content);
  return unreadable(fault(at + ".type", at + ".type: no such block can be read in a message of this role", "unsupported"), type, block, content);
}

// What is not text is left to a privacy gate where there is one.
Fault Turn::unreadable(Fault wrong, std::string_view type, JsonView block, Content& content) {
  if (!out_.gated) return wrong;
  const bool known = type == "image" || type == "document";
  if (!known) out_.chat.gate.unknown_fields.push_back(wrong->param);
  content.add(known ? media_part(type, block) : Json{{"type", type}});
  return std::nullopt;
}

Fault Turn::read_document(const std::string& at, JsonView block, Content& said) {
  const auto source = find(block, "source");
  if (!source || !source->is_object()) return fault(at + ".source", at + ".source must be an object", source ? "invalid_type" : "missing_field");
  std::string_view type, data;
  if (auto wrong = member_text(at + ".source", *source, "type", type)) return wrong;
  if (const auto title = find_string(block, "title")) append_line(said.text, *title);
  if (const auto content = find(*source, "content"); type == "content" && content) return read_text_of(at + ".source.content", *content, said);
  if (type != "text") return unreadable(fault(at + ".source.type", at + ": only documents of plain text can be read", "unsupported"), "document", block, said);
  if (auto wrong = member_text(at + ".source", *source, "data", data)) return wrong;
  append_line(said.text, data);
  return std::nullopt;
}

Fault Turn::read_text_of(const std::string& at, JsonView content, Content& said) {
  std::string_view whole;
  if (content.get(whole) == simdjson::SUCCESS) return append_line(said.text, whole), std::nullopt;
  if (!content.is_array()) return wrong_type(at, "a string or a list of blocks", content);
  size_t i = 0;
  for (const JsonView block : simdjson::dom::array(content)) {
    const std::string here = fmt::format("{}[{}]", at, i++);
    if (!block.is_object()) return wrong_type(here, "an object with a type", block);
    std::string_view type;
    if (auto wrong = member_text(here, block, "type", type)) return wrong;
    note_unknown(out_, here, block, block_members(type));
    if (auto wrong = read_text_block(here, type, block, said)) return wrong;
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
  Content said;
  if (const auto content = find(block, "content")) {
    if (auto wrong = read_text_of(at + ".content", *content, said)) return wrong;
  }
  if (failed && !said.text.starts_with("Error") && !said.text.starts_with("error")) said.text.insert(0, "Error: ");  // templates have no field for it
  end_message();
  out_.messages.push_back({{"role", "tool"}, {"tool_call_id", id}, {"content", said.take()}});
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
    note_unknown(out, at, block, block_members(type));
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
    note_unknown(out, at, message, "role content");
    if (role != "user" && role != "assistant" && role != "system") {
      if (!out.gated) return fault(at + ".role", at + ".role must be user or assistant");
      out.chat.gate.unknown_fields.push_back(at + ".role");
    }
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
    note_unknown(out, at, tool, "type name description input_schema strict cache_control");
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
