// rope: rotary settings of a model and the frequency tables they mean.
#pragma once
#include "device/device.h"
#include "model/keys.h"

struct RopeSettings {
  std::string type = "default";  // default, linear, llama3, yarn, proportional
  double theta = 0, factor = 1;
  double partial = 1;  // rotated fraction of head_dim
  double low_freq = 1, high_freq = 4, original_positions = 0;
  double beta_fast = 32, beta_slow = 1, magnitude = 1;
  bool truncate = true;         // YaRN: whether the ramp's ends are rounded to whole pairs
  std::vector<float> divisors;  // GGUF's rope_freqs: every frequency is divided by its own
};

// The settings for layers of kind `layer_type` ("full_attention", "sliding_attention"), under new or old key names.
// `default_theta` 0: the key is required. `head_dim` turns GGUF's rotated dimensions into a fraction.
RopeSettings read_rope(Keys& keys, std::string_view layer_type, int head_dim, double default_theta = 0);

Rope make_rope(const RopeSettings& settings, int head_dim, RopePairs pairs = RopePairs::halves);
