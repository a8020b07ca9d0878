// fields: how tokens are chosen, and where an answer stops.
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <limits>
#include "wire/fields.h"

namespace {

using enum Field::Kind;

template <auto member> Fault set_real(ParsedRequest& out, const FieldValue& value) { return out.chat.*member = value.real(), std::nullopt; }
template <auto member> Fault set_small(ParsedRequest& out, const FieldValue& value) { return out.chat.*member = value.small(), std::nullopt; }

Fault set_top_k(ParsedRequest& out, const FieldValue& value) { return out.chat.top_k = std::max(0, value.small()), std::nullopt; }

Fault set_top_n_sigma(ParsedRequest& out, const FieldValue& value) {  // -1: off, as in llama.cpp
  return out.chat.top_n_sigma = std::max(0.0f, value.real()), std::nullopt;
}

Fault set_breakers(ParsedRequest& out, const FieldValue& value) { return out.chat.dry_breakers = value.list, std::nullopt; }

Fault set_mirostat(ParsedRequest& out, const FieldValue& value) {
  if (value.integer == 1) return fault(value.name, value.name + " must be 0 or 2: version 1 is not there", "unsupported");
  return out.chat.mirostat = value.small(), std::nullopt;
}

Fault set_seed(ParsedRequest& out, const FieldValue& value) {  // -1: any, as elsewhere
  if (value.integer >= 0) out.chat.seed = static_cast<uint64_t>(value.integer);
  return std::nullopt;
}

Fault set_ignore_eos(ParsedRequest& out, const FieldValue& value) { return out.chat.ignore_eos = value.flag, std::nullopt; }
Fault set_min_tokens(ParsedRequest& out, const FieldValue& value) { return out.chat.min_tokens = value.small(), std::nullopt; }

Fault set_stop_ids(ParsedRequest& out, const FieldValue& value) {
  out.chat.stop_ids.clear();
  if (!read_token_ids(value.json, out.chat.stop_ids)) return fault(value.name, value.name + " must be a list of token ids", "invalid_type");
  return std::nullopt;
}

constexpr double max_bias = 1e6;

// A number, or false: never.
bool read_bias(JsonView json, float& out) {
  bool flag = false;
  double number = 0;
  if (json.get(flag) == simdjson::SUCCESS) return out = -std::numeric_limits<float>::infinity(), !flag;
  if (!json.is_number() || json.get(number) != simdjson::SUCCESS || number < -max_bias || number > max_bias) return false;
  return out = static_cast<float>(number), true;
}

// A key of digits is a token id, any other the text of tokens.
bool add_bias(ParsedRequest& out, std::string_view key, float bias) {
  TokenId id = 0;
  const auto [end, wrong] = std::from_chars(key.data(), key.data() + key.size(), id);
  if (wrong == std::errc() && end == key.data() + key.size()) return id >= 0 && (out.chat.logit_bias.emplace_back(id, bias), true);
  return !key.empty() && (out.chat.text_bias.emplace_back(key, bias), true);
}

bool add_bias_pair(ParsedRequest& out, JsonView pair) {
  if (!pair.is_array() || simdjson::dom::array(pair).size() != 2) return false;
  const JsonView key = simdjson::dom::array(pair).at(0);
  std::string_view text;
  int64_t id = 0;
  float bias = 0;
  if (!read_bias(simdjson::dom::array(pair).at(1), bias)) return false;
  if (key.get(text) == simdjson::SUCCESS) return !text.empty() && (out.chat.text_bias.emplace_back(text, bias), true);
  if (key.get(id) != simdjson::SUCCESS || id < 0 || id > INT32_MAX) return false;
  return out.chat.logit_bias.emplace_back(static_cast<TokenId>(id), bias), true;
}

Fault set_logit_bias(ParsedRequest& out, const FieldValue& value) {
  out.chat.logit_bias.clear();
  out.chat.text_bias.clear();
  const auto wrong = [&](const std::string& at) {
    return fault(at, fmt::format("{} must give a token id or a text a bias from {} to {}, or false", at, -max_bias, max_bias), "invalid_type");
  };
  if (value.json.is_object()) {
    for (const auto [key, json] : simdjson::dom::object(value.json)) {
      float bias = 0;
      if (!read_bias(json, bias) || !add_bias(out, key, bias)) return wrong(value.name + "." + header_safe(key, 64));
    }
  } else if (value.json.is_array()) {
    size_t i = 0;
    for (const JsonView pair : simdjson::dom::array(value.json)) {
      if (!add_bias_pair(out, pair)) return wrong(fmt::format("{}[{}]", value.name, i));
      ++i;
    }
  } else {
    return wrong_type(value.name, "an object or a list of pairs", value.json);
  }
  return std::nullopt;
}

Json bias_schema() {
  const Json bias = {{"anyOf", Json::array({Json{{"type", "number"}, {"minimum", -max_bias}, {"maximum", max_bias}}, Json{{"const", false}}})}};
  const Json key = {{"anyOf", Json::array({Json{{"type", "integer"}, {"minimum", 0}}, Json{{"type", "string"}, {"minLength", 1}}})}};
  return {{"anyOf", Json::array({Json{{"type", "object"}, {"additionalProperties", bias}}, Json{{"type", "array"}, {"items", {{"type", "array"}, {"prefixItems", {key, bias}}, {"minItems", 2}, {"maxItems", 2}}}},
                                 Json{{"type", "null"}}})}};
}

Json ids_schema() { return {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}, {"maximum", INT32_MAX}}}}; }

constexpr Row<ParsedRequest> rows[] = {
    {{"temperature", number, 0, 100, "0: always the most likely token"}, set_real<&ChatRequest::temperature>},
    {{"top_p", number, 0, 1, "nucleus sampling"}, set_real<&ChatRequest::top_p>},
    {{"top_k", integer, -1, int_max, "only the k most likely; 0 or -1: all"}, set_top_k},
    {{"min_p", number, 0, 1, "least probability relative to the best"}, set_real<&ChatRequest::min_p>},
    {{"typical_p", number, 0, 1, "locally typical sampling"}, set_real<&ChatRequest::typical_p>},
    {{"top_n_sigma", number, -1, 100, "only logits within n standard deviations of the best; 0 or -1: all"}, set_top_n_sigma},
    {{"xtc_probability", number, 0, 1, "how often the top choices are excluded"}, set_real<&ChatRequest::xtc_probability>},
    {{"xtc_threshold", number, 0, 1, "what counts as a top choice"}, set_real<&ChatRequest::xtc_threshold>},
    {{"repeat_penalty", number, 0.01, 100, "the same as repetition_penalty"}, set_real<&ChatRequest::repetition_penalty>},
    {{"repetition_penalty", number, 0.01, 100, "divides the logits of tokens seen before"}, set_real<&ChatRequest::repetition_penalty>},
    {{"repeat_last_n", integer, -1, int_max, "window of repetition_penalty; -1: everything"}, set_small<&ChatRequest::repeat_last_n>},
    {{"presence_penalty", number, -2, 2, "taken from the logits of tokens written before"}, set_real<&ChatRequest::presence_penalty>},
    {{"frequency_penalty", number, -2, 2, "the same, times how often"}, set_real<&ChatRequest::frequency_penalty>},
    {{"dry_multiplier", number, 0, 100, "strength of the penalty on repeated sequences; 0: off"}, set_real<&ChatRequest::dry_multiplier>},
    {{"dry_base", number, 1, 100, "growth of that penalty with each token"}, set_real<&ChatRequest::dry_base>},
    {{"dry_allowed_length", integer, 0, int_max, "repetitions up to here are free"}, set_small<&ChatRequest::dry_allowed_length>},
    {{"dry_penalty_last_n", integer, -1, int_max, "window of that penalty; -1: everything"}, set_small<&ChatRequest::dry_penalty_last_n>},
    {{"dry_sequence_breakers", text_list, 0, 256, "texts that no repeated sequence reaches over"}, set_breakers},
    {{"mirostat", integer, 0, 2, "0: off, 2"}, set_mirostat},
    {{"mirostat_tau", number, 0, 100, "surprise that mirostat aims at"}, set_real<&ChatRequest::mirostat_tau>},
    {{"mirostat_eta", number, 0, 1, "its rate of learning"}, set_real<&ChatRequest::mirostat_eta>},
    {{"logit_bias", any, 0, no_limit, "by token id or text: a bias, or false for never", nullptr, bias_schema}, set_logit_bias},
    {{"seed", integer, -1, no_limit, "the same seed gives the same answer; -1: any"}, set_seed},
    {{"stop", text_list, 0, 16, "texts that end the answer"}, set_stop},
    {{"stop_token_ids", array, 0, 1024, "tokens that end the answer", nullptr, ids_schema}, set_stop_ids},
    {{"min_tokens", integer, 0, int_max, "no end before so many"}, set_min_tokens},
    {{"ignore_eos", boolean, 0, 0, "the model's own end tokens do not end the answer"}, set_ignore_eos},
};

}  // namespace

Rows sampling_rows() { return rows; }

Fault set_stop(ParsedRequest& out, const FieldValue& value) {
  if (std::any_of(value.list.begin(), value.list.end(), [](const auto& text) { return text.empty(); })) return fault(value.name, value.name + " must not hold an empty string");
  out.chat.stop = value.list;
  return std::nullopt;
}

bool read_token_ids(JsonView list, std::vector<TokenId>& ids) {
  for (const JsonView item : simdjson::dom::array(list)) {
    int64_t id = 0;
    if (item.get(id) != simdjson::SUCCESS || id < 0 || id > INT32_MAX) return false;
    ids.push_back(static_cast<TokenId>(id));
  }
  return true;
}
