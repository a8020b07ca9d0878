// messages: reading and cutting a list of messages.
#include "engine/messages.h"

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
