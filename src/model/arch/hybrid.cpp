// hybrid: gated attention and the gated delta rule of Qwen3.5 and 3.6.
#include "model/arch/hybrid.h"

#include <algorithm>

namespace {

DeltaDims read_delta(Keys& keys) {
  const auto need = [&](const char* key, int64_t most) { return static_cast<int32_t>(keys.need(key, 1, most)); };
  DeltaDims d;
  d.n_key_heads = need("linear_num_key_heads", max_heads);
  d.n_value_heads = need("linear_num_value_heads", max_heads);
  d.key_dim = need("linear_key_head_dim", max_head_dim);
  d.value_dim = need("linear_value_head_dim", max_head_dim);
  if (const auto inner = keys.meta("ssm.inner_size")) {
    d.value_dim = static_cast<int32_t>(*inner / d.n_value_heads);
    if (*inner != int64_t{d.value_dim} * d.n_value_heads || d.value_dim < 1 || d.value_dim > max_head_dim)
      keys.refuse("ssm.inner_size = " + std::to_string(*inner) + ": a multiple of ssm.time_step_rank = " + std::to_string(d.n_value_heads) +
                  " expected");
  }
  if (d.n_value_heads % d.n_key_heads != 0)
    keys.refuse("linear_num_value_heads = " + std::to_string(d.n_value_heads) +
                ": a multiple of linear_num_key_heads = " + std::to_string(d.n_key_heads) + " expected");
  d.tiled = keys.gguf();
  return d;
}

std::vector<LayerKind> read_kinds(Keys& keys, int n_layers) {
  const int64_t interval = keys.get("full_attention_interval", keys.gguf() ? 4 : 0, 1, max_layers);
  if (interval == 0 && !keys.json("layer_types")) keys.refuse("layer_types or full_attention_interval expected, both are missing");
  const std::vector<int64_t> recurrent = keys.meta_list("attention.recurrent_layers");
  if (recurrent.size() > 1 && std::ssize(recurrent) < n_layers)
    keys.refuse("attention.recurrent_layers: " + std::to_string(n_layers) + " entries expected");
  const auto kinds = read_layer_kinds(keys, n_layers, [&](int i) {
    if (recurrent.size() > 1 && i < std::ssize(recurrent)) return recurrent[static_cast<size_t>(i)] ? LayerKind::linear : LayerKind::full;
    return interval > 0 && (i + 1) % interval == 0 ? LayerKind::full : LayerKind::linear;
  });
  if (std::ranges::find(kinds, LayerKind::sliding) != kinds.end())
    keys.unsupported("layer_types: sliding_attention in " + std::string(keys.model_type()));
  return kinds;
}

StateSpec plan_delta(const Blueprint& p, DeltaRule& d, const HybridSettings& s, const std::string& base, int layer) {
  const int64_t hidden = p.config.hidden_dim, key = int64_t{s.delta.n_key_heads} * s.delta.key_dim,
                value = int64_t{s.delta.n_value_heads} * s.delta.value_dim;
  const int64_t heads = s.delta.n_value_heads, channels = 2 * key + value;
  d.dims = s.delta, d.eps = p.config.norm_eps, d.state = {layer};
  p.weights.matrix(d.qkv, base + "in_proj_qkv.weight", channels, hidden);
  p.weights.matrix(d.z, base + "in_proj_z.weight", value, hidden);
  p.weights.sensitive(d.b, base + "in_proj_b.weight", heads, hidden);
  p.weights.sensitive(d.a, base + "in_proj_a.weight", heads, hidden);
  p.weights.taps(d.taps, base + "conv1d.weight", channels, s.conv_kernel);
  p.weights.vector(d.neg_exp_a, base + "A_log", {heads}, p.weights.gguf() ? Repair::none : Repair::negative_exp);
  p.weights.vector(d.dt_bias, base + "dt_bias", {heads});
  p.weights.vector(d.norm, base + "norm.weight", {s.delta.value_dim});
  p.weights.matrix(d.out, base + "out_proj.weight", hidden, value);
  StateSpec state;
  state.kind = StateSpec::Kind::recurrent;
  state.conv_channels = static_cast<int32_t>(channels), state.conv_kernel = s.conv_kernel;
  state.n_heads = s.delta.n_value_heads, state.head_key_dim = s.delta.key_dim, state.head_value_dim = s.delta.value_dim;
  return state;
}

Tensor delta(Encoder& e, const DeltaRule& d, const Tensor& x, const Batch& batch) {
  const Weight* const w[] = {d.qkv.get(), d.z.get(), d.b.get(), d.a.get()};
  Tensor in[4];
  e.linears(x, w, in);
  const DeltaWeights weights{d.taps.get(), d.neg_exp_a.get(), d.dt_bias.get(), d.norm.get(), d.eps};
  return e.linear(e.gated_delta(in[0], in[1], in[3], in[2], weights, d.dims, d.state, batch), *d.out);
}

}  // namespace

HybridSettings read_hybrid(Keys& keys, const ModelConfig& config) {
  HybridSettings s;
  s.kinds = read_kinds(keys, config.n_layers);
  s.delta = read_delta(keys);
  s.conv_kernel = static_cast<int>(keys.need("linear_conv_kernel_dim", 2, 64));
  s.rope = read_rope(keys, "full_attention", config.head_dim);
  expect_activation(keys, "hidden_act", "silu");
  if (!keys.get_flag("attn_output_gate", true)) keys.unsupported("attn_output_gate = false");
  return s;
}

Repair hybrid_norm(const Weights& weights, const HybridSettings& s) {
  if (weights.gguf()) return Repair::none;
  for (size_t i = 0; i < s.kinds.size(); i++) {
    const Shape* taps = weights.shape_of(layer_name(static_cast<int>(i)) + "linear_attn.conv1d.weight");
    if (taps && taps->back() != 1) return Repair::plus_one;
    if (taps) return Repair::none;
  }
  return Repair::plus_one;  // no delta-rule layer: Hugging Face's own form
}

StateSpec plan_mixer(const Blueprint& p, Mixer& m, const HybridSettings& s, const Rope& rope, int layer) {
  const Repair norm = hybrid_norm(p.weights, s);
  const std::string base = layer_name(layer);
  m.linear = s.kinds[static_cast<size_t>(layer)] == LayerKind::linear;
  p.weights.vector(m.norm, base + "input_layernorm.weight", {p.config.hidden_dim}, norm);
  if (m.linear) return plan_delta(p, m.delta, s, base + "linear_attn.", layer);
  plan_attention(p, m.attention, base + "self_attn.", layer, rope, {.gated = true, .head_norms = true, .norm = norm});
  return attention_state(m.attention);
}

Tensor mix(Encoder& e, const Mixer& m, const Tensor& x, const Batch& b, float eps) {
  const Tensor h = e.rms_norm(x, m.norm.get(), eps);
  return m.linear ? delta(e, m.delta, h, b) : attend(e, m.attention, h, b);
}
