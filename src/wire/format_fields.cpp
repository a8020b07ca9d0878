// fields: what an answer must look like, in the spellings of OpenAI, vLLM, llama.cpp and mistral.rs.
#include <fmt/format.h>
#include "wire/fields.h"

namespace {

using enum Field::Kind;
using Limit = Constraint::Kind;

// A schema may come as an object (or true, false) or as its text.
Fault set_schema(ParsedRequest& out, const std::string& name, JsonView schema) {
  std::string_view text;
  if (schema.is_object() || schema.is_bool()) return constrain(out, name, Limit::json_schema, simdjson::minify(schema));
  if (schema.get(text) != simdjson::SUCCESS) return wrong_type(name, "a JSON Schema", schema);
  const Json parsed = Json::parse(text, nullptr, false);
  if (!parsed.is_object() && !parsed.is_boolean()) return fault(name, name + " must be a JSON Schema: an object, or its text");
  return constrain(out, name, Limit::json_schema, text_of(parsed));
}

Fault set_json(ParsedRequest& out, const FieldValue& value) { return set_schema(out, value.name, value.json); }

Fault set_regex(ParsedRequest& out, const FieldValue& value) { return constrain(out, value.name, Limit::regex, value.text); }

Fault set_gbnf(ParsedRequest& out, const std::string& name, const std::string& text) {  // clients send "" for none
  return text.empty() ? std::nullopt : constrain(out, name, Limit::gbnf, text);
}

// vLLM takes both notations under one name: only GBNF writes its rules with ::=.
Fault set_some_grammar(ParsedRequest& out, const FieldValue& value) {
  return constrain(out, value.name, value.text.find("::=") == std::string::npos ? Limit::lark : Limit::gbnf, value.text);
}

Fault set_choice(ParsedRequest& out, const FieldValue& value) {
  for (const JsonView item : simdjson::dom::array(value.json)) {
    if (!item.is_string()) return fault(value.name, value.name + " must be a list of strings", "invalid_type");
  }
  return constrain(out, value.name, Limit::choice, simdjson::minify(value.json));
}

Fault set_json_object(ParsedRequest& out, const FieldValue& value) { return value.flag ? constrain(out, value.name, Limit::json_object, "") : std::nullopt; }

// {"type": "regex" | "lark" | "json_schema" | "gbnf", "value": …}, or the text of a GBNF grammar.
Fault set_grammar(ParsedRequest& out, const FieldValue& value) {
  std::string_view text;
  if (value.json.get(text) == simdjson::SUCCESS) return set_gbnf(out, value.name, std::string(text));
  if (!value.json.is_object()) return wrong_type(value.name, "a string or an object", value.json);
  const auto type = find_string(value.json, "type");
  const auto given = find(value.json, "value");
  if (!type) return fault(value.name + ".type", value.name + ".type must be regex, lark, json_schema or gbnf");
  if (!given) return fault(value.name + ".value", value.name + ".value is required", "missing_field");
  if (*type == "json_schema") return set_schema(out, value.name + ".value", *given);
  if (given->get(text) != simdjson::SUCCESS) return wrong_type(value.name + ".value", "a string", *given);
  if (*type == "regex") return constrain(out, value.name, Limit::regex, std::string(text));
  if (*type == "lark") return constrain(out, value.name, Limit::lark, std::string(text));
  if (*type == "gbnf") return set_gbnf(out, value.name, std::string(text));
  return fault(value.name + ".type", value.name + ".type must be regex, lark, json_schema or gbnf");
}

Json schema_schema() { return {{"description", "a JSON Schema (draft 2020-12), or its text"}}; }

constexpr Row<ParsedRequest> structured_rows[] = {
    {{"json", any, 0, no_limit, "", nullptr, schema_schema}, set_json},
    {{"regex", text, 1, 1 << 16}, set_regex},
    {{"choice", array, 1, 4096}, set_choice},
    {{"grammar", text, 1, 1 << 20}, set_some_grammar},
    {{"json_object", boolean}, set_json_object},
};

Fault set_structured(ParsedRequest& out, const FieldValue& value) {
  FieldReader reader(value.json, value.name + ".");
  if (auto wrong = reader.read(structured_rows, out)) return wrong;
  std::vector<std::string> unknown;
  reader.list_unknown(unknown, unknown);  // an unknown constraint must not become an unconstrained answer
  return unknown.empty() ? std::nullopt : fault(header_safe(unknown.front(), 64), "structured_outputs takes json, regex, choice, grammar or json_object", "unsupported");
}

Json structured_schema() { return object_schema(structured_rows); }

Json format_schema() {
  const Json described = {{"type", "object"}, {"properties", {{"name", {{"type", "string"}}}, {"schema", {{"type", {"object", "boolean"}}}}, {"strict", {{"type", {"boolean", "null"}}}}}}, {"required", {"schema"}}};
  return {{"type", "object"}, {"properties", {{"type", {{"enum", {"text", "json_object", "json_schema"}}}}, {"json_schema", described}}}, {"required", {"type"}}};
}

Json grammar_schema() {
  const Json typed = {{"type", "object"}, {"properties", {{"type", {{"enum", {"regex", "lark", "json_schema", "gbnf"}}}}, {"value", Json::object()}}}, {"required", {"type", "value"}}};
  return {{"anyOf", Json::array({Json{{"type", "string"}}, typed, Json{{"type", "null"}}})}};
}

constexpr Row<ParsedRequest> rows[] = {
    {{"response_format", object, 0, 0, "text, json_object or json_schema; enforced", nullptr, format_schema}, set_response_format},
    {{"structured_outputs", object, 0, 0, "one of json, regex, choice, grammar, json_object", nullptr, structured_schema}, set_structured},
    {{"guided_json", any, 0, 0, "a JSON Schema", nullptr, schema_schema}, set_json},
    {{"guided_regex", text, 1, 1 << 16, "a regular expression for the whole answer"}, set_regex},
    {{"guided_choice", array, 1, 4096, "the answers to choose from"}, set_choice},
    {{"guided_grammar", text, 1, 1 << 20, "a grammar, GBNF or Lark"}, set_some_grammar},
    {{"grammar", any, 0, 0, "a GBNF grammar, or one with its type", nullptr, grammar_schema}, set_grammar},
    {{"json_schema", any, 0, 0, "a JSON Schema", nullptr, schema_schema}, set_json},
};

}  // namespace

Rows format_rows() { return rows; }

// {"type": "json_schema", "json_schema": {"name", "schema", "strict"}}; llama.cpp has the schema beside the type.
Fault set_response_format(ParsedRequest& out, const FieldValue& value) {
  const std::string& name = value.name;
  const auto type = find(value.json, "type");
  if (!type) return fault(name + ".type", name + ".type is required", "missing_field");
  std::string_view word;
  if (type->get(word) != simdjson::SUCCESS) return wrong_type(name + ".type", "a string", *type);
  if (word == "text") return std::nullopt;
  const auto direct = find(value.json, "schema");
  if (word == "json_object") return direct ? set_schema(out, name + ".schema", *direct) : constrain(out, name, Limit::json_object, "");
  if (word != "json_schema") return fault(name + ".type", name + ".type must be text, json_object or json_schema");
  const auto described = find(value.json, "json_schema");
  if (!described) return direct ? set_schema(out, name + ".schema", *direct) : fault(name + ".json_schema", name + ".json_schema is required", "missing_field");
  if (!described->is_object()) return wrong_type(name + ".json_schema", "an object", *described);
  const auto strict = find(*described, "strict");
  if (strict && !strict->is_bool()) return wrong_type(name + ".json_schema.strict", "true or false", *strict);
  const auto schema = find(*described, "schema");
  return schema ? set_schema(out, name + ".json_schema.schema", *schema) : fault(name + ".json_schema.schema", name + ".json_schema.schema is required", "missing_field");
}

Fault constrain(ParsedRequest& out, const std::string& field, Constraint::Kind kind, std::string text) {
  if (!out.constrained_by.empty()) return fault(field, fmt::format("{} and {} cannot both constrain the answer", out.constrained_by, field));
  out.constrained_by = field;
  out.chat.constraint = {kind, std::move(text)};
  return std::nullopt;
}
