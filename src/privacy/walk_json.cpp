// walk_json: one traversal reads a JSON text's strings, and the same traversal writes them back.
#include "privacy/walk_json.h"

#include <vector>

namespace {

constexpr size_t short_number = 4, short_element = 6;  // digits: a PIN has a name in front of it, and an array is no place for one

size_t leading_digits(std::string_view number) {
  size_t n = 0;
  for (const char c : number) {
    if (c >= '0' && c <= '9') ++n;
    else if (c != '-') break;
  }
  return n;
}
bool is_long_number(const Json& node, bool is_member) {
  return node.is_number() && leading_digits(node.dump()) >= (is_member ? short_number : short_element);
}

// By brackets and commas outside strings; what is no JSON at all may pass or not.
bool unwieldy(std::string_view json, size_t max_members) {
  struct Open { bool object; size_t members; };
  std::vector<Open> open;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      if (c == '\\') ++i;
    } else if (c == '[' || c == '{') {
      if (open.size() == max_json_depth) return true;
      open.push_back({c == '{', 1});
    } else if ((c == ']' || c == '}') && !open.empty()) {
      open.pop_back();
    } else if (c == ',' && !open.empty() && open.back().object && ++open.back().members > max_members) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<Json> parse_json(std::string_view text, size_t max_members) {
  if (unwieldy(text, max_members)) return std::nullopt;
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

JsonTexts::JsonTexts(Json json) : json_(std::move(json)) { read(json_, "", false); }

void JsonTexts::read(const Json& node, const std::string& lead, bool is_member) {
  if (node.is_string()) {
    texts_.push_back({What::value, lead, node.get_ref<const std::string&>()});
  } else if (is_long_number(node, is_member)) {
    texts_.push_back({What::number, lead, node.dump()});
  } else if (node.is_array()) {
    for (const Json& element : node) read(element, lead, false);
  } else if (node.is_object()) {
    for (const auto& [key, value] : node.items()) {
      texts_.push_back({What::key, "", key});
      read(value, key, true);
    }
  }
}

Json JsonTexts::put_together() const {
  size_t next = 0;
  return write(json_, false, next);
}

Json JsonTexts::write(const Json& node, bool is_member, size_t& next) const {
  if (node.is_string()) return texts_[next++].text;
  if (is_long_number(node, is_member)) {
    const std::string& text = texts_[next++].text;
    return text == node.dump() ? node : Json(text);
  }
  if (node.is_array()) {
    Json out = Json::array();
    for (const Json& element : node) out.push_back(write(element, false, next));
    return out;
  }
  if (!node.is_object()) return node;
  Json out = Json::object();
  for (const auto& [key, value] : node.items()) {
    const std::string& name = texts_[next++].text;
    out.get_ref<Json::object_t&>().emplace_back(name, write(value, true, next));  // two keys never become one
  }
  return out;
}
