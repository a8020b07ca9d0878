// anthropic_request: the table of fields, and what follows from several of them together.
#include "wire/anthropic_request.h"

#include "wire/messages.h"

namespace {

using Kind = Field::Kind;
using Out = AnthropicRequest;
using In = const FieldValue&;

Fault set_model(Out& out, In value) { return out.chat.model = value.text, std::nullopt; }
Fault set_strict(Out& out, In value) { return out.strict = value.flag, std::nullopt; }
Fault set_stream(Out& out, In value) { return out.stream = value.flag, std::nullopt; }
Fault set_max_tokens(Out& out, In value) { return out.chat.max_tokens = value.small(), std::nullopt; }
Fault set_system(Out& out, In value) { return read_anthropic_system(out, value.json); }
Fault set_all_messages(Out& out, In value) { return read_anthropic_messages(out, value.json); }
Fault set_own_tools(Out& out, In value) { return read_anthropic_tools(out, value.json); }
Fault set_stops(Out& out, In value) { return set_stop(out, value); }
Fault accept(Out&, In) { return std::nullopt; }

Fault need_word(const std::string& at, JsonView object, const char* name, std::string_view& out) {
  const auto value = find(object, name);
  if (!value) return fault(at + "." + name, at + "." + name + " is required", "missing_field");
  return value->get(out) == simdjson::SUCCESS ? std::nullopt : wrong_type(at + "." + name, "a string", *value);
}

Fault set_choice_of_tool(Out& out, In value) {
  std::string_view type, name;
  if (auto wrong = need_word("tool_choice", value.json, "type", type)) return wrong;
  const auto single = find(value.json, "disable_parallel_tool_use");
  bool alone = false;
  if (single && single->get(alone) != simdjson::SUCCESS) return wrong_type("tool_choice.disable_parallel_tool_use", "true or false", *single);
  out.chat.tool_choice.parallel = !alone;
  ToolChoice::Kind& kind = out.chat.tool_choice.kind;
  if (type == "auto") return kind = ToolChoice::Kind::automatic, std::nullopt;
  if (type == "any") return kind = ToolChoice::Kind::required, std::nullopt;
  if (type == "none") return kind = ToolChoice::Kind::none, std::nullopt;
  if (type != "tool") return fault("tool_choice.type", "tool_choice.type must be auto, any, tool or none");
  if (auto wrong = need_word("tool_choice", value.json, "name", name)) return wrong;
  kind = ToolChoice::Kind::named;
  out.chat.tool_choice.name = name;
  return std::nullopt;
}

Fault set_thinking_type(Out& out, In value) {
  out.kwargs["enable_thinking"] = value.text != "disabled";
  out.thinks_by = "thinking";
  return std::nullopt;
}
Fault set_display(Out& out, In value) { return out.hide_thinking = value.text == "omitted", std::nullopt; }
Fault set_budget(Out& out, In value) { return out.chat.reasoning_budget_tokens = value.small(), std::nullopt; }

constexpr Row<Out> thinking_rows_here[] = {
    {{"type", Kind::word, 0, 0, "", "enabled disabled adaptive"}, set_thinking_type},
    {{"budget_tokens", Kind::integer, 1, int_max, "thinking ends after so many tokens"}, set_budget},
    {{"display", Kind::word, 0, 0, "omitted: thinking blocks come without their text", "summarized omitted"}, set_display},
};

Fault set_thinking(Out& out, In value) {
  FieldReader reader(value.json, "thinking.");
  if (auto wrong = reader.read(thinking_rows_here, out)) return wrong;
  reader.list_unknown(out.ignored, out.chat.gate.unknown_fields);
  if (!find(value.json, "type")) return fault("thinking.type", "thinking.type is required", "missing_field");
  if (out.kwargs["enable_thinking"] == false) out.chat.reasoning_budget_tokens.reset();
  return std::nullopt;
}

Fault read_format(Out& out, const std::string& at, JsonView format) {
  std::string_view type;
  if (!format.is_object()) return wrong_type(at, "an object", format);
  if (auto wrong = need_word(at, format, "type", type)) return wrong;
  if (type != "json_schema") return fault(at + ".type", at + ".type must be json_schema", "unsupported");
  const auto schema = find(format, "schema");
  if (!schema) return fault(at + ".schema", at + ".schema is required", "missing_field");
  if (!schema->is_object()) return wrong_type(at + ".schema", "an object", *schema);
  return constrain(out, at, Constraint::Kind::json_schema, std::string(simdjson::minify(*schema)));
}

Fault set_output_format(Out& out, In value) { return read_format(out, value.name, value.json); }

Fault set_inner_format(Out& out, In value) { return read_format(out, value.name, value.json); }

Fault set_effort_word(Out& out, In value) {  // templates know three levels
  FieldValue level = value;
  if (level.text == "xhigh" || level.text == "max") level.text = "high";
  return set_effort(out, level);
}

constexpr Row<Out> output_rows[] = {
    {{"format", Kind::object, 0, 0, "type json_schema and its schema; enforced"}, set_inner_format},
    {{"effort", Kind::word, 0, 0, "of thinking", "low medium high xhigh max"}, set_effort_word},
};

Fault set_output_config(Out& out, In value) {
  FieldReader reader(value.json, "output_config.");
  if (auto wrong = reader.read(output_rows, out)) return wrong;
  reader.list_unknown(out.ignored, out.chat.gate.unknown_fields);
  return std::nullopt;
}

constexpr Row<Out> rows[] = {
    {{"strict", Kind::boolean, 0, 0, "fields without effect are a 400"}, set_strict},
    {{"model", Kind::text, 0, no_limit}, set_model},
    {{"system", Kind::any}, set_system},
    {{"messages", Kind::array, 1}, set_all_messages},
    {{"max_tokens", Kind::integer, 1, int_max}, set_max_tokens},
    {{"stream", Kind::boolean}, set_stream},
    {{"stop_sequences", Kind::text_list, 0, 64}, set_stops},
    {{"tools", Kind::array}, set_own_tools},
    {{"tool_choice", Kind::object}, set_choice_of_tool},
    {{"thinking", Kind::object}, set_thinking},
    {{"output_config", Kind::object}, set_output_config},
    {{"output_format", Kind::object}, set_output_format},
    {{"cache_control", Kind::object, 0, 0, "whatever can be reused is cached anyway"}, accept},
};

// What a prefilled answer is continued from ends the list.
bool is_prefilled(const Json& messages) {
  const Json& last = messages.back();
  return last["role"] == "assistant" && !last.contains("tool_calls");
}

Fault settle(Out& out, JsonView root, bool counts_only) {
  if (!find(root, "messages")) return fault("messages", "messages is required", "missing_field");
  if (!out.chat.max_tokens && !counts_only) return fault("max_tokens", "max_tokens is required", "missing_field");
  if (out.messages.empty()) return fault("messages", "messages say nothing");
  out.chat.continue_final_message = is_prefilled(out.messages);
  if (auto wrong = normalise_messages(out, "messages", std::move(out.messages))) return wrong;
  if (!out.tools.empty()) out.chat.tools_json = text_of(out.tools);
  if (!out.kwargs.contains("enable_thinking")) out.kwargs["enable_thinking"] = false;  // as over there, thinking has to be asked for
  out.chat.report_progress = out.stream;  // the first event says how long the prompt is
  return settle_chat(out);
}

}  // namespace

Fault read_anthropic(std::string_view body, bool counts_only, AnthropicRequest& out) {
  JsonDocument document;
  if (auto wrong = parse_body(body, document)) return wrong;
  FieldReader reader(document.root());
  if (auto wrong = reader.read(rows, out)) return wrong;
  for (const Rows shared : {sampling_rows(), serving_rows()}) {
    if (auto wrong = reader.read(shared, out)) return wrong;
  }
  reader.list_unknown(out.ignored, out.chat.gate.unknown_fields);
  return settle(out, document.root(), counts_only);
}

Json anthropic_schema() {
  Json schema = object_schema(rows);
  for (const Rows shared : {sampling_rows(), serving_rows()}) add_schemas(shared, schema["properties"]);
  schema["required"] = Json::array({"messages"});
  return schema;
}
