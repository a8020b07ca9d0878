// ollama_request: the tables of fields, and what follows from several of them together.
#include "wire/ollama_request.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include "wire/messages.h"

namespace {

using Kind = Field::Kind;
using Out = OllamaRequest;
using In = const FieldValue&;

Fault set_model(Out& out, In value) { return out.chat.model = value.text, std::nullopt; }
Fault set_strict(Out& out, In value) { return out.strict = value.flag, std::nullopt; }
Fault set_stream(Out& out, In value) { return out.stream = value.flag, std::nullopt; }
Fault set_logprobs_wanted(Out& out, In value) { return out.logprobs = value.flag, std::nullopt; }
Fault set_top(Out& out, In value) { return out.top_logprobs = value.small(), std::nullopt; }

Fault set_keep_alive(Out& out, In value) {
  out.keep_alive = read_keep_alive(value.json);
  return out.keep_alive ? std::nullopt : keep_alive_fault(value.name);
}

// true, false, or how much.
Fault set_think(Out& out, In value) {
  bool flag = false;
  std::string_view level;
  if (value.json.get(flag) == simdjson::SUCCESS) {
    out.kwargs["enable_thinking"] = flag;
  } else if (value.json.get(level) != simdjson::SUCCESS) {
    return wrong_type(value.name, "true, false, low, medium or high", value.json);
  } else if (level == "low" || level == "medium" || level == "high" || level == "max") {
    out.kwargs["enable_thinking"] = true;
    out.kwargs["reasoning_effort"] = level == "max" ? "high" : std::string(level);
  } else {
    return fault(value.name, value.name + " must be true, false, low, medium or high");
  }
  out.thinks_by = value.name;
  return std::nullopt;
}

Fault set_format(Out& out, In value) {
  std::string_view word;
  if (value.json.is_object()) return constrain(out, value.name, Constraint::Kind::json_schema, std::string(simdjson::minify(value.json)));
  if (value.json.get(word) != simdjson::SUCCESS) return wrong_type(value.name, "\"json\" or a JSON Schema", value.json);
  if (word.empty()) return std::nullopt;
  return word == "json" ? constrain(out, value.name, Constraint::Kind::json_object, "") : fault(value.name, value.name + " must be \"json\" or a JSON Schema");
}

Fault set_num_predict(Out& out, In value) {  // 0 and below: until it ends by itself
  if (value.integer > 0) out.chat.max_tokens = value.small();
  return std::nullopt;
}
Fault set_num_ctx(Out& out, In value) { return out.context_tokens = value.small(), std::nullopt; }

constexpr Row<Out> option_rows[] = {
    {{"num_predict", Kind::integer, -2, int_max, "most tokens of the answer"}, set_num_predict},
    {{"num_ctx", Kind::integer, 0, int_max, "tokens of context; no more than there is"}, set_num_ctx},
};

Fault set_options(Out& out, In value) {
  FieldReader reader(value.json, value.name + ".");
  if (auto wrong = reader.read(option_rows, out)) return wrong;
  if (auto wrong = reader.read(sampling_rows(), out)) return wrong;
  reader.list_unknown(out.ignored, out.chat.gate.unknown_fields);
  return std::nullopt;
}

Json options_schema() {
  Json schema = object_schema(option_rows);
  add_schemas(sampling_rows(), schema["properties"]);
  return schema;
}

constexpr Row<Out> common_rows[] = {
    {{"strict", Kind::boolean, 0, 0, "fields without effect are a 400"}, set_strict},
    {{"model", Kind::text}, set_model},
    {{"stream", Kind::boolean, 0, 0, "lines of JSON; the default"}, set_stream},
    {{"options", Kind::object, 0, 0, "how tokens are chosen", nullptr, options_schema}, set_options},
    {{"format", Kind::any, 0, 0, "json or a JSON Schema; enforced"}, set_format},
    {{"think", Kind::any, 0, 0, "true, false, low, medium or high"}, set_think},
    {{"keep_alive", Kind::any, 0, 0, "how long the model stays: 5m, seconds, -1 for ever, 0 not at all"}, set_keep_alive},
    {{"logprobs", Kind::boolean}, set_logprobs_wanted},
    {{"top_logprobs", Kind::integer, 0, 20}, set_top},
};

constexpr Row<Out> chat_only[] = {
    {{"messages", Kind::array, 0, no_limit}, [](Out& out, In value) { return read_ollama_messages(out, value.name, value.json); }},
    {{"tools", Kind::array}, [](Out& out, In value) { return normalise_tools(out, value.name, copy(value.json)); }},
};

Fault set_images(Out& out, In value) { return read_ollama_images(out.gated, value, out.images); }

Fault refuse_template(Out&, In value) {
  return value.text.empty() ? std::nullopt : fault(value.name, "a template of the request's own cannot be used: raw takes a prompt as it is", "unsupported");
}

Fault set_suffix(Out& out, In value) {
  if (!value.text.empty()) out.chat.suffix = value.text;
  return std::nullopt;
}

Fault set_context(Out& out, In value) {
  if (simdjson::dom::array(value.json).size() == 0) return std::nullopt;
  auto messages = unpack_context(value.json);
  if (!messages) return fault(value.name, "context must be what an answer of this server gave");
  out.messages = std::move(*messages);
  return std::nullopt;
}

constexpr Row<Out> generate_only[] = {
    {{"prompt", Kind::text}, [](Out& out, In value) -> Fault { return out.prompt = value.text, std::nullopt; }},
    {{"system", Kind::text}, [](Out& out, In value) -> Fault { return out.system = value.text, std::nullopt; }},
    {{"suffix", Kind::text, 0, no_limit, "what is written comes between the two"}, set_suffix},
    {{"raw", Kind::boolean, 0, 0, "the prompt is read as it is"}, [](Out& out, In value) -> Fault { return out.raw = value.flag, std::nullopt; }},
    {{"template", Kind::text}, refuse_template},
    {{"images", Kind::array}, set_images},
    {{"context", Kind::array, 0, no_limit, "of an earlier answer"}, set_context},
};

template <class Own> Json body_schema(const Own& own) {
  Json schema = object_schema(common_rows);
  add_schemas(own, schema["properties"]);
  add_schemas(serving_rows(), schema["properties"]);
  return schema;
}

template <class Rows> Fault read_body(std::string_view body, const Rows& own, Out& out) {
  JsonDocument document;
  if (auto wrong = parse_body(body, document)) return wrong;
  FieldReader reader(document.root());
  if (auto wrong = reader.read(common_rows, out)) return wrong;
  if (auto wrong = reader.read(own, out)) return wrong;
  if (auto wrong = reader.read(serving_rows(), out)) return wrong;
  reader.list_unknown(out.ignored, out.chat.gate.unknown_fields);
  if (out.top_logprobs && !out.logprobs) return fault("top_logprobs", "top_logprobs needs logprobs: true");
  if (out.logprobs) out.chat.top_logprobs = out.top_logprobs.value_or(0);
  return std::nullopt;
}

Fault settle_messages(Out& out) {
  const Json& last = out.messages.back();
  out.chat.continue_final_message = last.is_object() && last.contains("role") && last["role"] == "assistant" && !last.contains("tool_calls");
  if (auto wrong = normalise_messages(out, "messages", out.messages)) return wrong;
  return settle_chat(out);
}

// The system text of this request takes the place of the one before.
void add_turn(Out& out) {
  if (!out.system.empty()) {
    if (!out.messages.empty() && out.messages[0].is_object() && out.messages[0].contains("role") && out.messages[0]["role"] == "system") out.messages.erase(0);
    out.messages.insert(out.messages.begin(), Json{{"role", "system"}, {"content", out.system}});
  }
  Json content = out.prompt;
  if (!out.images.empty()) {
    content = std::move(out.images);
    content.insert(content.begin(), Json{{"type", "text"}, {"text", out.prompt}});
  }
  out.messages.push_back({{"role", "user"}, {"content", std::move(content)}});
}

// One unit of Go's durations, in seconds; 0 when it is none.
double unit_of(std::string_view text, size_t& length) {
  struct Unit { std::string_view name; double seconds; };
  constexpr Unit units[] = {{"ms", 1e-3}, {"us", 1e-6}, {"µs", 1e-6}, {"ns", 1e-9}, {"h", 3600}, {"m", 60}, {"s", 1}};  // longer names first
  const auto found = std::find_if(std::begin(units), std::end(units), [&](const Unit& unit) { return text.starts_with(unit.name); });
  if (found == std::end(units)) return 0;
  return length = found->name.size(), found->seconds;
}

std::optional<std::chrono::seconds> whole_seconds(double seconds) {
  constexpr double century = 100.0 * 365 * 24 * 3600;
  if (!std::isfinite(seconds)) return std::nullopt;
  if (seconds < 0) return std::chrono::seconds(-1);
  return std::chrono::seconds(static_cast<int64_t>(std::ceil(std::min(seconds, century))));
}

}  // namespace

std::optional<std::chrono::seconds> read_keep_alive(JsonView value) {
  double seconds = 0, sum = 0;
  std::string_view text;
  if (value.is_number() && value.get(seconds) == simdjson::SUCCESS) return whole_seconds(seconds);
  if (value.get(text) != simdjson::SUCCESS || text.empty()) return std::nullopt;
  const bool negative = text.front() == '-';
  if (negative || text.front() == '+') text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    double number = 0;
    size_t length = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (wrong != std::errc() || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty() && sum == 0) return whole_seconds(negative ? -number : number);  // "300", "-1": clients send numbers as text too
    const double unit = unit_of(text, length);
    if (unit == 0) return std::nullopt;
    sum += number * unit;
    text.remove_prefix(length);
  }
  return whole_seconds(negative && sum > 0 ? -sum : sum);
}

Fault keep_alive_fault(const std::string& name) { return fault(name, name + " must be a number of seconds or a duration such as 5m", "invalid_type"); }

Fault read_ollama_chat(std::string_view body, OllamaRequest& out) {
  if (auto wrong = read_body(body, chat_only, out)) return wrong;
  out.loads_only = out.messages.empty();
  return out.loads_only ? std::nullopt : settle_messages(out);
}

Fault read_ollama_generate(std::string_view body, OllamaRequest& out) {
  if (auto wrong = read_body(body, generate_only, out)) return wrong;
  out.loads_only = out.prompt.empty() && !out.chat.suffix;
  if (out.loads_only) return std::nullopt;
  if (out.raw || out.chat.suffix) {
    if (!out.messages.empty()) return fault("context", "context cannot go with raw or suffix");
    if (!out.images.empty()) return fault("images", "images cannot go with raw or suffix", "unsupported");
    if (!out.system.empty()) out.ignored.emplace_back("system");
    out.chat.prompt = out.prompt;
    return std::nullopt;
  }
  add_turn(out);
  return settle_messages(out);
}

Json ollama_chat_schema() { return body_schema(chat_only); }
Json ollama_generate_schema() { return body_schema(generate_only); }
