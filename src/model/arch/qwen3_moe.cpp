// qwen3_moe: Qwen3's attention, and routed experts without a shared one in most layers.
#include "model/list.h"

#include <algorithm>

namespace {

struct Settings {
  int64_t expert_dim = 0;
  bool renormalise = true;
  std::vector<bool> routed;  // per layer: experts, or an ordinary feed-forward
  std::vector<int> windows;
  RopeSettings rope;
};

struct Layer {
  Slot attention_norm, ffn_norm;
  Attention attention;
  Moe moe;
  Ffn ffn;
};

class Qwen3Moe final : public Model {
 public:
  Qwen3Moe(const Blueprint& p, const Settings& s) : config_(p.config), rope_(make_rope(s.rope, p.config.head_dim)) {
    plan_ends(p, ends_, Repair::none);
    layers_.resize(s.routed.size());
    for (int i = 0; i < config_.n_layers; i++) plan_layer(p, s, i);
  }
  const ModelConfig& config() const override { return config_; }
  std::span<const StateSpec> states() const override { return states_; }

  Tensor forward(Encoder& e, const Batch& b) const override {
    Tensor x = e.embed(*ends_.embed, b.ids);
    for (const Layer& l : layers_) {
      x = e.carry(x);
      x = e.add(x, attend(e, l.attention, e.rms_norm(x, l.attention_norm.get(), config_.norm_eps), b));
      const Tensor h = e.rms_norm(x, l.ffn_norm.get(), config_.norm_eps);
      x = e.add(x, l.moe.router ? mixture(e, l.moe, h) : feed_forward(e, l.ffn, h, Activation::silu));
    }
    return logits(e, ends_, x, b, config_);
  }

 private:
  void plan_layer(const Blueprint& p, const Settings& s, int i) {
    Layer& l = layers_[static_cast<size_t>(i)];
    const std::string base = layer_name(i);
    p.weights.vector(l.attention_norm, base + "input_layernorm.weight", {config_.hidden_dim});
    plan_attention(p, l.attention, base + "self_attn.", i, rope_, {.head_norms = true, .biases = true});
    l.attention.options.window = s.windows[static_cast<size_t>(i)];
    p.weights.vector(l.ffn_norm, base + "post_attention_layernorm.weight", {config_.hidden_dim});
    if (s.routed[static_cast<size_t>(i)])
      plan_moe(p, l.moe, base + "mlp.", s.expert_dim, 0, s.renormalise);
    else
      plan_ffn(p, l.ffn, base + "mlp.", config_.ffn_dim);
    states_.push_back(attention_state(l.attention));
  }

  ModelConfig config_;
  Rope rope_;
  Ends ends_;
  std::vector<Layer> layers_;
  std::vector<StateSpec> states_;
};

// Layer i is routed unless mlp_only_layers names it or decoder_sparse_step steps over it.
std::vector<bool> routed_layers(Keys& keys, int n_layers) {
  const int64_t step = keys.gguf() ? 1 : keys.get("decoder_sparse_step", 1, 1, max_layers);
  const std::vector<int64_t> plain = keys.list("mlp_only_layers");
  std::vector<bool> routed;
  for (int64_t i = 0; i < n_layers; i++) routed.push_back((i + 1) % step == 0 && std::ranges::find(plain, i) == plain.end());
  if (std::ranges::find(routed, false) != routed.end()) keys.need("intermediate_size", 1, max_dim);
  return routed;
}

}  // namespace

std::unique_ptr<Model> make_qwen3_moe(Keys& keys, Weights& weights, const ModelConfig& config, bool exact) {
  Settings s;
  keys.need("num_experts", 1, 65536);
  s.expert_dim = keys.need("moe_intermediate_size", 1, max_dim);
  s.renormalise = keys.gguf() || keys.get_flag("norm_topk_prob", false);
  s.routed = routed_layers(keys, config.n_layers);
  s.windows = read_windows(keys, config.n_layers);
  s.rope = read_rope(keys, "full_attention", config.head_dim, 10000);
  expect_activation(keys, "hidden_act", "silu");
  if (keys.failed()) return nullptr;
  return std::make_unique<Qwen3Moe>(Blueprint{keys, weights, config, exact}, s);
}
