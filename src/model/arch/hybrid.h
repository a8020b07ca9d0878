// hybrid: what Qwen3.5's dense and mixture models share, a mixer that is either gated attention or a gated delta rule (spec 1.5, 1.6).
#pragma once
#include "model/list.h"

struct HybridSettings {
  std::vector<LayerKind> kinds;  // full or linear
  DeltaDims delta;
  int conv_kernel = 0;
  RopeSettings rope;
};
HybridSettings read_hybrid(Keys& keys, const ModelConfig& config);

// Zero-centred norms are stored as w by Hugging Face and as 1 + w by MLX and GGUF. conv1d's layout tells which (spec 1.4).
Repair hybrid_norm(const Weights& weights, const HybridSettings& s);

struct DeltaRule {
  Slot qkv, z, a, b, taps, neg_exp_a, dt_bias, norm, out;
  DeltaDims dims;
  float eps = 0;
  StateRef state;
};

// One of the two, with the norm in front of it.
struct Mixer {
  Slot norm;
  Attention attention;
  DeltaRule delta;
  bool linear = false;
};
// Returns what the layer remembers.
StateSpec plan_mixer(const Blueprint& p, Mixer& m, const HybridSettings& s, const Rope& rope, int layer);
Tensor mix(Encoder& e, const Mixer& m, const Tensor& x, const Batch& b, float eps);
