// fields: whether and how long a model thinks, and other words for its template.
#include "wire/fields.h"

namespace {

using enum Field::Kind;

Fault set_kwargs(ParsedRequest& out, const FieldValue& value) {  // a top-level field of the same name wins
  const auto thinking = find(value.json, "enable_thinking");
  if (thinking && !thinking->is_bool()) return wrong_type(value.name + ".enable_thinking", "true or false", *thinking);
  Json merged = copy(value.json);
  merged.update(out.kwargs);
  out.kwargs = std::move(merged);
  return std::nullopt;
}

Fault set_enable_thinking(ParsedRequest& out, const FieldValue& value) {
  out.kwargs["enable_thinking"] = value.flag;
  out.thinks_by = value.name;
  return std::nullopt;
}

Fault set_budget(ParsedRequest& out, const FieldValue& value) {
  if (value.integer < 0) return std::nullopt;  // -1: no limit
  out.chat.reasoning_budget_tokens = value.small();
  out.thinks_by = value.name;
  return std::nullopt;
}

constexpr Row<ParsedRequest> reasoning_rows[] = {
    {{"effort", word, 0, 0, "", effort_words}, set_effort},
    {{"max_tokens", integer, -1, int_max, "thinking ends after so many tokens"}, set_budget},
    {{"budget_tokens", integer, -1, int_max, "thinking ends after so many tokens"}, set_budget},
    {{"enabled", boolean}, set_enable_thinking},
};

Fault set_reasoning(ParsedRequest& out, const FieldValue& value) {
  FieldReader reader(value.json, value.name + ".");
  if (auto wrong = reader.read(reasoning_rows, out)) return wrong;
  reader.list_unknown(out.ignored, out.chat.gate.unknown_fields);
  return std::nullopt;
}

Fault set_thinking_type(ParsedRequest& out, const FieldValue& value) {
  out.kwargs["enable_thinking"] = value.text != "disabled";
  out.thinks_by = value.name;
  return std::nullopt;
}

constexpr Row<ParsedRequest> thinking_object_rows[] = {
    {{"type", word, 0, 0, "", "enabled disabled adaptive"}, set_thinking_type},
    {{"budget_tokens", integer, 0, int_max, "thinking ends after so many tokens"}, set_budget},
};

Fault set_thinking(ParsedRequest& out, const FieldValue& value) {
  FieldReader reader(value.json, value.name + ".");
  if (auto wrong = reader.read(thinking_object_rows, out)) return wrong;
  reader.list_unknown(out.ignored, out.chat.gate.unknown_fields);
  return std::nullopt;
}

Json reasoning_schema() { return object_schema(reasoning_rows); }
Json thinking_schema() { return object_schema(thinking_object_rows); }

constexpr Row<ParsedRequest> rows[] = {
    {{"enable_thinking", boolean, 0, 0, "wins over chat_template_kwargs"}, set_enable_thinking},
    {{"thinking", object, 0, 0, "type enabled or disabled, budget_tokens", nullptr, thinking_schema}, set_thinking},
    {{"reasoning_effort", word, 0, 0, "none turns thinking off", effort_words}, set_effort},
    {{"reasoning", object, 0, 0, "effort, max_tokens, enabled", nullptr, reasoning_schema}, set_reasoning},
    {{"reasoning_budget_tokens", integer, -1, int_max, "thinking ends after so many tokens; -1: no limit"}, set_budget},
    {{"thinking_budget_tokens", integer, -1, int_max, "the same"}, set_budget},
    {{"thinking_token_budget", integer, -1, int_max, "the same"}, set_budget},
    {{"chat_template_kwargs", object, 0, 0, "further words for the model's template"}, set_kwargs},
};

}  // namespace

Rows thinking_rows() { return rows; }

Fault set_effort(ParsedRequest& out, const FieldValue& value) {
  if (value.text == "none") {
    if (!out.kwargs.contains("enable_thinking")) out.kwargs["enable_thinking"] = false;
  } else {
    out.kwargs["reasoning_effort"] = value.text;
  }
  out.thinks_by = value.name;
  return std::nullopt;
}
