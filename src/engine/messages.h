// messages: the messages of a request, read once.
#pragma once
#include <string>
#include "core/json.h"

struct RequestMessages {
  JsonDocument document;
  simdjson::dom::array list;
  static Result<RequestMessages> read(const std::string& messages_json);
  size_t size() const { return list.size(); }
  JsonView operator[](size_t i) const { return list.at(i); }
  std::string first(size_t n, std::string_view then = {}) const;  // the first n and one more, as a JSON list
};

// Refuses what no template reads: roles that are none, content that is missing or not text. The message begins with the place: "messages[1].role: …".
Status check_readable(const std::string& messages_json);
