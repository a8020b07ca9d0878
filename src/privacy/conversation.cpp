// conversation: digests of messages as a client repeats them.
#include "privacy/conversation.h"

#include "core/json_writer.h"
#include "privacy/digest.h"

namespace {

Json text_or_nothing(const Json& message, const char* name) {
  const auto found = message.find(name);
  return found == message.end() ? Json() : *found;
}

// Names and arguments of calls, without their ids.
Json calls_of(const Json& message) {
  Json out = Json::array();
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || !calls->is_array()) return out;
  for (const Json& call : *calls) {
    if (call.is_object() && call.contains("function")) out.push_back(call["function"]);
  }
  return out;
}

Json kept_of(const Json& message) {
  Json content = text_or_nothing(message, "content");
  if (content.is_null()) content = "";  // of an assistant that only calls tools
  return Json::array({text_or_nothing(message, "role"), std::move(content), calls_of(message)});
}

}  // namespace

std::vector<std::string> message_digests(const ChatRequest& request) {
  if (request.prompt) return {sha256_hex(*request.prompt)};
  const Json messages = Json::parse(request.messages_json, nullptr, false);
  std::vector<std::string> out;
  if (!messages.is_array()) return out;
  Json waiting = Json::array();
  for (const Json& message : messages) {
    if (!message.is_object()) continue;
    waiting.push_back(kept_of(message));
    const Json role = text_or_nothing(message, "role");
    if (role == Json("system") || role == Json("developer")) continue;
    out.push_back(sha256_hex(text_of(waiting)));
    waiting = Json::array();
  }
  return out;
}

std::string content_digest(const ChatRequest& request) {
  Json all = {request.messages_json, request.tools_json, request.prompt.value_or(""), request.suffix.value_or(""), request.constraint.text, request.stop};
  return sha256_hex(text_of(all));
}
