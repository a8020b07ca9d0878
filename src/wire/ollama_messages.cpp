// ollama_messages: Ollama's messages in the shape that templates read, and conversations packed into numbers.
#include <algorithm>
#include <fmt/format.h>
#include "wire/ollama_request.h"

namespace {

using Kind = Field::Kind;

struct Call { std::string name, id; };

// One message as its rows leave it.
struct Message {
  std::string role, content, thinking, tool_name, tool_call_id;
  Json calls = Json::array(), images = Json::array();
  bool gated = false;
};
using In = const FieldValue&;

// The beginnings of base64 that tell what an image is.
std::string_view media_type(std::string_view base64) {
  if (base64.starts_with("iVBOR")) return "image/png";
  if (base64.starts_with("R0lG")) return "image/gif";
  return base64.starts_with("UklG") ? "image/webp" : "image/jpeg";
}

Fault set_images(Message& out, In value) { return read_ollama_images(out.gated, value, out.images); }

// {"function": {"name", "arguments": {…}}}; an id only from clients that keep ours.
Fault set_calls(Message& out, In value) {
  size_t i = 0;
  for (const JsonView call : simdjson::dom::array(value.json)) {
    const std::string at = fmt::format("{}[{}].function", value.name, i++);
    const auto function = call.is_object() ? find(call, "function") : std::nullopt;
    const auto name = function && function->is_object() ? find_string(*function, "name") : std::nullopt;
    if (!name) return fault(at, at + " must be an object with a name", "invalid_type");
    const auto arguments = find(*function, "arguments");
    if (arguments && !arguments->is_object()) return wrong_type(at + ".arguments", "an object", *arguments);
    Json described = {{"name", *name}, {"arguments", arguments ? std::string(simdjson::minify(*arguments)) : std::string("{}")}};
    out.calls.push_back({{"id", find_string(call, "id").value_or("")}, {"type", "function"}, {"function", std::move(described)}});
  }
  return std::nullopt;
}

constexpr Row<Message> rows[] = {
    {{"role", Kind::word, 0, 0, "", "system user assistant tool"}, [](Message& out, In value) -> Fault { return out.role = value.text, std::nullopt; }},
    {{"content", Kind::text}, [](Message& out, In value) -> Fault { return out.content = value.text, std::nullopt; }},
    {{"thinking", Kind::text}, [](Message& out, In value) -> Fault { return out.thinking = value.text, std::nullopt; }},
    {{"images", Kind::array}, set_images},
    {{"tool_calls", Kind::array}, set_calls},
    {{"tool_name", Kind::text}, [](Message& out, In value) -> Fault { return out.tool_name = value.text, std::nullopt; }},
    {{"tool_call_id", Kind::text}, [](Message& out, In value) -> Fault { return out.tool_call_id = value.text, std::nullopt; }},
};

// Calls are answered by name, or in their order; templates want ids.
class CallIds {
 public:
  void name_calls(Json& calls) {
    for (Json& call : calls) {
      if (call["id"] == "") call["id"] = fmt::format("call_{}", count_);
      ++count_;
      open_.push_back({call["function"]["name"], call["id"]});
    }
  }
  std::string answered(const Message& message) {
    const auto fits = [&](const Call& call) { return message.tool_call_id.empty() ? message.tool_name.empty() || call.name == message.tool_name : call.id == message.tool_call_id; };
    const auto found = std::find_if(open_.begin(), open_.end(), fits);
    if (found == open_.end()) return message.tool_call_id;
    std::string id = found->id;
    open_.erase(found);
    return id;
  }

 private:
  std::vector<Call> open_;
  int count_ = 0;
};

Json in_template_shape(Message& message, CallIds& ids) {
  Json out = {{"role", message.role}, {"content", message.content}};
  if (!message.images.empty()) {
    if (!message.content.empty()) message.images.insert(message.images.begin(), Json{{"type", "text"}, {"text", message.content}});
    out["content"] = std::move(message.images);
  }
  if (!message.thinking.empty()) out["reasoning_content"] = message.thinking;
  if (message.role == "assistant" && !message.calls.empty()) {
    ids.name_calls(message.calls);
    out["tool_calls"] = std::move(message.calls);
  }
  if (message.role != "tool") return out;
  if (const std::string id = ids.answered(message); !id.empty()) out["tool_call_id"] = id;
  if (!message.tool_name.empty()) out["name"] = message.tool_name;
  return out;
}

constexpr int bytes_per_number = 3;  // below 2^24: exact in every client's numbers

}  // namespace

Fault read_ollama_images(bool gated, const FieldValue& value, Json& parts) {
  if (simdjson::dom::array(value.json).size() == 0) return std::nullopt;
  if (!gated) return fault(value.name, value.name + ": images cannot be read by this model", "unsupported");
  for (const JsonView image : simdjson::dom::array(value.json)) {
    std::string_view data;
    if (image.get(data) != simdjson::SUCCESS) return wrong_type(value.name, "a list of strings", image);
    parts.push_back({{"type", "image_url"}, {"image_url", {{"url", fmt::format("data:{};base64,{}", media_type(data), data)}}}});
  }
  return std::nullopt;
}

Fault read_ollama_messages(OllamaRequest& out, const std::string& name, JsonView messages) {
  CallIds ids;
  size_t i = 0;
  for (const JsonView json : simdjson::dom::array(messages)) {
    const std::string at = fmt::format("{}[{}]", name, i++);
    if (!json.is_object()) return wrong_type(at, "an object", json);
    Message message;
    message.gated = out.gated;
    FieldReader reader(json, at + ".");
    if (auto wrong = reader.read(rows, message)) return wrong;
    if (message.role.empty()) return fault(at + ".role", at + ".role is required", "missing_field");
    reader.list_unknown(out.ignored, out.chat.gate.unknown_fields);
    out.messages.push_back(in_template_shape(message, ids));
  }
  return std::nullopt;
}

Json pack_context(const Json& messages) {
  const std::string text = text_of(messages);
  Json numbers = Json::array({text.size()});
  for (size_t at = 0; at < text.size(); at += bytes_per_number) {
    uint32_t number = 0;
    for (size_t i = at; i < std::min(at + bytes_per_number, text.size()); ++i) number |= static_cast<uint32_t>(static_cast<unsigned char>(text[i])) << (8 * (i - at));
    numbers.push_back(number);
  }
  return numbers;
}

std::optional<Json> unpack_context(JsonView numbers) {
  std::string text;
  int64_t size = -1, number = 0;
  for (const JsonView json : simdjson::dom::array(numbers)) {
    if (json.get(number) != simdjson::SUCCESS || number < 0) return std::nullopt;
    if (size < 0) {
      size = number;
      continue;
    }
    if (number >= int64_t{1} << (8 * bytes_per_number)) return std::nullopt;
    for (int i = 0; i < bytes_per_number; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
  }
  if (size < 0 || static_cast<size_t>(size) > text.size() || text.size() - static_cast<size_t>(size) >= bytes_per_number) return std::nullopt;
  text.resize(static_cast<size_t>(size));
  const auto document = JsonDocument::parse("context", text, std::max<size_t>(text.size(), 1024));  // bounds the depth
  if (!document || !document->root().is_array()) return std::nullopt;
  return copy(document->root());
}
