// rope: default, linear, llama3, yarn and proportional frequencies (spec 1.6, 7.4, 7.6).
#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace {

constexpr double largest = 1e12;

// Truncated as Hugging Face does; the small term undoes the rounding of GGUF's quotient.
int rotated_dims(const RopeSettings& s, int head_dim) { return static_cast<int>(head_dim * s.partial + 1e-6); }

// Hugging Face's rotary keys lie in rope_parameters (perhaps one entry per layer type), or in rope_scaling and the config itself.
class RopeKeys {
 public:
  RopeKeys(Keys& keys, std::string_view layer_type) : keys_(keys) {
    const auto all = keys.json("rope_parameters");
    const auto own = all ? find(*all, layer_type) : std::nullopt;
    if (own && own->is_object())
      inner_ = own;
    else if (layer_type == "full_attention")
      inner_ = all ? all : keys.json("rope_scaling");
    else
      local_ = true;  // older Gemma files: one theta for the sliding layers, never scaled
  }
  bool local() const { return local_; }
  std::string type() const {
    if (!inner_) return "default";
    const auto name = find_string(*inner_, "rope_type");
    return std::string(name ? *name : find_string(*inner_, "type").value_or("default"));
  }
  bool has(std::string_view key) const { return value(key).has_value(); }
  double get(std::string_view key, double fallback, double low, double high) {
    const auto found = value(key);
    if (!found) return fallback;
    double number = 0;
    if (found->get(number) == simdjson::SUCCESS) return keys_.check(key, number, low, high);
    keys_.refuse(std::string(key) + ": a number expected");
    return fallback;
  }
  double need(std::string_view key, double low, double high) {
    if (!has(key)) keys_.refuse(std::string(key) + " is missing");
    return get(key, low, low, high);
  }
  std::optional<JsonView> value(std::string_view key) const {
    if (inner_)
      if (const auto own = find(*inner_, key)) return own;
    return keys_.json(key);
  }

 private:
  Keys& keys_;
  std::optional<JsonView> inner_;
  bool local_ = false;
};

double yarn_magnitude(double factor, double scale) { return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1; }

double default_magnitude(RopeKeys& rope, double factor) {
  const double scale = rope.get("mscale", 0, 0, 1000), all = rope.get("mscale_all_dim", 0, 0, 1000);
  const double usual = scale > 0 && all > 0 ? yarn_magnitude(factor, scale) / yarn_magnitude(factor, all) : yarn_magnitude(factor, 1);
  return rope.get("attention_factor", usual, 1e-6, 1e6);
}

void read_scaled(Keys& keys, RopeKeys& rope, RopeSettings& s) {
  if (s.type == "mrope") s.type = "default";  // Qwen-VL's name for plain rotary positions of text
  if (s.type == "default") return;
  if (s.type == "proportional") {
    s.factor = rope.get("factor", 1, 1e-6, 1e6);
    return;
  }
  if (s.type != "linear" && s.type != "llama3" && s.type != "yarn") {
    keys.unsupported("rope_type = " + s.type + ": default, linear, llama3, yarn or proportional expected");
    return;
  }
  s.factor = rope.need("factor", 1e-6, 1e6);
  if (s.type == "linear") return;
  s.original_positions =
      rope.get("original_max_position_embeddings", static_cast<double>(keys.get("max_position_embeddings", 4096, 1, int64_t{1} << 30)), 1, 1e10);
  if (s.type == "llama3") {
    s.low_freq = rope.need("low_freq_factor", 1e-6, 1e6);
    s.high_freq = rope.need("high_freq_factor", 1e-6, 1e6);
    if (!(s.high_freq > s.low_freq)) keys.refuse("high_freq_factor: more than low_freq_factor expected");
    return;
  }
  s.beta_fast = rope.get("beta_fast", 32, 1e-6, 1e6);
  s.beta_slow = rope.get("beta_slow", 1, 1e-6, 1e6);
  s.magnitude = default_magnitude(rope, s.factor);
  bool rounded = true;
  if (const auto flag = rope.value("truncate"); flag && flag->get(rounded) == simdjson::SUCCESS) s.truncate = rounded;
}

RopeSettings read_json(Keys& keys, std::string_view layer_type, double default_theta) {
  RopeKeys rope(keys, layer_type);
  RopeSettings s;
  const std::string_view theta_key = rope.local() ? "rope_local_base_freq" : "rope_theta";
  const bool use_default = default_theta > 0 && !rope.has(theta_key);
  s.theta = use_default ? default_theta : rope.need(theta_key, 1.0001, largest);
  s.type = rope.type();
  s.partial = rope.get("partial_rotary_factor", 1, 1e-6, 1);
  read_scaled(keys, rope, s);
  return s;
}

RopeSettings read_meta(Keys& keys, std::string_view layer_type, int head_dim, double default_theta) {
  const bool local = layer_type == "sliding_attention";
  const auto number = [&](const char* suffix, double fallback, double low, double high) {
    const auto value = keys.meta_number(suffix);
    const std::string key = std::string(keys.model_type()) + "." + suffix;
    if (!value && keys.file().meta(key)) keys.refuse(key + ": a number expected");
    return value ? keys.check(suffix, *value, low, high) : fallback;
  };
  RopeSettings s;
  s.theta = number(local ? "rope.freq_base_swa" : "rope.freq_base", default_theta > 0 ? default_theta : 10000, 1.0001, largest);
  const double rotated =
      number(local && keys.meta("rope.dimension_count_swa") ? "rope.dimension_count_swa" : "rope.dimension_count", head_dim, 2, head_dim);
  s.partial = rotated / head_dim;
  if (local) return s;
  const std::string_view type = keys.meta_text("rope.scaling.type").value_or("none");
  s.type = type == "none" ? "default" : type;
  if (s.type == "default") return s;
  if (s.type != "linear" && s.type != "yarn") keys.unsupported("rope.scaling.type = " + s.type + ": none, linear or yarn expected");
  s.factor = number("rope.scaling.factor", 1, 1e-6, 1e6);
  s.original_positions =
      number("rope.scaling.original_context_length", static_cast<double>(keys.get("max_position_embeddings", 4096, 1, int64_t{1} << 30)), 1, 1e10);
  s.beta_fast = number("rope.scaling.yarn_beta_fast", 32, 1e-6, 1e6);
  s.beta_slow = number("rope.scaling.yarn_beta_slow", 1, 1e-6, 1e6);
  s.magnitude = s.type == "yarn" ? yarn_magnitude(s.factor, 1) * number("rope.scaling.yarn_attn_factor", 1, 1e-6, 1e6) : 1;
  return s;
}

// Wavelengths beyond original / low are stretched by factor, those below original / high stay, and between them it is mixed.
double llama3_frequency(const RopeSettings& s, double frequency) {
  const double turns = s.original_positions * frequency / (2 * std::numbers::pi);
  const double kept = std::clamp((turns - s.low_freq) / (s.high_freq - s.low_freq), 0.0, 1.0);
  return (1 - kept) * frequency / s.factor + kept * frequency;
}

struct Ramp {
  double low, high;
};

Ramp yarn_ramp(const RopeSettings& s, int rotary_dim) {
  const auto pair_of = [&](double turns) {
    return rotary_dim * std::log(s.original_positions / (turns * 2 * std::numbers::pi)) / (2 * std::log(s.theta));
  };
  Ramp r{pair_of(s.beta_fast), pair_of(s.beta_slow)};
  if (s.truncate) r = {std::floor(r.low), std::ceil(r.high)};
  r = {std::max(r.low, 0.0), std::min(r.high, rotary_dim - 1.0)};
  if (r.low == r.high) r.high += 0.001;
  return r;
}

double scaled_frequency(const RopeSettings& s, const Ramp& ramp, int pair, double frequency) {
  if (s.type == "linear" || s.type == "proportional") return frequency / s.factor;
  if (s.type == "llama3") return llama3_frequency(s, frequency);
  if (s.type != "yarn") return frequency;
  const double stretched = std::clamp((pair - ramp.low) / (ramp.high - ramp.low), 0.0, 1.0);
  return frequency / s.factor * stretched + frequency * (1 - stretched);
}

}  // namespace

RopeSettings read_rope(Keys& keys, std::string_view layer_type, int head_dim, double default_theta) {
  RopeSettings s = keys.gguf() ? read_meta(keys, layer_type, head_dim, default_theta) : read_json(keys, layer_type, default_theta);
  const int rotary_dim = rotated_dims(s, head_dim);
  if (rotary_dim < 2 || (rotary_dim % 2 != 0 && s.type != "proportional"))
    keys.refuse("rotary dimensions = " + std::to_string(rotary_dim) + ": an even number of at least 2 expected");
  return s;
}

Rope make_rope(const RopeSettings& s, int head_dim, RopePairs pairs) {
  const bool whole = s.type == "proportional";  // frequencies of the full width, of which only the first `partial` rotate
  const int rotary_dim = rotated_dims(s, head_dim), width = whole ? head_dim : rotary_dim;
  const Ramp ramp = s.type == "yarn" ? yarn_ramp(s, rotary_dim) : Ramp{};
  Rope rope;
  rope.magnitude = static_cast<float>(s.magnitude);
  rope.pairs = pairs;
  for (int i = 0; i < width / 2; i++) {
    double frequency = i < rotary_dim / 2 ? scaled_frequency(s, ramp, i, std::pow(s.theta, -2.0 * i / width)) : 0;
    if (static_cast<size_t>(i) < s.divisors.size())
      frequency = s.divisors[static_cast<size_t>(i)] > 1e20f ? 0 : frequency / s.divisors[static_cast<size_t>(i)];
    rope.inverse_frequencies.push_back(static_cast<float>(frequency));
  }
  return rope;
}
