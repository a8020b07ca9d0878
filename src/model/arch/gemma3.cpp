// gemma3: norms before and after attention and feed-forward, sliding windows in most layers, GELU gates (spec 7.5).
#include "model/list.h"

#include <cmath>

namespace {

struct Settings {
  std::vector<LayerKind> kinds;
  int window = 0;
  float attention_scale = 1, logit_cap = 0;
  RopeSettings local, global;
};

struct Layer {
  Slot attention_norm, after_attention_norm, ffn_norm, after_ffn_norm;
  Attention attention;
  Ffn ffn;
};

class Gemma3 final : public Model {
 public:
  Gemma3(const Blueprint& p, const Settings& s)
      : config_(p.config),
        local_(make_rope(s.local, p.config.head_dim)),
        global_(make_rope(s.global, p.config.head_dim)),
        embedding_scale_(embedding_scale(p)),
        logit_cap_(s.logit_cap) {
    const Repair norm = p.weights.gguf() ? Repair::none : Repair::plus_one;  // Hugging Face and MLX keep w, GGUF 1 + w
    plan_ends(p, ends_, norm);
    layers_.resize(s.kinds.size());
    for (int i = 0; i < config_.n_layers; i++) plan_layer(p, s, i, norm);
  }
  const ModelConfig& config() const override { return config_; }
  std::span<const StateSpec> states() const override { return states_; }

  Tensor forward(Encoder& e, const Batch& b) const override {
    const float eps = config_.norm_eps;
    Tensor x = e.embed(*ends_.embed, b.ids, embedding_scale_);
    for (const Layer& l : layers_) {
      x = e.carry(x);
      const Tensor a = attend(e, l.attention, e.rms_norm(x, l.attention_norm.get(), eps), b);
      x = e.add(x, e.rms_norm(a, l.after_attention_norm.get(), eps));
      const Tensor f = feed_forward(e, l.ffn, e.rms_norm(x, l.ffn_norm.get(), eps), Activation::gelu_tanh);
      x = e.add(x, e.rms_norm(f, l.after_ffn_norm.get(), eps));
    }
    const Tensor y = logits(e, ends_, x, b, config_);
    return logit_cap_ > 0 && y.shape[0] > 0 && !b.hidden ? e.softcap(y, logit_cap_) : y;
  }

 private:
  void plan_layer(const Blueprint& p, const Settings& s, int i, Repair norm) {
    Layer& l = layers_[static_cast<size_t>(i)];
    const std::string base = layer_name(i);
    const Shape hidden = {config_.hidden_dim};
    const bool sliding = s.kinds[static_cast<size_t>(i)] == LayerKind::sliding;
    p.weights.vector(l.attention_norm, base + "input_layernorm.weight", hidden, norm);
    plan_attention(p, l.attention, base + "self_attn.", i, sliding ? local_ : global_, {.head_norms = true, .norm = norm});
    l.attention.options = {.scale = s.attention_scale, .window = sliding ? s.window : 0};
    p.weights.vector(l.after_attention_norm, base + "post_attention_layernorm.weight", hidden, norm);
    p.weights.vector(l.ffn_norm, base + "pre_feedforward_layernorm.weight", hidden, norm);
    plan_ffn(p, l.ffn, base + "mlp.", config_.ffn_dim);
    p.weights.vector(l.after_ffn_norm, base + "post_feedforward_layernorm.weight", hidden, norm);
    states_.push_back(attention_state(l.attention));
  }

  ModelConfig config_;
  Rope local_, global_;
  float embedding_scale_, logit_cap_;
  Ends ends_;
  std::vector<Layer> layers_;
  std::vector<StateSpec> states_;
};

// llama.cpp has no key for it: head_dim, but hidden / heads for the 27B model.
double query_scalar(Keys& keys, const ModelConfig& c) {
  if (keys.gguf()) return c.n_layers == 62 ? static_cast<double>(c.hidden_dim) / c.n_heads : c.head_dim;
  return keys.get_number("query_pre_attn_scalar", 256, 1e-3, 1e6);
}

}  // namespace

std::unique_ptr<Model> make_gemma3(Keys& keys, Weights& weights, const ModelConfig& config, bool exact) {
  Settings s;
  keys.need("intermediate_size", 1, max_dim);
  expect_activation(keys, "hidden_activation", "gelu_pytorch_tanh");
  if (keys.get_flag("use_bidirectional_attention", false)) keys.unsupported("use_bidirectional_attention = true");
  if (keys.has("attn_logit_softcapping")) keys.unsupported("attn_logit_softcapping: Gemma 3 has none");
  const int64_t pattern = keys.get("sliding_window_pattern", 6, 1, max_layers);
  s.kinds = read_layer_kinds(keys, config.n_layers, [&](int i) { return (i + 1) % pattern == 0 ? LayerKind::full : LayerKind::sliding; });
  for (const LayerKind kind : s.kinds)
    if (kind == LayerKind::linear) return keys.unsupported("layer_types: linear_attention in gemma3"), nullptr;
  s.window = static_cast<int>(keys.get("sliding_window", 4096, 1, int64_t{1} << 30));
  s.attention_scale = static_cast<float>(1 / std::sqrt(query_scalar(keys, config)));
  s.logit_cap = static_cast<float>(keys.get_number("final_logit_softcapping", 0, 1e-3, 1e6));
  s.global = read_rope(keys, "full_attention", config.head_dim, 1e6);
  s.local = read_rope(keys, "sliding_attention", config.head_dim, 1e4);
  if (keys.failed()) return nullptr;
  return std::make_unique<Gemma3>(Blueprint{keys, weights, config, exact}, s);
}
