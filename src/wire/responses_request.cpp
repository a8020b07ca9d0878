// responses: the fields of a request of the Responses API.
#include "wire/responses_request.h"

#include <fmt/format.h>
#include "wire/backend.h"
#include "wire/messages.h"

namespace {

using enum Field::Kind;
using Out = ResponsesRequest;

template <auto member> Fault set_text(Out& out, const FieldValue& value) { return out.*member = value.text, std::nullopt; }

Fault set_input(Out& out, const FieldValue& value) {
  if (value.json.is_array()) return out.input = copy(value.json), std::nullopt;
  std::string_view text;
  if (value.json.get(text) != simdjson::SUCCESS) return wrong_type(value.name, "a string or a list of items", value.json);
  const Json part = {{"type", "input_text"}, {"text", text}};
  out.input.push_back({{"type", "message"}, {"role", "user"}, {"status", "completed"}, {"content", Json::array({part})}});
  return std::nullopt;
}

Fault set_store(Out& out, const FieldValue& value) { return out.store = value.flag, std::nullopt; }

Fault set_metadata(Out& out, const FieldValue& value) {
  constexpr size_t max_pairs = 16, max_key = 64, max_value = 512;
  size_t pairs = 0;
  for (const auto [key, text] : simdjson::dom::object(value.json)) {
    std::string_view content;
    if (text.get(content) != simdjson::SUCCESS) return wrong_type(value.name + "." + header_safe(key, 64), "a string", text);
    if (++pairs > max_pairs || key.size() > max_key || content.size() > max_value) {
      return fault(value.name, fmt::format("{} takes at most {} pairs, of at most {} and {} bytes", value.name, max_pairs, max_key, max_value));
    }
  }
  return out.metadata = copy(value.json), std::nullopt;
}

Fault set_max_output(Out& out, const FieldValue& value) { return out.chat.max_tokens = value.small(), std::nullopt; }

Fault set_format(Out& out, const FieldValue& value) {
  out.format = copy(value.json);
  return set_response_format(out, value);
}

constexpr Row<Out> text_rows[] = {{{"format", object, 0, 0, "text, json_object or json_schema; enforced"}, set_format}};

Fault set_text_options(Out& out, const FieldValue& value) {
  FieldReader reader(value.json, value.name + ".");
  if (auto wrong = reader.read(text_rows, out)) return wrong;
  return reader.list_unknown(out.ignored, out.chat.gate.unknown_fields), std::nullopt;
}

Fault refuse_given(Out&, const FieldValue& value) { return fault(value.name, value.name + " cannot be honoured here", "unsupported"); }

Fault refuse_background(Out&, const FieldValue& value) {
  return value.flag ? fault(value.name, "background cannot be honoured: answers are made while the client waits", "unsupported") : std::nullopt;
}

Fault set_truncation(Out& out, const FieldValue& value) {
  if (value.text == "auto") out.ignored.push_back(value.name);  // a prompt that does not fit is refused, with numbers
  return std::nullopt;
}

Fault set_include(Out& out, const FieldValue& value) {
  for (const JsonView item : simdjson::dom::array(value.json)) {
    std::string_view name;
    if (item.get(name) != simdjson::SUCCESS) return fault(value.name, value.name + " must be a list of strings", "invalid_type");
    if (name == "message.output_text.logprobs") {
      out.logprobs = true;
    } else {
      out.ignored.push_back(value.name + "=" + std::string(name));
    }
  }
  return std::nullopt;
}

Fault set_top_logprobs(Out& out, const FieldValue& value) {
  out.top_logprobs = value.small();
  out.logprobs = out.logprobs || value.integer > 0;
  return std::nullopt;
}

Fault set_own_tools(Out& out, const FieldValue& value) { return set_tools(out, value); }
Fault set_own_choice(Out& out, const FieldValue& value) { return out.tool_choice = copy(value.json), set_tool_choice(out, value); }
Fault set_parallel(Out& out, const FieldValue& value) { return out.chat.tool_choice.parallel = value.flag, std::nullopt; }

Fault set_stream_options(Out& out, const FieldValue& value) {
  const auto padded = find(value.json, "include_obfuscation");
  if (padded && !padded->is_bool()) return wrong_type(value.name + ".include_obfuscation", "true or false", *padded);
  if (padded && find_bool(value.json, "include_obfuscation") == true) out.ignored.push_back(value.name + ".include_obfuscation");
  return std::nullopt;
}

Json input_schema() {
  const Json item = {{"type", "object"}, {"properties", {{"type", {{"type", "string"}}}, {"role", {{"type", "string"}}}, {"content", Json::object()}}}};
  return {{"anyOf", Json::array({Json{{"type", "string"}}, Json{{"type", "array"}, {"items", item}}})}};
}
Json text_schema() { return object_schema(text_rows); }
Json metadata_schema() { return {{"type", "object"}, {"maxProperties", 16}, {"additionalProperties", {{"type", "string"}, {"maxLength", 512}}}}; }
Json include_schema() { return {{"type", "array"}, {"items", {{"type", "string"}}}}; }

constexpr Row<Out> rows[] = {
    {{"input", any, 0, 0, "a text, or items: messages, calls and their results, thoughts", nullptr, input_schema}, set_input},
    {{"instructions", text, 0, no_limit, "a system message of this response alone"}, set_text<&Out::instructions>},
    {{"previous_response_id", text, 1, 128, "the stored response that this one continues"}, set_text<&Out::previous_response_id>},
    {{"store", boolean, 0, 0, "false: nothing is kept; true when absent"}, set_store},
    {{"metadata", object, 0, 0, "kept with the response", nullptr, metadata_schema}, set_metadata},
    {{"max_output_tokens", integer, 1, int_max, "length of the answer, thoughts among it"}, set_max_output},
    {{"text", object, 0, 0, "format of the answer", nullptr, text_schema}, set_text_options},
    {{"tools", array, 0, 1024, "functions that may be called"}, set_own_tools},
    {{"tool_choice", any, 0, 0, "none, auto, required or a function", nullptr, tool_choice_schema}, set_own_choice},
    {{"parallel_tool_calls", boolean, 0, 0, "more than one call in an answer"}, set_parallel},
    {{"truncation", word, 0, 0, "disabled; auto is ignored", "disabled auto"}, set_truncation},
    {{"include", array, 0, 64, "message.output_text.logprobs", nullptr, include_schema}, set_include},
    {{"top_logprobs", integer, 0, 20, "log probabilities of the n best"}, set_top_logprobs},
    {{"stream_options", object, 0, 0, "include_obfuscation false"}, set_stream_options},
    {{"prompt_cache_key", text, 0, 1024, "prompts share one cache with or without it"}, set_text<&Out::cache_key>},
    {{"background", boolean, 0, 0, "only false", nullptr, nullptr, true}, refuse_background},
    {{"conversation", any, 0, 0, "cannot be honoured", nullptr, nullptr, true}, refuse_given},
    {{"prompt", any, 0, 0, "cannot be honoured", nullptr, nullptr, true}, refuse_given},
};

// Tools as the answer repeats them: in the flat form, with `strict` always there.
Json flat_tools(const std::string& tools_json) {
  Json out = Json::array();
  if (tools_json.empty()) return out;
  for (const Json& tool : Json::parse(tools_json, nullptr, false)) {
    const Json& function = tool["function"];
    const auto member = [&](const char* name, Json otherwise) { return function.contains(name) ? function[name] : std::move(otherwise); };
    out.push_back({{"type", "function"}, {"name", function["name"]}, {"description", member("description", nullptr)}, {"parameters", member("parameters", nullptr)}, {"strict", member("strict", false)}});
  }
  return out;
}

// References resolved, ids given to items that have none.
Fault complete_input(const ItemSource& stored, Out& out) {
  for (size_t i = 0; i < out.input.size(); ++i) {
    Json& item = out.input[i];
    if (!item.is_object()) continue;  // append_items says so
    const bool typed = item.contains("type") && item["type"].is_string();
    if (typed && item["type"] == "item_reference") {
      const std::string at = fmt::format("input[{}].id", i);
      if (!item.contains("id") || !item["id"].is_string()) return fault(at, at + " must be a string", "invalid_type");
      auto found = stored.item(item["id"]);
      if (!found) return fault(at, at + ": there is no item of that id", "item_not_found");
      item = std::move(*found);
    }
    if (!item.contains("id") || !item["id"].is_string()) item["id"] = random_id(typed && item["type"] != "message" ? "item_" : "msg_");
  }
  return std::nullopt;
}

Fault settle(const ItemSource& stored, Out& out) {
  if (out.input.empty() && out.previous_response_id.empty() && out.instructions.empty()) return fault("input", "input is required", "missing_field");
  if (auto wrong = complete_input(stored, out)) return wrong;
  Json messages = Json::array();
  if (!out.instructions.empty()) messages.push_back({{"role", "system"}, {"content", out.instructions}});
  if (!out.previous_response_id.empty()) {
    const auto context = stored.context(out.previous_response_id);
    if (!context) return fault("previous_response_id", "there is no stored response of that id", "previous_response_not_found");
    ParsedRequest old;  // what was ignored in earlier items was said then
    old.gated = out.gated;
    if (auto wrong = append_items("previous_response_id", *context, old, messages)) return wrong;
  }
  if (auto wrong = append_items("input", out.input, out, messages)) return wrong;
  if (messages.empty()) return fault("input", "input holds nothing to answer");
  store_messages(out, std::move(messages));
  if (out.logprobs) out.chat.top_logprobs = out.top_logprobs.value_or(0);
  out.tools = flat_tools(out.chat.tools_json);
  return settle_chat(out);
}

std::vector<Rows> shared_tables() { return {base_rows(), sampling_rows(), thinking_rows(), format_rows(), serving_rows()}; }

}  // namespace

Fault parse_responses(std::string_view body, const ItemSource& stored, ResponsesRequest& out) {
  JsonDocument document;
  if (auto wrong = parse_body(body, document)) return wrong;
  FieldReader reader(document.root());
  if (auto wrong = reader.read(rows, out)) return wrong;
  for (const Rows table : shared_tables()) {
    if (auto wrong = reader.read(table, out)) return wrong;
  }
  reader.list_unknown(out.ignored, out.chat.gate.unknown_fields);
  out.user = std::string(find_string(document.root(), "user").value_or(""));
  out.safety_identifier = std::string(find_string(document.root(), "safety_identifier").value_or(""));
  const bool given = out.kwargs.contains("reasoning_effort") && out.kwargs["reasoning_effort"].is_string();
  out.effort = given ? out.kwargs["reasoning_effort"].get<std::string>() : out.thinks_by.ends_with("effort") ? "none" : "";
  return settle(stored, out);
}

Json responses_schema() {
  Json schema = object_schema(rows);
  for (const Rows table : shared_tables()) add_schemas(table, schema["properties"]);
  return schema;
}

Json responses_effects() {
  Json out = Json::object();
  add_effects(rows, out);
  for (const Rows table : shared_tables()) add_effects(table, out);
  return out;
}
