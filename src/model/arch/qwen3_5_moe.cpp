// qwen3_5_moe: gated delta rule in most layers, gated attention in the others, routed experts plus a shared one (spec 1).
#include "model/arch/hybrid.h"

namespace {

struct Layer {
  Mixer mixer;
  Slot ffn_norm;
  Moe moe;
};

class Qwen35Moe final : public Model {
 public:
  Qwen35Moe(const Blueprint& p, const HybridSettings& s, int64_t expert_dim, int64_t shared_dim)
      : config_(p.config), rope_(make_rope(s.rope, p.config.head_dim)) {
    const Repair norm = hybrid_norm(p.weights, s);
    plan_ends(p, ends_, norm);
    layers_.resize(s.kinds.size());
    for (int i = 0; i < config_.n_layers; i++) {
      Layer& l = layers_[static_cast<size_t>(i)];
      states_.push_back(plan_mixer(p, l.mixer, s, rope_, i));
      p.weights.vector(l.ffn_norm, layer_name(i) + "post_attention_layernorm.weight", {config_.hidden_dim}, norm);
      plan_moe(p, l.moe, layer_name(i) + "mlp.", expert_dim, shared_dim, true);
    }
  }
  const ModelConfig& config() const override { return config_; }
  std::span<const StateSpec> states() const override { return states_; }

  Tensor forward(Encoder& e, const Batch& b) const override {
    Tensor x = e.embed(*ends_.embed, b.ids);
    for (const Layer& l : layers_) {
      x = e.carry(x);
      x = e.add(x, mix(e, l.mixer, x, b, config_.norm_eps));
      x = e.add(x, mixture(e, l.moe, e.rms_norm(x, l.ffn_norm.get(), config_.norm_eps)));
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

std::unique_ptr<Model> make_qwen3_5_moe(Keys& keys, Weights& weights, const ModelConfig& config, bool exact) {
  keys.need("num_experts", 1, 65536);
  const int64_t expert_dim = keys.need("moe_intermediate_size", 1, max_dim);
  const int64_t shared_dim = keys.need("shared_expert_intermediate_size", 1, max_dim);
  const HybridSettings s = read_hybrid(keys, config);
  if (keys.failed()) return nullptr;
  return std::make_unique<Qwen35Moe>(Blueprint{keys, weights, config, exact}, s, expert_dim, shared_dim);
}
