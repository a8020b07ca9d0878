// generation: stop tokens and sampling defaults from generation_config.json, config.json or GGUF metadata.
#include <algorithm>
#include <cmath>
#include "core/json.h"
#include "model/model.h"

namespace {

void add_stop(GenerationDefaults& d, int64_t id) {
  if (id < 0 || id > (int64_t{1} << 24)) return;  // -1 and the like mean "none"
  const auto token = static_cast<TokenId>(id);
  if (std::ranges::find(d.stop_ids, token) == d.stop_ids.end()) d.stop_ids.push_back(token);
}

void add_stops(GenerationDefaults& d, JsonView object, std::string_view key) {
  const auto value = find(object, key);
  int64_t id = 0;
  simdjson::dom::array ids;
  if (value && value->get(id) == simdjson::SUCCESS) add_stop(d, id);
  if (!value || value->get(ids) != simdjson::SUCCESS) return;
  for (const auto item : ids)
    if (item.get(id) == simdjson::SUCCESS) add_stop(d, id);
}

struct Range {
  double low, high;
};

// Absurd values are refused by name rather than sampled with.
Status set(float& to, bool& from_file, const std::string& path, std::string_view key, std::optional<double> value, Range range) {
  if (!value) return ok_status();
  if (!(*value >= range.low && *value <= range.high))
    return Error{Code::corrupt_file, "cannot read sampling defaults of " + path + ": " + std::string(key) + " = " + std::to_string(*value) + ": " +
                                         std::to_string(range.low) + " to " + std::to_string(range.high) + " expected"};
  to = static_cast<float>(*value);
  from_file = true;
  return ok_status();
}

using Lookup = std::function<std::optional<double>(std::string_view)>;
struct SamplingKeys {
  std::string_view temperature, top_p, min_p, top_k, repetition;
};

Status read_sampling(GenerationDefaults& d, const std::string& path, const SamplingKeys& keys, const Lookup& value) {
  float top_k = 0;
  TRY_STATUS(set(d.temperature, d.from_file, path, keys.temperature, value(keys.temperature), {0, 100}));
  TRY_STATUS(set(d.top_p, d.from_file, path, keys.top_p, value(keys.top_p), {0, 1}));
  TRY_STATUS(set(d.min_p, d.from_file, path, keys.min_p, value(keys.min_p), {0, 1}));
  TRY_STATUS(set(d.repetition_penalty, d.from_file, path, keys.repetition, value(keys.repetition), {1e-3, 100}));
  TRY_STATUS(set(top_k, d.from_file, path, keys.top_k, value(keys.top_k), {-1, 1e7}));
  d.top_k = std::max(0, static_cast<int>(top_k));
  return ok_status();
}

Result<GenerationDefaults> from_gguf(const WeightFile& file) {
  GenerationDefaults d;
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"})
    add_stop(d, meta_int(file, key).value_or(-1));
  const SamplingKeys keys = {"general.sampling.temp", "general.sampling.top_p", "general.sampling.min_p", "general.sampling.top_k",
                             "general.sampling.penalty_repeat"};
  TRY_STATUS(read_sampling(d, file.path(), keys, [&](std::string_view key) -> std::optional<double> {
    if (const auto whole = meta_int(file, key)) return static_cast<double>(*whole);
    return meta_double(file, key);
  }));
  d.do_sample = d.from_file && d.temperature > 0;
  return d;
}

Status read_generation_config(const WeightFile& file, GenerationDefaults& d) {
  constexpr size_t most = size_t{1} << 20;
  auto text = file.sidecar("generation_config.json", most);
  if (!text) return text.error().code == Code::not_found ? ok_status() : Status(text.error());
  TRY(const JsonDocument document, JsonDocument::parse("generation_config.json of " + file.path(), *text, most));
  const JsonView root = document.root();
  add_stops(d, root, "eos_token_id");
  const SamplingKeys keys = {"temperature", "top_p", "min_p", "top_k", "repetition_penalty"};
  TRY_STATUS(read_sampling(d, file.path(), keys, [&](std::string_view key) { return find_double(root, key); }));
  d.do_sample = find_bool(root, "do_sample").value_or(false);
  d.from_file = d.from_file || find(root, "do_sample").has_value();
  return ok_status();
}

// Where the authors say nothing: cool enough for a 100 M model to stay on the subject, with a touch against loops.
GenerationDefaults house_defaults(GenerationDefaults d) {
  if (d.from_file) return d;
  d.temperature = 0.4f;
  d.top_p = 0.9f;
  d.min_p = 0.05f;
  d.top_k = 40;
  d.repetition_penalty = 1.05f;
  return d;
}

Result<GenerationDefaults> from_folder(const WeightFile& file) {
  GenerationDefaults d;
  TRY_STATUS(read_generation_config(file, d));
  if (file.config().empty()) return d;
  TRY(const JsonDocument document, JsonDocument::parse("config.json of " + file.path(), file.config()));
  add_stops(d, document.root(), "eos_token_id");
  if (const auto text = find(document.root(), "text_config")) add_stops(d, *text, "eos_token_id");
  return d;
}

}  // namespace

Result<GenerationDefaults> generation_defaults(const WeightFile& file) {
  TRY(GenerationDefaults found, file.container() == Container::gguf ? from_gguf(file) : from_folder(file));
  return house_defaults(std::move(found));
}
