// qwen3: pre-norm decoder, grouped-query attention with per-head query and key norms, gated feed-forward.
#include "model/list.h"

namespace {

struct Layer {
  Slot attention_norm, ffn_norm;
  Attention attention;
  Ffn ffn;
};

class Qwen3 final : public Model {
 public:
  Qwen3(const Blueprint& p, const RopeSettings& rope, const std::vector<int>& windows)
      : config_(p.config), rope_(make_rope(rope, p.config.head_dim)) {
    plan_ends(p, ends_, Repair::none);
    layers_.resize(windows.size());
    for (int i = 0; i < config_.n_layers; i++) plan_layer(p, i, windows[static_cast<size_t>(i)]);
  }
  const ModelConfig& config() const override { return config_; }
  std::span<const StateSpec> states() const override { return states_; }

  Tensor forward(Encoder& e, const Batch& b) const override {
    Tensor x = e.embed(*ends_.embed, b.ids);
    for (const Layer& l : layers_) {
      x = e.carry(x);
      x = e.add(x, attend(e, l.attention, e.rms_norm(x, l.attention_norm.get(), config_.norm_eps), b));
      x = e.add(x, feed_forward(e, l.ffn, e.rms_norm(x, l.ffn_norm.get(), config_.norm_eps), Activation::silu));
    }
    return logits(e, ends_, x, b, config_);
  }

 private:
  void plan_layer(const Blueprint& p, int i, int window) {
    Layer& l = layers_[static_cast<size_t>(i)];
    const std::string base = layer_name(i);
    p.weights.vector(l.attention_norm, base + "input_layernorm.weight", {config_.hidden_dim});
    plan_attention(p, l.attention, base + "self_attn.", i, rope_, {.head_norms = true, .biases = true});
    l.attention.options.window = window;
    p.weights.vector(l.ffn_norm, base + "post_attention_layernorm.weight", {config_.hidden_dim});
    plan_ffn(p, l.ffn, base + "mlp.", config_.ffn_dim);
    states_.push_back(attention_state(l.attention));
  }

  ModelConfig config_;
  Rope rope_;
  Ends ends_;
  std::vector<Layer> layers_;
  std::vector<StateSpec> states_;
};

}  // namespace

std::unique_ptr<Model> make_qwen3(Keys& keys, Weights& weights, const ModelConfig& config, bool exact) {
  keys.need("intermediate_size", 1, max_dim);
  expect_activation(keys, "hidden_act", "silu");
  const RopeSettings rope = read_rope(keys, "full_attention", config.head_dim, 10000);
  const std::vector<int> windows = read_windows(keys, config.n_layers);
  if (keys.failed()) return nullptr;
  return std::make_unique<Qwen3>(Blueprint{keys, weights, config, exact}, rope, windows);
}
