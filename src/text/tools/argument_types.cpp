// argument types: reading schemas for their types only, and casting.
#include "text/tools/argument_types.h"
#include <algorithm>
#include "text/tools/json_scanner.h"
#include "text/tools/loose.h"

namespace {
constexpr int kDepth = 32;  // of references and combinations

TypeSet named_type(std::string_view name) {
  if (name == "string") return type_string;
  if (name == "integer") return type_integer;
  if (name == "number") return type_number;
  if (name == "boolean") return type_boolean;
  if (name == "null") return type_null;
  if (name == "object") return type_object;
  return name == "array" ? type_array : type_any;
}

TypeSet type_of_value(JsonView value) {
  switch (value.type()) {
    case simdjson::dom::element_type::STRING: return type_string;
    case simdjson::dom::element_type::BOOL: return type_boolean;
    case simdjson::dom::element_type::NULL_VALUE: return type_null;
    case simdjson::dom::element_type::OBJECT: return type_object;
    case simdjson::dom::element_type::ARRAY: return type_array;
    case simdjson::dom::element_type::DOUBLE: return type_number;
    default: return type_integer;
  }
}

template <class F> TypeSet union_of(JsonView list, F types) {
  simdjson::dom::array items;
  if (list.get(items) != simdjson::SUCCESS) return type_any;
  TypeSet set = 0;
  for (JsonView item : items) set |= types(item);
  return set;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_json_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_json_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lowered(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return lower;
}

// JSON's spelling of what people and models write as a number, or "".
std::string number_text(std::string_view text) {
  const auto starts_like_number = [](std::string_view t) { return !t.empty() && (t.front() == '-' || (t.front() >= '0' && t.front() <= '9')); };
  if (starts_like_number(text) && is_json(text)) return std::string(text);
  std::string repaired(text);  // +5, 007, .5, 5.
  if (repaired.starts_with('+')) repaired.erase(0, 1);
  const size_t digits = repaired.starts_with('-');
  while (repaired.size() > digits + 1 && repaired[digits] == '0' && repaired[digits + 1] >= '0' && repaired[digits + 1] <= '9') repaired.erase(digits, 1);
  if (repaired.size() > digits && repaired[digits] == '.') repaired.insert(digits, 1, '0');
  if (repaired.ends_with('.')) repaired += '0';
  return starts_like_number(repaired) && is_json(repaired) ? repaired : "";
}

// 5.0 where a whole number is asked for.
std::string without_zero_fraction(std::string number) {
  const size_t point = number.find('.');
  if (point != number.npos && number.find_first_not_of('0', point + 1) == number.npos) number.resize(point);
  return number;
}
}  // namespace

TypeSet types_of(JsonView schema, JsonView root, int depth) {
  simdjson::dom::object object;
  if (depth > kDepth || schema.get(object) != simdjson::SUCCESS) return type_any;
  TypeSet set = type_any;
  const auto recurse = [&](JsonView part) { return types_of(part, root, depth + 1); };
  if (const auto reference = find_string(schema, "$ref"); reference && reference->starts_with('#')) {
    JsonView target;
    if (root.at_pointer(reference->substr(1)).get(target) == simdjson::SUCCESS) set &= recurse(target);
  }
  if (const auto type = find(schema, "type")) {
    std::string_view name;
    if (type->get(name) == simdjson::SUCCESS) set &= named_type(name);
    else set &= union_of(*type, [](JsonView item) {
        std::string_view text;
        return item.get(text) == simdjson::SUCCESS ? named_type(text) : type_any;
      });
  }
  if (const auto values = find(schema, "enum")) set &= union_of(*values, type_of_value);
  if (JsonView value; object["const"].get(value) == simdjson::SUCCESS) set &= type_of_value(value);
  for (const char* key : {"anyOf", "oneOf"})
    if (const auto parts = find(schema, key)) set &= union_of(*parts, recurse);
  if (simdjson::dom::array parts; object["allOf"].get(parts) == simdjson::SUCCESS)
    for (JsonView part : parts) set &= recurse(part);
  if (find_bool(schema, "nullable").value_or(false)) set |= type_null;
  return set ? set : type_any;  // a schema that nothing satisfies
}

TypeSet ToolTypes::of(std::string_view parameter) const {
  const auto it = parameters.find(parameter);
  return it == parameters.end() ? type_any : it->second;
}

ToolTable::ToolTable(std::span<const ToolSpec> tools) {
  for (const ToolSpec& tool : tools) {
    ToolTypes& types = tools_[tool.name];
    const auto document = JsonDocument::parse("parameters of a tool", tool.parameters_json.empty() ? "{}" : tool.parameters_json);
    if (!document) continue;
    JsonView schema = document->root();
    if (const auto reference = find_string(schema, "$ref"); reference && reference->starts_with('#'))
      if (JsonView target; schema.at_pointer(reference->substr(1)).get(target) == simdjson::SUCCESS) schema = target;
    simdjson::dom::object properties;
    if (const auto declared = ::find(schema, "properties"); declared && declared->get(properties) == simdjson::SUCCESS)
      for (const auto& [name, property] : properties) types.parameters[std::string(name)] = types_of(property, document->root());
  }
}

const ToolTypes* ToolTable::find(std::string_view name) const {
  const auto it = tools_.find(name);
  return it == tools_.end() ? nullptr : &it->second;
}

std::string cast_value(std::string_view text, TypeSet types) {
  const std::string_view core = trimmed(text);
  if (types == type_any) return is_json(core) ? std::string(core) : json_quoted(text);
  const std::string lower = core.size() <= 5 ? lowered(core) : "";
  if ((types & type_null || !(types & type_string)) && (lower == "null" || lower == "none")) return "null";
  if (types & type_boolean && (lower == "true" || lower == "false")) return lower;
  if (types & type_number)
    if (const std::string number = number_text(core); !number.empty()) return types & type_fraction ? number : without_zero_fraction(number);
  const bool fits = (types & type_object && core.starts_with('{')) || (types & type_array && core.starts_with('['));
  if (fits && is_json(core)) return std::string(core);
  if (fits)
    if (std::string json = json_of_python(core); !json.empty()) return json;
  return json_quoted(text);
}
