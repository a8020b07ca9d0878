// loose grammar: a small part of JSON Schema over Gemma's notation; what it does not know is refused by name.
#include "text/tools/loose_grammar.h"
#include <algorithm>

namespace {
constexpr int kDepth = 16;  // of schemas within schemas

ByteSet key_bytes() {
  ByteSet set;
  for (int c = 0; c < 128; c++) set[static_cast<size_t>(c)] = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.' || c == '$';
  return set;
}

bool is_bare_key(std::string_view key) {
  static const ByteSet allowed = key_bytes();
  return !key.empty() && std::ranges::all_of(key, [](char c) { return allowed[static_cast<uint8_t>(c)]; });
}

Status check_keywords(const Json& schema, std::initializer_list<std::string_view> known) {
  for (auto it = schema.begin(); it != schema.end(); ++it)
    if (!is_schema_annotation(it.key()) && std::ranges::find(known, std::string_view(it.key())) == known.end()) return unsupported_keyword(it.key());
  return ok_status();
}
}  // namespace

LooseGrammar::LooseGrammar(GrammarBuilder& builder, std::string_view quote) : builder_(builder), quote_(quote) {
  key_ = builder_.repeat(builder_.bytes(key_bytes()), 1, 64);
  any_string_ = string(builder_.until(quote_));
  any_ = builder_.declare();
  any_object_ = list(member(key_, any_), '{', '}');
  any_array_ = list(any_, '[', ']');
  ByteSet digits;
  for (char c = '0'; c <= '9'; c++) digits.set(static_cast<size_t>(c));
  const NodeId fraction[] = {builder_.literal("."), builder_.repeat(builder_.bytes(digits), 1, 17)};
  ByteSet first = digits;
  first.reset('0');
  const NodeId large[] = {builder_.bytes(first), builder_.repeat(builder_.bytes(digits), 0, 17)};
  const NodeId whole[] = {builder_.literal("0"), builder_.sequence(large)};
  const NodeId number[] = {builder_.optional(builder_.literal("-")), builder_.choice(whole), builder_.optional(builder_.sequence(fraction))};
  const NodeId kinds[] = {any_string_, builder_.sequence(number), builder_.literal("true"), builder_.literal("false"), builder_.literal("null"), any_object_, any_array_};
  builder_.define(any_, builder_.choice(kinds));
}

NodeId LooseGrammar::string(NodeId inside) {
  const NodeId parts[] = {builder_.literal(quote_), inside, builder_.literal(quote_)};
  return builder_.sequence(parts);
}

NodeId LooseGrammar::member(NodeId key, NodeId value) {
  const NodeId parts[] = {key, builder_.literal(":"), value};
  return builder_.sequence(parts);
}

NodeId LooseGrammar::list(NodeId item, char open, char close) {
  const NodeId items = repeated(builder_, item, ",", true);
  const NodeId parts[] = {builder_.literal({&open, 1}), builder_.optional(items), builder_.literal({&close, 1})};
  return builder_.sequence(parts);
}

Result<NodeId> LooseGrammar::arguments(const ToolSpec& tool) {
  if (!tool.strict) return any_object_;
  TRY(const Json schema, parameters_schema(tool));
  root_ = &schema;
  const Json* target = follow_references(schema, schema);
  if (!target || !target->is_object()) return unsupported_keyword("$ref without an end");
  return object(*target, 0);
}

Result<NodeId> LooseGrammar::object(const Json& schema, int depth) {
  TRY_STATUS(check_keywords(schema, {"type", "properties", "required", "additionalProperties"}));
  if (!schema.contains("properties") || !schema["properties"].is_object() || schema["properties"].empty()) {
    if (!schema.contains("additionalProperties") || schema["additionalProperties"] == Json(true)) return any_object_;
    if (schema["additionalProperties"] == Json(false)) return builder_.literal("{}");
    TRY(const NodeId rest, value(schema["additionalProperties"], depth + 1));
    return list(member(key_, rest), '{', '}');
  }
  const Json required = schema.value("required", Json::array());
  const auto is_required = [&](const std::string& key) { return std::ranges::find(required, Json(key)) != required.end(); };
  for (const Json& name : required)
    if (!name.is_string() || !schema["properties"].contains(name.get<std::string>())) return unsupported_keyword("required without its property");
  // From the last member to the first: what may follow when members stand before it, and when none does.
  NodeId after = builder_.literal("}"), first = after;
  std::vector<std::pair<std::string, const Json*>> members;
  for (auto it = schema["properties"].begin(); it != schema["properties"].end(); ++it) members.emplace_back(it.key(), &it.value());
  for (auto it = members.rbegin(); it != members.rend(); ++it) {
    if (!is_bare_key(it->first)) return unsupported_keyword("a name that is no plain word");
    TRY(const NodeId inside, value(*it->second, depth + 1));
    const NodeId one = member(builder_.literal(it->first), inside);
    const NodeId next[] = {builder_.literal(","), one, after}, begins[] = {one, after};
    const NodeId with = builder_.sequence(next), starts = builder_.sequence(begins);
    const NodeId either[] = {with, after}, either_first[] = {starts, first};
    first = is_required(it->first) ? starts : builder_.choice(either_first);
    after = is_required(it->first) ? with : builder_.choice(either);
  }
  const NodeId parts[] = {builder_.literal("{"), first};
  return builder_.sequence(parts);
}

Result<NodeId> LooseGrammar::array(const Json& schema, int depth) {
  TRY_STATUS(check_keywords(schema, {"type", "items", "minItems", "maxItems"}));
  NodeId item = any_;
  if (schema.contains("items")) {
    TRY(item, value(schema["items"], depth + 1));
  }
  const int64_t least = schema.value("minItems", int64_t{0}), most = schema.value("maxItems", int64_t{-1});
  if (least <= 0 && most < 0) return list(item, '[', ']');
  if (most == 0) return builder_.literal("[]");
  const NodeId next[] = {builder_.literal(","), item};
  const NodeId some[] = {item, builder_.repeat(builder_.sequence(next), std::max<int64_t>(least - 1, 0), most < 0 ? -1 : most - 1)};
  const NodeId items = builder_.sequence(some);
  const NodeId parts[] = {builder_.literal("["), least > 0 ? items : builder_.optional(items), builder_.literal("]")};
  return builder_.sequence(parts);
}

// A string by its own keywords; those of other types in the same schema do not speak of it.
Result<NodeId> LooseGrammar::text(const Json& schema) {
  Json only = {{"type", "string"}};
  for (const char* keyword : {"pattern", "minLength", "maxLength", "format"})
    if (schema.contains(keyword)) only[keyword] = schema[keyword];
  if (only.size() == 1) return any_string_;
  const NodeId free_text[] = {builder_.until(quote_), builder_.literal(quote_)};
  RawValues values(builder_, *root_, builder_.sequence(free_text), quote_);
  TRY(const NodeId inside, values.value(only));
  const NodeId parts[] = {builder_.literal(quote_), inside};
  return builder_.sequence(parts);
}

// Numbers, true, false and null are written as in JSON.
Result<NodeId> LooseGrammar::scalar(const Json& schema, const Json& type) {
  Json only = schema;
  only["type"] = type;
  return builder_.json_schema(only.dump());
}

Result<NodeId> LooseGrammar::value(const Json& part, int depth) {
  const Json* target = follow_references(part, *root_);
  if (!target || depth > kDepth) return unsupported_keyword("$ref without an end");
  const Json& schema = *target;
  if (!schema.is_object()) return any_;
  std::vector<NodeId> choices;
  const auto add_values = [&](const Json& values) {
    for (const Json& v : values)
      choices.push_back(v.is_string() ? string(builder_.literal(v.get<std::string>())) : builder_.literal(v.dump()));
  };
  if (schema.contains("const")) return add_values(Json::array({schema["const"]})), builder_.choice(choices);
  if (schema.contains("enum")) {
    for (const Json& v : schema["enum"])
      if (v.is_structured()) return unsupported_keyword("enum of objects");
    return add_values(schema["enum"]), builder_.choice(choices);
  }
  if (schema.contains("anyOf")) {
    TRY_STATUS(check_keywords(schema, {"anyOf"}));
    for (const Json& alternative : schema["anyOf"]) {
      TRY(const NodeId node, value(alternative, depth + 1));
      choices.push_back(node);
    }
    return builder_.choice(choices);
  }
  if (!schema.contains("type")) {
    TRY_STATUS(check_keywords(schema, {}));
    return any_;
  }
  const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
  for (const Json& type : types) {
    TRY(const NodeId node, type == "string" ? text(schema) : type == "object" ? object(schema, depth) : type == "array" ? array(schema, depth) : scalar(schema, type));
    choices.push_back(node);
  }
  return builder_.choice(choices);
}
