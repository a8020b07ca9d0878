// table: kinds, ranges, unknown and repeated names, and schemas of fields.
#include "wire/table.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include "wire/names.h"

namespace {

using Kind = Field::Kind;

constexpr std::string_view tolerated[] = {"user", "metadata", "store", "service_tier", "safety_identifier"};

std::vector<std::string> split_words(std::string_view words) {
  std::vector<std::string> out;
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    out.emplace_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return out;
}

std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) out += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return out;
}

std::string expectation(const Field& field) {
  const auto range = [&](const char* what) {
    if (field.low == field.high) return fmt::format("{}", field.low);
    if (field.high >= int_max) return fmt::format("{} of at least {}", what, field.low);
    return fmt::format("{} from {} to {}", what, field.low, field.high);
  };
  const auto bounded = [&](std::string what, const char* of) { return field.high >= no_limit ? what : what + fmt::format(" of at most {} {}", field.high, of); };
  switch (field.kind) {
    case Kind::boolean: return "true or false";
    case Kind::integer: return range("an integer");
    case Kind::number: return range("a number");
    case Kind::text: return field.low > 0 ? bounded("a non-empty string", "bytes") : bounded("a string", "bytes");
    case Kind::word: return listed(split_words(field.words));
    case Kind::text_list: return fmt::format("a string or a list of at most {} strings", field.high);
    case Kind::object: return "an object";
    case Kind::array: return field.low > 0 ? bounded("a non-empty list", "entries") : bounded("a list", "entries");
    default: return "given";
  }
}

bool beyond_int64(JsonView json) { return json.type() == simdjson::dom::element_type::UINT64; }

bool read_integer(JsonView json, int64_t& out) {
  double number = 0;
  if (json.get(out) == simdjson::SUCCESS) return true;
  if (json.type() != simdjson::dom::element_type::DOUBLE || json.get(number) != simdjson::SUCCESS || number != std::floor(number) || std::fabs(number) > 9e15) return false;
  out = static_cast<int64_t>(number);
  return true;
}

bool read_texts(JsonView json, std::vector<std::string>& out) {
  std::string_view text;
  if (json.get(text) == simdjson::SUCCESS) return out.emplace_back(text), true;
  if (!json.is_array()) return false;
  for (const JsonView item : simdjson::dom::array(json)) {
    if (item.get(text) != simdjson::SUCCESS) return false;
    out.emplace_back(text);
  }
  return true;
}

// Whether `json` is of the field's kind; fills `value`.
bool read_kind(const Field& field, JsonView json, FieldValue& value) {
  std::string_view text;
  switch (field.kind) {
    case Kind::boolean: return json.get(value.flag) == simdjson::SUCCESS;
    case Kind::integer: return beyond_int64(json) || read_integer(json, value.integer);
    case Kind::number: return json.is_number() && json.get(value.number) == simdjson::SUCCESS;
    case Kind::text:
    case Kind::word: return json.get(text) == simdjson::SUCCESS && (value.text = text, true);
    case Kind::text_list: return read_texts(json, value.list);
    case Kind::object: return json.is_object();
    case Kind::array: return json.is_array();
    default: return true;
  }
}

bool in_range(const Field& field, const FieldValue& value) {
  const auto inside = [&](double number) { return number >= field.low && number <= field.high; };
  const auto is_word = [&] {
    const auto words = split_words(field.words);
    return std::find(words.begin(), words.end(), value.text) != words.end();
  };
  switch (field.kind) {
    case Kind::integer: return !beyond_int64(value.json) && inside(static_cast<double>(value.integer));
    case Kind::number: return inside(value.number);
    case Kind::text: return inside(static_cast<double>(value.text.size()));
    case Kind::word: return is_word();
    case Kind::text_list: return inside(static_cast<double>(value.list.size()));
    case Kind::array: return inside(static_cast<double>(simdjson::dom::array(value.json).size()));
    default: return true;
  }
}

// Any object, at any depth, that has a key twice. Depth is bounded by the parser.
Fault find_duplicate(JsonView value) {
  if (value.is_array()) {
    for (const JsonView item : simdjson::dom::array(value)) {
      if (auto found = find_duplicate(item)) return found;
    }
  } else if (value.is_object()) {
    std::unordered_set<std::string_view> seen;
    for (const auto [key, item] : simdjson::dom::object(value)) {
      if (!seen.insert(key).second) return fault(shown_name(key), "the request body has a key twice in one object", "invalid_json");
      if (auto found = find_duplicate(item)) return found;
    }
  }
  return std::nullopt;
}

// {"type": [NAME, "null"]} with the range under the given keywords.
Json ranged_schema(const char* type, const Field& field, const char* least, const char* most) {
  const auto plain = [](double number) { return number == std::floor(number) && std::fabs(number) < 9e15 ? Json(static_cast<int64_t>(number)) : Json(number); };
  Json out = {{"type", {type, "null"}}};
  if (least == std::string_view("minimum") || field.low > 0) out[least] = plain(field.low);
  if (field.high < no_limit) out[most] = plain(field.high);
  return out;
}

Json bare_schema(const Field& field) {
  switch (field.kind) {
    case Kind::boolean: return {{"type", {"boolean", "null"}}};
    case Kind::integer: return ranged_schema("integer", field, "minimum", "maximum");
    case Kind::number: return ranged_schema("number", field, "minimum", "maximum");
    case Kind::text: return ranged_schema("string", field, "minLength", "maxLength");
    case Kind::word: {
      Json words = split_words(field.words);
      words.push_back(nullptr);
      return {{"enum", std::move(words)}};
    }
    case Kind::text_list: {
      const Json texts = {{"type", "array"}, {"items", {{"type", "string"}}}, {"maxItems", static_cast<int64_t>(field.high)}};
      return {{"anyOf", Json::array({Json{{"type", {"string", "null"}}}, texts})}};
    }
    case Kind::object: return {{"type", {"object", "null"}}};
    case Kind::array: return ranged_schema("array", field, "minItems", "maxItems");
    default: return Json::object();
  }
}

}  // namespace

Fault fault(std::string param, std::string message, std::string code) {
  ApiError error;
  error.message = std::move(message);
  error.param = std::move(param);
  error.code = std::move(code);
  return error;
}

Fault wrong_type(const std::string& param, std::string_view expected, JsonView seen) {
  return fault(param, fmt::format("{} must be {}, not {}", param, expected, kind_name(seen)), "invalid_type");
}

Json copy(JsonView value) { return Json::parse(simdjson::minify(value), nullptr, false); }


const char* kind_name(JsonView value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "true or false";
  if (value.is_string()) return "a string";
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return value.type() == simdjson::dom::element_type::DOUBLE ? "a fractional number" : "a number";
}

Fault FieldReader::check(const Field& field, JsonView json, FieldValue& value) const {
  value.name = prefix_ + field.name;
  value.json = json;
  if (!read_kind(field, json, value)) return wrong_type(value.name, expectation(field), json);
  if (!in_range(field, value)) return fault(value.name, fmt::format("{} must be {}", value.name, expectation(field)));
  return std::nullopt;
}

void FieldReader::list_unknown(std::vector<std::string>& ignored, std::vector<std::string>& unknown) const {
  for (const auto [key, value] : simdjson::dom::object(object_)) {
    if (value.is_null() || known_.contains(key)) continue;
    const std::string name = prefix_ + std::string(key);
    ignored.push_back(name);
    if (!is_tolerated(name) && &unknown != &ignored) unknown.push_back(prefix_ + shown_name(key));
  }
}

Fault parse_body(std::string_view bytes, JsonDocument& out) {
  auto document = JsonDocument::parse("the request body", bytes, std::max<size_t>(bytes.size(), 1024));
  if (!document) return fault("", document.error().message, "invalid_json");
  out = std::move(*document);
  if (!out.root().is_object()) return fault("", std::string("the request body must be a JSON object, not ") + kind_name(out.root()), "invalid_json");
  return find_duplicate(out.root());
}

Fault refuse_ignored(const std::vector<std::string>& ignored) {
  for (const std::string& name : ignored) {
    if (!is_tolerated(name)) return fault(header_safe(name, 64), header_safe(name, 64) + " has no effect here, and strict is true", "ignored_field");
  }
  return std::nullopt;
}

bool is_tolerated(std::string_view name) { return std::find(std::begin(tolerated), std::end(tolerated), name) != std::end(tolerated); }

std::span<const std::string_view> tolerated_fields() { return tolerated; }

Json schema_of(const Field& field) {
  Json out = field.inner ? field.inner() : bare_schema(field);
  if (field.inner && out.contains("type") && out["type"].is_string()) out["type"] = Json::array({out["type"], "null"});
  if (*field.summary) out["description"] = field.summary;
  return out;
}
