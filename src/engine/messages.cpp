// messages: reading and cutting a list of messages.
#include "engine/messages.h"

#include <algorithm>

namespace {

constexpr std::string_view roles[] = {"system", "developer", "user", "assistant", "tool", "function"};

Error unreadable(Code code, const std::string& at, const char* why) { return {code, at + ": " + why}; }

Status check_content(const std::string& at, JsonView content) {
  simdjson::dom::array parts;
  if (content.is_string()) return ok_status();
  if (content.get(parts) != simdjson::SUCCESS) return unreadable(Code::invalid_request, at, "a text is needed");
  size_t i = 0;
  for (const JsonView part : parts) {
    const std::string here = at + "[" + std::to_string(i++) + "]";
    const auto type = find_string(part, "type");
    if (type != "text" && type != "input_text" && type != "output_text") return unreadable(Code::unsupported, here + ".type", "only text parts can be read");
    if (!find_string(part, "text")) return unreadable(Code::invalid_request, here + ".text", "a text is needed");
  }
  return ok_status();
}

}  // namespace

Result<RequestMessages> RequestMessages::read(const std::string& messages_json) {
  TRY(JsonDocument document, JsonDocument::parse("messages", messages_json));
  simdjson::dom::array list;
  if (document.root().get(list) != simdjson::SUCCESS) return Error{Code::invalid_request, "cannot read messages: an array was expected"};
  return RequestMessages{std::move(document), list};
}

std::string RequestMessages::first(size_t n, std::string_view then) const {
  std::string text = "[";
  for (size_t i = 0; i < n; ++i) text.append(i > 0 ? "," : "").append(simdjson::minify((*this)[i]));
  if (!then.empty()) text.append(n > 0 ? "," : "").append(then);
  return text + "]";
}

Status check_readable(const std::string& messages_json) {
  TRY(const RequestMessages messages, RequestMessages::read(messages_json));
  size_t i = 0;
  for (const JsonView message : messages.list) {
    const std::string at = "messages[" + std::to_string(i++) + "]";
    const auto role = find_string(message, "role");
    if (!role || std::find(std::begin(roles), std::end(roles), *role) == std::end(roles)) return unreadable(Code::invalid_request, at + ".role", "no such role can be read");
    if (const auto content = find(message, "content")) {
      TRY_STATUS(check_content(at + ".content", *content));
    } else if (*role != "assistant") {
      return unreadable(Code::invalid_request, at + ".content", "a text is needed");
    }
  }
  return ok_status();
}
