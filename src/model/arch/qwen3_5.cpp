// qwen3_5: gated delta rule in most layers, gated attention in the others, gated feed-forward (spec 7.1).
#include "model/arch/hybrid.h"

namespace {

struct Layer {
  Mixer mixer;
  Slot ffn_norm;
  Ffn ffn;
};

class Qwen35 final : public Model {
 public:
  Qwen35(const Blueprint& p, const HybridSettings& s) : config_(p.config), rope_(make_rope(s.rope, p.config.head_dim)) {
    const Repair norm = hybrid_norm(p.weights, s);
    plan_ends(p, ends_, norm);
    layers_.resize(s.kinds.size());
    for (int i = 0; i < config_.n_layers; i++) {
      Layer& l = layers_[static_cast<size_t>(i)];
      states_.push_back(plan_mixer(p, l.mixer, s, rope_, i));
      p.weights.vector(l.ffn_norm, layer_name(i) + "post_attention_layernorm.weight", {config_.hidden_dim}, norm);
      plan_ffn(p, l.ffn, layer_name(i) + "mlp.", config_.ffn_dim);
    }
  }
  const ModelConfig& config() const override { return config_; }
  std::span<const StateSpec> states() const override { return states_; }

  Tensor forward(Encoder& e, const Batch& b) const override {
    Tensor x = e.embed(*ends_.embed, b.ids);
    for (const Layer& l : layers_) {
      x = e.carry(x);
      x = e.add(x, mix(e, l.mixer, x, b, config_.norm_eps));
      x = e.add(x, feed_forward(e, l.ffn, e.rms_norm(x, l.ffn_norm.get(), config_.norm_eps), Activation::silu));
    }
    return logits(e, ends_, x, b, config_);
  }

 private:
  ModelConfig config_;
  Rope rope_;
  Ends ends_;
  std::vector<Layer> layers_;
  std::vector<StateSpec> states_;
};

}  // namespace

std::unique_ptr<Model> make_qwen3_5(Keys& keys, Weights& weights, const ModelConfig& config, bool exact) {
  keys.need("intermediate_size", 1, max_dim);
  const HybridSettings s = read_hybrid(keys, config);
  if (keys.failed()) return nullptr;
  return std::make_unique<Qwen35>(Blueprint{keys, weights, config, exact}, s);
}
