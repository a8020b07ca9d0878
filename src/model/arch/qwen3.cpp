// qwen3: pre-norm decoder, grouped-query attention with per-head query and key norms, gated feed-forward. As Qwen3ForTokenClassification it has
// a head of labels instead of one of words, and without `is_causal` every row sees every other.
#include "model/list.h"

namespace {

// The labels of a token classifier in the order of its columns; none for what writes text.
std::vector<std::string> read_labels(Keys& keys) {
  const auto root = keys.root();
  if (!root) return {};
  const auto classes = find(*root, "architectures");
  simdjson::dom::array names;
  std::string_view first;
  if (!classes || classes->get(names) != simdjson::SUCCESS || names.size() == 0 || names.at(0).get(first) != simdjson::SUCCESS || !first.ends_with("ForTokenClassification")) return {};
  simdjson::dom::object table;
  const auto stored = find(*root, "id2label");
  if (!stored || stored->get(table) != simdjson::SUCCESS || table.size() == 0 || table.size() > 4096) return keys.refuse("id2label: an object of 1 to 4096 labels expected"), std::vector<std::string>{};
  std::vector<std::string> labels(table.size());
  for (size_t i = 0; i < labels.size(); i++) {
    const auto label = find_string(*stored, std::to_string(i));
    if (!label || label->empty()) return keys.refuse("id2label." + std::to_string(i) + ": a text expected"), std::vector<std::string>{};
    labels[i] = cut(std::string(*label), 100);
  }
  return labels;
}

struct Layer {
  Slot attention_norm, ffn_norm;
  Attention attention;
  Ffn ffn;
};

class Qwen3 final : public Model {
 public:
  Qwen3(const Blueprint& p, const RopeSettings& rope, const std::vector<int>& windows, bool causal)
      : config_(p.config), rope_(make_rope(rope, p.config.head_dim)), causal_(causal) {
    if (config_.labels.empty()) {
      plan_ends(p, ends_, Repair::none);
    } else {
      plan_labels(p);
    }
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
    if (config_.labels.empty()) return logits(e, ends_, x, b, config_);
    const Tensor normed = e.rms_norm(e.rows(x, b.logit_rows), ends_.norm.get(), config_.norm_eps);
    return b.hidden ? normed : e.linear(normed, *ends_.own_head, score_bias_.get());
  }

 private:
  void plan_labels(const Blueprint& p) {
    const auto n = static_cast<int64_t>(config_.labels.size());
    p.weights.lookup(ends_.embed, "embed_tokens.weight", config_.vocab_size, config_.hidden_dim);
    p.weights.vector(ends_.norm, "norm.weight", {config_.hidden_dim});
    p.weights.sensitive(ends_.own_head, "score.weight", n, config_.hidden_dim);
    p.weights.optional_vector(score_bias_, "score.bias", {n});
  }

  void plan_layer(const Blueprint& p, int i, int window) {
    Layer& l = layers_[static_cast<size_t>(i)];
    const std::string base = layer_name(i);
    p.weights.vector(l.attention_norm, base + "input_layernorm.weight", {config_.hidden_dim});
    plan_attention(p, l.attention, base + "self_attn.", i, rope_, {.head_norms = true, .biases = true});
    l.attention.options.window = window;
    l.attention.options.causal = causal_;
    p.weights.vector(l.ffn_norm, base + "post_attention_layernorm.weight", {config_.hidden_dim});
    plan_ffn(p, l.ffn, base + "mlp.", config_.ffn_dim);
    states_.push_back(attention_state(l.attention));
  }

  ModelConfig config_;
  Rope rope_;
  bool causal_;
  Ends ends_;
  Slot score_bias_;
  std::vector<Layer> layers_;
  std::vector<StateSpec> states_;
};

}  // namespace

std::unique_ptr<Model> make_qwen3(Keys& keys, Weights& weights, const ModelConfig& config, bool exact) {
  keys.need("intermediate_size", 1, max_dim);
  expect_activation(keys, "hidden_act", "silu");
  const RopeSettings rope = read_rope(keys, "full_attention", config.head_dim, 10000);
  const std::vector<int> windows = read_windows(keys, config.n_layers);
  ModelConfig labelled = config;
  labelled.labels = read_labels(keys);
  const bool causal = keys.get_flag("is_causal", true);
  if (keys.failed()) return nullptr;
  return std::make_unique<Qwen3>(Blueprint{keys, weights, labelled, exact}, rope, windows, causal);
}
