// responses: input items become messages, one for each turn.
#include <fmt/format.h>
#include "wire/messages.h"
#include "wire/responses_request.h"

namespace {

bool has_text(const Json& item, const char* member) { return item.contains(member) && item[member].is_string(); }

Fault need_text(const std::string& at, const Json& item, const char* member) {
  if (has_text(item, member)) return std::nullopt;
  const std::string name = at + "." + member;
  return fault(name, name + " must be a string", item.contains(member) ? "invalid_type" : "missing_field");
}

// The text of a reasoning item: what was thought, or else its summary.
std::string thought(const Json& item) {
  std::string text;
  for (const char* member : {"content", "summary"}) {
    if (!text.empty() || !item.contains(member) || !item[member].is_array()) continue;
    for (const Json& part : item[member]) {
      if (part.is_object() && has_text(part, "text")) text += part["text"].get_ref<const std::string&>();
    }
  }
  return text;
}

// Gathers items into messages.
class Turns {
 public:
  Turns(ParsedRequest& out, Json& messages) : out_(out), messages_(messages) {}

  Fault add(const std::string& at, const Json& item) {
    if (!item.is_object()) return fault(at, at + " must be an object", "invalid_type");
    if (item.contains("type") && !item["type"].is_string()) return fault(at + ".type", at + ".type must be a string", "invalid_type");
    const std::string type = item.contains("type") ? item["type"] : "message";
    if (type == "message") return add_message(at, item);
    if (type == "function_call") return add_call(at, item);
    if (type == "function_call_output") return add_output(at, item);
    if (type != "reasoning") {
      out_.chat.gate.unknown_fields.push_back(at + ".type");
      return out_.ignored.push_back(at + ".type=" + type), std::nullopt;
    }
    note_unknown(out_, at, item, "type id summary content encrypted_content status");
    if (has_text(turn_, "content") || turn_.contains("tool_calls")) flush();
    const std::string text = thought(item);
    if (text.empty()) return std::nullopt;
    Json& message = turn();
    message["reasoning_content"] = message.value("reasoning_content", "") + text;
    return std::nullopt;
  }

  void flush() {
    if (turn_.is_object()) messages_.push_back(std::move(turn_));
    turn_ = Json();
  }

 private:
  Json& turn() {
    if (!turn_.is_object()) turn_ = {{"role", "assistant"}};
    return turn_;
  }

  Fault add_message(const std::string& at, const Json& item) {
    note_unknown(out_, at, item, "type id role content status phase");
    Json message = {{"role", item.contains("role") ? item["role"] : Json()}};
    if (!item.contains("role")) message.erase("role");
    if (item.contains("content")) message["content"] = item["content"];
    if (auto wrong = normalise_message(out_, at, message)) return wrong;
    if (message["role"] != "assistant") {
      flush();
      messages_.push_back(std::move(message));
      return std::nullopt;
    }
    if (turn_.is_object() && (turn_.contains("content") || turn_.contains("tool_calls"))) flush();
    turn()["content"] = message.contains("content") ? message["content"] : Json("");
    return std::nullopt;
  }

  Fault add_call(const std::string& at, const Json& item) {
    note_unknown(out_, at, item, "type id call_id name arguments status");
    for (const char* member : {"call_id", "name", "arguments"}) {
      if (auto wrong = need_text(at, item, member)) return wrong;
    }
    Json& message = turn();
    if (!message.contains("content")) message["content"] = nullptr;
    message["tool_calls"].push_back({{"id", item["call_id"]}, {"type", "function"}, {"function", {{"name", item["name"]}, {"arguments", item["arguments"]}}}});
    return std::nullopt;
  }

  Fault add_output(const std::string& at, const Json& item) {
    note_unknown(out_, at, item, "type id call_id output status");
    if (auto wrong = need_text(at, item, "call_id")) return wrong;
    Json message = {{"role", "tool"}, {"tool_call_id", item["call_id"]}};
    if (item.contains("output")) message["content"] = item["output"];
    if (auto wrong = normalise_message(out_, at, message)) {  // the same check of parts, under the item's own word
      if (const size_t found = wrong->param.find(".content"); found == at.size()) wrong->param.replace(found, 8, ".output");
      return wrong;
    }
    flush();
    messages_.push_back(std::move(message));
    return std::nullopt;
  }

  ParsedRequest& out_;
  Json& messages_;
  Json turn_;  // of the assistant, while its items come
};

}  // namespace

Fault append_items(const std::string& at, const Json& items, ParsedRequest& out, Json& messages) {
  Turns turns(out, messages);
  for (size_t i = 0; i < items.size(); ++i) {
    if (auto wrong = turns.add(fmt::format("{}[{}]", at, i), items[i])) return wrong;
  }
  turns.flush();
  return std::nullopt;
}
