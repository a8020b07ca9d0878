// walk_json: the strings, keys and longer numbers of a JSON text, one by one, and the text again with what became of them.
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include "core/json_writer.h"

// Deeper texts, and objects of more members (whose time would grow with the square), are not taken apart: they are read as plain text.
inline constexpr size_t max_json_depth = 200, max_json_members = 512;
std::optional<Json> parse_json(std::string_view text, size_t max_members = max_json_members);  // nullopt: no JSON, or beyond a limit

class JsonTexts {
 public:
  explicit JsonTexts(Json json);                         // from parse_json
  enum class What : uint8_t { value, key, number };
  struct Text { What what; std::string lead, text; };    // lead: the key in front of a value, or of the array it stands in
  std::deque<Text>& texts() { return texts_; }           // each once, in order; addresses stay
  Json put_together() const;                             // a number that was changed becomes a string

 private:
  void read(const Json& node, const std::string& lead, bool is_member);
  Json write(const Json& node, bool is_member, size_t& next) const;
  Json json_;
  std::deque<Text> texts_;
};
