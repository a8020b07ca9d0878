// raw text: alternatives of a schema, strings apart from the rest.
#include "text/tools/raw_text.h"
#include <algorithm>
#include "text/tools/argument_types.h"

namespace {
constexpr int kDepth = 32;

// Keywords of `schema` that are neither annotations nor in `known`; null when there are none.
const std::string* unknown_keyword(const Json& schema, std::span<const std::string_view> known) {
  for (auto it = schema.begin(); it != schema.end(); ++it)
    if (!is_schema_annotation(it.key()) && std::ranges::find(known, std::string_view(it.key())) == known.end()) return &it.key();
  return nullptr;
}

TypeSet types_of_json(const Json& schema, const Json& root) {
  const auto document = JsonDocument::parse("a schema", standalone(schema, root).dump());
  return document ? types_of(document->root(), document->root()) : type_any;
}
}  // namespace

bool is_schema_annotation(std::string_view keyword) {
  static constexpr std::string_view words[] = {"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment",
                                               "$schema", "$id", "$anchor", "$defs", "definitions", "contentEncoding", "contentMediaType", "strict"};
  return std::ranges::find(words, keyword) != std::end(words) || keyword.starts_with("x-");
}

Error unsupported_keyword(std::string_view keyword) {
  return {Code::unsupported, "cannot constrain an argument: its schema uses " + std::string(keyword.substr(0, 64)) + " where this model's calls have no JSON"};
}

NodeId RawValues::ended(NodeId node) {
  const NodeId parts[] = {node, builder_.literal(end_)};
  return builder_.sequence(parts);
}

Result<NodeId> RawValues::value(const Json& schema) {
  found_.clear();
  TRY_STATUS(collect(schema, 0));
  if (std::ranges::find(found_, free_text_) != found_.end()) return free_text_;  // whatever else is allowed is among it
  return builder_.choice(found_);
}

Status RawValues::collect_json(const Json& schema) {
  TRY(const NodeId node, builder_.json_schema(standalone(schema, root_).dump()));
  found_.push_back(ended(node));
  return ok_status();
}

Status RawValues::collect_values(const Json& values) {
  for (const Json& value : values) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (text.find(end_.substr(1)) != text.npos) return unsupported_keyword("a value that contains the markup of calls");
    found_.push_back(ended(builder_.literal(text)));
  }
  return ok_status();
}

// anyOf, or oneOf where at most one part allows strings: the others exclude each other within json_schema.
Status RawValues::collect_parts(const Json& schema, const char* keyword, int depth) {
  static constexpr std::string_view known[] = {"anyOf", "oneOf", "type", "nullable"};
  if (const std::string* other = unknown_keyword(schema, known)) return unsupported_keyword(std::string(keyword) + " beside " + *other);
  Json others = Json::array();
  int with_text = 0;
  for (const Json& part : schema[keyword]) {
    if (!(types_of_json(part, root_) & type_string)) {
      others.push_back(part);
      continue;
    }
    if (++with_text > 1 && std::string_view(keyword) == "oneOf") return unsupported_keyword("oneOf with several kinds of strings");
    TRY_STATUS(collect(part, depth + 1));
  }
  return others.empty() ? ok_status() : collect_json(Json{{keyword, std::move(others)}});
}

Status RawValues::collect_text(const Json& schema) {
  static constexpr std::string_view known[] = {"type", "pattern", "minLength", "maxLength", "format", "nullable"};
  if (const std::string* other = unknown_keyword(schema, known)) {
    if (types_of_json(schema, root_) == type_any) return collect_json(schema);  // as JSON, strings too: the parser takes either
    return unsupported_keyword(*other);
  }
  const int64_t least = schema.contains("minLength") && schema["minLength"].is_number() ? schema["minLength"].get<int64_t>() : 0;
  const int64_t most = schema.contains("maxLength") && schema["maxLength"].is_number() ? schema["maxLength"].get<int64_t>() : -1;
  if (schema.contains("format")) return unsupported_keyword("format");
  const NodeId any = builder_.characters({}, true);
  if (schema.contains("pattern") && schema["pattern"].is_string()) {
    if (least > 0 || most >= 0) return unsupported_keyword("pattern beside minLength or maxLength");
    TRY(const NodeId node, builder_.regex(schema["pattern"].get<std::string>(), false));
    found_.push_back(ended(node));
  } else if (most >= 0) {
    found_.push_back(ended(builder_.repeat(any, least, most)));
  } else if (least > 0) {
    const NodeId parts[] = {builder_.repeat(any, least, least), free_text_};
    found_.push_back(builder_.sequence(parts));
  } else {
    found_.push_back(free_text_);
  }
  return ok_status();
}

Status RawValues::collect(const Json& part, int depth) {
  const Json* target = follow_references(part, root_);
  if (!target || depth > kDepth) return unsupported_keyword("$ref without an end");
  if (target != &part && part.size() > 1)
    if (static constexpr std::string_view known[] = {"$ref"}; unknown_keyword(part, known)) return unsupported_keyword("keywords beside $ref");
  const Json& schema = *target;
  const TypeSet types = types_of_json(schema, root_);
  if (!(types & type_string)) return collect_json(schema);
  if (!schema.is_object()) return found_.push_back(free_text_), ok_status();
  if (schema.contains("const")) return collect_values(Json::array({schema["const"]}));
  if (schema.contains("enum") && schema["enum"].is_array()) return collect_values(schema["enum"]);
  for (const char* keyword : {"anyOf", "oneOf"})
    if (schema.contains(keyword) && schema[keyword].is_array()) return collect_parts(schema, keyword, depth);
  if (schema.contains("allOf") && schema["allOf"].is_array() && schema["allOf"].size() == 1) return collect(schema["allOf"][0], depth + 1);
  if (types == type_string || types == type_any) return collect_text(schema);
  // Several types in one schema: each keyword speaks of one of them.
  static constexpr std::string_view of_text[] = {"pattern", "minLength", "maxLength", "format"};
  Json text = {{"type", "string"}}, rest = schema;
  for (const std::string_view keyword : of_text)
    if (const std::string key(keyword); schema.contains(key)) text[key] = schema[key], rest.erase(key);
  rest["type"] = Json::array();
  for (const auto& [type, name] : {std::pair{type_object, "object"}, {type_array, "array"}, {type_boolean, "boolean"}, {type_null, "null"}, {type_integer, "integer"}})
    if (types & type) rest["type"].push_back(type == type_integer && types & type_fraction ? "number" : name);
  TRY_STATUS(collect_text(text));
  return collect_json(rest);
}
