// fields: the table, and the walk of a request body over it.
#include "wire/fields.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <unordered_set>

namespace {

enum class Kind : uint8_t { boolean, integer, number, text, text_list, object, array, any };

// A value of the row's kind, inside the row's range.
struct Value {
  JsonView json;
  bool flag = false;
  int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<std::string> list;
  float real() const { return static_cast<float>(number); }
  int small() const { return static_cast<int>(integer); }
};

struct Field {
  const char* name;
  Dialect dialect;
  Kind kind;
  double low, high;                             // of a number; of a list, how many
  Fault (*store)(ParsedRequest& out, const Value& value);
};

constexpr double int_max = 2147483647, no_limit = 1e19;

template <auto member> Fault set_real(ParsedRequest& out, const Value& value) { return out.chat.*member = value.real(), std::nullopt; }
template <auto member> Fault set_flag(ParsedRequest& out, const Value& value) { return out.*member = value.flag, std::nullopt; }

Fault only_one(ParsedRequest&, const Value&) { return std::nullopt; }  // the range says it all

Fault set_top_k(ParsedRequest& out, const Value& value) { return out.chat.top_k = std::max(0, value.small()), std::nullopt; }
Fault set_max_tokens(ParsedRequest& out, const Value& value) { return out.chat.max_tokens = value.small(), std::nullopt; }
Fault set_max_completion(ParsedRequest& out, const Value& value) { return out.max_completion_tokens = value.small(), std::nullopt; }
Fault set_ignore_eos(ParsedRequest& out, const Value& value) { return out.chat.ignore_eos = value.flag, std::nullopt; }
Fault set_top_logprobs(ParsedRequest& out, const Value& value) { return out.top_logprobs = value.small(), std::nullopt; }
Fault set_model(ParsedRequest& out, const Value& value) { return out.chat.model = value.text, std::nullopt; }
Fault set_messages(ParsedRequest& out, const Value& value) { return read_messages(out, value.json); }
Fault set_tools(ParsedRequest& out, const Value& value) { return read_tools(out, value.json); }
Fault set_tool_choice(ParsedRequest& out, const Value& value) { return read_tool_choice(out, value.json); }
Fault set_prompt(ParsedRequest& out, const Value& value) { return read_prompt(out, value.json); }

Fault set_seed(ParsedRequest& out, const Value& value) {  // -1: any, as elsewhere
  if (value.integer >= 0) out.chat.seed = static_cast<uint64_t>(value.integer);
  return std::nullopt;
}

Fault set_completion_logprobs(ParsedRequest& out, const Value& value) {
  out.logprobs = true;
  out.top_logprobs = value.small();
  return std::nullopt;
}

Fault set_stop(ParsedRequest& out, const Value& value) {
  if (std::any_of(value.list.begin(), value.list.end(), [](const auto& text) { return text.empty(); })) return fault("stop", "stop strings must not be empty");
  out.chat.stop = value.list;
  return std::nullopt;
}

Fault set_stream_options(ParsedRequest& out, const Value& value) {
  for (const auto [key, option] : simdjson::dom::object(value.json)) {
    const std::string name = "stream_options." + std::string(key);
    if (key != "include_usage") {
      out.ignored.push_back(name);
    } else if (!option.is_null() && option.get(out.include_usage) != simdjson::SUCCESS) {
      return fault(name, name + " must be true or false, not " + kind_name(option), "invalid_type");
    }
  }
  return std::nullopt;
}

Fault set_kwargs(ParsedRequest& out, const Value& value) {  // a top-level field of the same name wins
  Json merged = copy(value.json);
  merged.update(out.kwargs);
  out.kwargs = std::move(merged);
  return std::nullopt;
}

Fault set_enable_thinking(ParsedRequest& out, const Value& value) { return out.kwargs["enable_thinking"] = value.flag, std::nullopt; }

Fault set_reasoning_effort(ParsedRequest& out, const Value& value) {
  static const std::unordered_set<std::string_view> levels = {"none", "minimal", "low", "medium", "high", "xhigh"};
  if (!levels.contains(value.text)) return fault("reasoning_effort", "reasoning_effort must be none, minimal, low, medium, high or xhigh");
  if (value.text == "none") {
    if (!out.kwargs.contains("enable_thinking")) out.kwargs["enable_thinking"] = false;
  } else {
    out.kwargs["reasoning_effort"] = value.text;
  }
  return std::nullopt;
}

Fault refuse_format(ParsedRequest&, const Value& value) {
  if (find_string(value.json, "type") == "text") return std::nullopt;
  return fault("response_format", "response_format other than {\"type\":\"text\"} cannot be enforced yet", "unsupported");
}

Fault refuse_echo(ParsedRequest&, const Value& value) {
  return value.flag ? fault("echo", "echo cannot be honoured", "unsupported") : std::nullopt;
}

Fault refuse_suffix(ParsedRequest&, const Value& value) {
  return value.text.empty() ? std::nullopt : fault("suffix", "suffix cannot be honoured", "unsupported");
}

// In the order in which fields are looked at.
constexpr Field fields[] = {
    {"strict", Dialect::both, Kind::boolean, 0, 0, set_flag<&ParsedRequest::strict>},
    {"model", Dialect::both, Kind::text, 0, 0, set_model},
    {"messages", Dialect::chat, Kind::array, 1, no_limit, set_messages},
    {"prompt", Dialect::completions, Kind::any, 0, 0, set_prompt},
    {"stream", Dialect::both, Kind::boolean, 0, 0, set_flag<&ParsedRequest::stream>},
    {"stream_options", Dialect::both, Kind::object, 0, 0, set_stream_options},
    {"timings", Dialect::both, Kind::boolean, 0, 0, set_flag<&ParsedRequest::timings>},
    {"n", Dialect::both, Kind::integer, 1, 1, only_one},
    {"best_of", Dialect::completions, Kind::integer, 1, 1, only_one},
    {"max_tokens", Dialect::both, Kind::integer, 1, int_max, set_max_tokens},
    {"max_completion_tokens", Dialect::both, Kind::integer, 1, int_max, set_max_completion},
    {"temperature", Dialect::both, Kind::number, 0, 100, set_real<&ChatRequest::temperature>},
    {"top_p", Dialect::both, Kind::number, 0, 1, set_real<&ChatRequest::top_p>},
    {"min_p", Dialect::both, Kind::number, 0, 1, set_real<&ChatRequest::min_p>},
    {"top_k", Dialect::both, Kind::integer, -1, int_max, set_top_k},
    {"repeat_penalty", Dialect::both, Kind::number, 0.01, 100, set_real<&ChatRequest::repetition_penalty>},
    {"repetition_penalty", Dialect::both, Kind::number, 0.01, 100, set_real<&ChatRequest::repetition_penalty>},
    {"presence_penalty", Dialect::both, Kind::number, -2, 2, set_real<&ChatRequest::presence_penalty>},
    {"frequency_penalty", Dialect::both, Kind::number, -2, 2, set_real<&ChatRequest::frequency_penalty>},
    {"seed", Dialect::both, Kind::integer, -1, no_limit, set_seed},
    {"stop", Dialect::both, Kind::text_list, 0, 16, set_stop},
    {"ignore_eos", Dialect::both, Kind::boolean, 0, 0, set_ignore_eos},
    {"logprobs", Dialect::chat, Kind::boolean, 0, 0, set_flag<&ParsedRequest::logprobs>},
    {"top_logprobs", Dialect::chat, Kind::integer, 0, 20, set_top_logprobs},
    {"logprobs", Dialect::completions, Kind::integer, 0, 20, set_completion_logprobs},
    {"enable_thinking", Dialect::chat, Kind::boolean, 0, 0, set_enable_thinking},
    {"reasoning_effort", Dialect::chat, Kind::text, 0, 0, set_reasoning_effort},
    {"chat_template_kwargs", Dialect::chat, Kind::object, 0, 0, set_kwargs},
    {"tools", Dialect::chat, Kind::array, 0, no_limit, set_tools},
    {"tool_choice", Dialect::chat, Kind::any, 0, 0, set_tool_choice},
    {"response_format", Dialect::chat, Kind::object, 0, 0, refuse_format},
    {"echo", Dialect::completions, Kind::boolean, 0, 0, refuse_echo},
    {"suffix", Dialect::completions, Kind::text, 0, 0, refuse_suffix},
};

// They promise nothing about the text: listed as ignored, never refused.
constexpr std::string_view tolerated[] = {"user", "metadata", "store", "service_tier", "safety_identifier"};

bool applies(const Field& field, Dialect dialect) { return (static_cast<int>(field.dialect) & static_cast<int>(dialect)) != 0; }

std::string expectation(const Field& field) {
  const auto range = [&](const char* what) {
    if (field.low == field.high) return fmt::format("{}", field.low);
    if (field.high >= int_max) return fmt::format("{} of at least {}", what, field.low);
    return fmt::format("{} from {} to {}", what, field.low, field.high);
  };
  switch (field.kind) {
    case Kind::boolean: return "true or false";
    case Kind::integer: return range("an integer");
    case Kind::number: return range("a number");
    case Kind::text: return "a string";
    case Kind::text_list: return fmt::format("a string or a list of at most {} strings", field.high);
    case Kind::object: return "an object";
    case Kind::array: return field.low > 0 ? "a non-empty list" : "a list";
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

// Whether `json` is of the row's kind; fills `value`.
bool read_kind(const Field& field, JsonView json, Value& value) {
  std::string_view text;
  value.json = json;
  switch (field.kind) {
    case Kind::boolean: return json.get(value.flag) == simdjson::SUCCESS;
    case Kind::integer: return beyond_int64(json) || read_integer(json, value.integer);
    case Kind::number: return json.is_number() && json.get(value.number) == simdjson::SUCCESS;
    case Kind::text: return json.get(text) == simdjson::SUCCESS && (value.text = text, true);
    case Kind::text_list: return read_texts(json, value.list);
    case Kind::object: return json.is_object();
    case Kind::array: return json.is_array();
    default: return true;
  }
}

bool in_range(const Field& field, const Value& value) {
  const auto inside = [&](double number) { return number >= field.low && number <= field.high; };
  switch (field.kind) {
    case Kind::integer: return !beyond_int64(value.json) && inside(static_cast<double>(value.integer));
    case Kind::number: return inside(value.number);
    case Kind::text_list: return inside(static_cast<double>(value.list.size()));
    case Kind::array: return inside(static_cast<double>(simdjson::dom::array(value.json).size()));
    default: return true;
  }
}

Fault read_field(const Field& field, JsonView json, ParsedRequest& out) {
  Value value;
  if (!read_kind(field, json, value)) return fault(field.name, fmt::format("{} must be {}, not {}", field.name, expectation(field), kind_name(json)), "invalid_type");
  if (!in_range(field, value)) return fault(field.name, fmt::format("{} must be {}", field.name, expectation(field)));
  return field.store(out, value);
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
      if (!seen.insert(key).second) return fault(header_safe(key, 64), "the request body has a key twice in one object", "duplicate_key");
      if (auto found = find_duplicate(item)) return found;
    }
  }
  return std::nullopt;
}

Fault settle(Dialect dialect, ParsedRequest& out, JsonView root) {
  if (dialect == Dialect::chat && out.chat.messages_json.empty()) return fault("messages", "messages is required", "missing_field");
  if (dialect == Dialect::completions && !out.chat.prompt && out.chat.prompt_ids.empty()) return fault("prompt", "prompt is required", "missing_field");
  if (out.max_completion_tokens) out.chat.max_tokens = out.max_completion_tokens;
  if (out.top_logprobs && !out.logprobs) return fault("top_logprobs", "top_logprobs needs logprobs: true");
  if (out.logprobs) out.chat.top_logprobs = out.top_logprobs.value_or(0);
  if (out.tools_off) out.chat.tools_json.clear();
  if (!out.kwargs.empty()) out.chat.template_kwargs_json = out.kwargs.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!out.stream && find(root, "stream_options")) out.ignored.push_back("stream_options");
  return std::nullopt;
}

// What no row of the table reads.
void list_unknown(Dialect dialect, JsonView root, ParsedRequest& out) {
  for (const auto [key, value] : simdjson::dom::object(root)) {
    const auto known = [&, name = key](const Field& field) { return applies(field, dialect) && name == field.name; };
    if (!value.is_null() && std::none_of(std::begin(fields), std::end(fields), known)) out.ignored.emplace_back(key);
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

Json copy(JsonView value) { return Json::parse(simdjson::minify(value), nullptr, false); }

const char* kind_name(JsonView value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "true or false";
  if (value.is_string()) return "a string";
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return value.type() == simdjson::dom::element_type::DOUBLE ? "a fractional number" : "a number";
}

std::optional<ApiError> parse_request(Dialect dialect, std::string_view body, ParsedRequest& out) {
  const auto document = JsonDocument::parse("the request body", body, std::max<size_t>(body.size(), 1024));
  if (!document) return fault("", document.error().message, "invalid_json");
  const JsonView root = document->root();
  if (!root.is_object()) return fault("", std::string("the request body must be a JSON object, not ") + kind_name(root), "invalid_json");
  if (auto twice = find_duplicate(root)) return twice;
  for (const Field& field : fields) {
    const auto value = applies(field, dialect) ? find(root, field.name) : std::nullopt;
    if (!value) continue;
    if (auto wrong = read_field(field, *value, out)) return wrong;
  }
  list_unknown(dialect, root, out);
  if (auto wrong = settle(dialect, out, root)) return wrong;
  if (!out.strict) return std::nullopt;
  for (const std::string& name : out.ignored) {
    if (std::find(std::begin(tolerated), std::end(tolerated), name) != std::end(tolerated)) continue;
    return fault(header_safe(name, 64), header_safe(name, 64) + " has no effect here, and strict is true", "ignored_field");
  }
  return std::nullopt;
}
