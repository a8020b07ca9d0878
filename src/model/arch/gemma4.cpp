// gemma4: Gemma 3's four norms, wider heads in full layers, shared keys and values in the last ones, per-layer embeddings (spec 7.6).
#include "model/list.h"

#include <algorithm>
#include <cmath>

namespace {

struct Settings {
  std::vector<LayerKind> kinds;
  std::vector<int64_t> head_dims, kv_heads, ffn_dims;
  std::vector<int> sources;      // whose keys and values a layer reads: its own, or an earlier layer's
  bool keys_are_values = false;  // full layers have no value projection
  int window = 0, ple_dim = 0, ple_vocab = 0;
  float logit_cap = 0;
  RopeSettings local, global;
};

struct Layer {
  Slot attention_norm, after_attention_norm, ffn_norm, after_ffn_norm;
  Slot wq, wk, wv, wo, q_norm, k_norm;  // wk, wv, k_norm: only where the layer owns its keys and values
  Slot ple_gate, ple_projection, after_ple_norm;
  Ffn ffn;
  float scalar = 1;
  int64_t head_dim = 0, kv_heads = 0;
  const Rope* rope = nullptr;
  AttentionOptions options;
  StateRef source;
};

class Gemma4 final : public Model {
 public:
  Gemma4(const Blueprint& p, const Settings& s)
      : config_(p.config), embedding_scale_(embedding_scale(p)), logit_cap_(s.logit_cap), ple_dim_(s.ple_dim) {
    plan_ends(p, ends_, Repair::none);
    const int64_t width = int64_t{config_.n_layers} * ple_dim_;
    if (ple_dim_ > 0) {
      p.weights.lookup(ple_table_, "embed_tokens_per_layer.weight", s.ple_vocab, width);
      p.weights.matrix(ple_model_projection_, "per_layer_model_projection.weight", width, config_.hidden_dim);
      p.weights.vector(ple_norm_, "per_layer_projection_norm.weight", {ple_dim_});
    }
    plan_ropes(p, s);
    layers_.resize(s.kinds.size());
    for (int i = 0; i < config_.n_layers; i++) plan_layer(p, s, i);
  }
  const ModelConfig& config() const override { return config_; }
  std::span<const StateSpec> states() const override { return states_; }

  Tensor forward(Encoder& e, const Batch& b) const override {
    const float eps = config_.norm_eps;
    Tensor x = e.embed(*ends_.embed, b.ids, embedding_scale_);
    const Tensor ple = ple_dim_ > 0 ? per_layer_inputs(e, x, b) : Tensor{};
    for (size_t i = 0; i < layers_.size(); i++) {
      const Layer& l = layers_[i];
      x = e.carry(x);
      const Tensor a = attend(e, l, e.rms_norm(x, l.attention_norm.get(), eps), b, static_cast<int>(i));
      x = e.add(x, e.rms_norm(a, l.after_attention_norm.get(), eps));
      const Tensor f = feed_forward(e, l.ffn, e.rms_norm(x, l.ffn_norm.get(), eps), Activation::gelu_tanh);
      x = e.add(x, e.rms_norm(f, l.after_ffn_norm.get(), eps));
      if (ple_dim_ > 0) {
        const Tensor g = e.gate(e.linear(x, *l.ple_gate), e.columns(ple, static_cast<int64_t>(i) * ple_dim_, ple_dim_), Activation::gelu_tanh);
        x = e.add(x, e.rms_norm(e.linear(g, *l.ple_projection), l.after_ple_norm.get(), eps));
      }
      x = e.scale(x, l.scalar);
    }
    const Tensor y = logits(e, ends_, x, b, config_);
    return logit_cap_ > 0 && y.shape[0] > 0 && !b.hidden ? e.softcap(y, logit_cap_) : y;
  }

 private:
  // [rows, n_layers * ple_dim]: (norm(projection of the embedding) + table row) / sqrt(2)
  Tensor per_layer_inputs(Encoder& e, const Tensor& x, const Batch& b) const {
    const Shape wide = {x.shape[0], int64_t{config_.n_layers} * ple_dim_};
    const Tensor table = e.embed(*ple_table_, b.ids, std::sqrt(static_cast<float>(ple_dim_)));
    const Tensor projected = e.scale(e.linear(x, *ple_model_projection_), 1 / std::sqrt(static_cast<float>(config_.hidden_dim)));
    const Tensor normed = e.rms_norm(e.reshape(projected, {x.shape[0], config_.n_layers, ple_dim_}), ple_norm_.get(), config_.norm_eps);
    return e.scale(e.add(e.reshape(normed, wide), table), std::sqrt(0.5f));
  }

  Tensor attend(Encoder& e, const Layer& l, const Tensor& x, const Batch& b, int layer) const {
    const int64_t rows = x.shape[0];
    Tensor q = e.rms_norm(e.reshape(e.linear(x, *l.wq), {rows, config_.n_heads, l.head_dim}), l.q_norm.get(), config_.norm_eps);
    e.rope(q, b, *l.rope);
    if (l.wk) {
      const Shape heads = {rows, l.kv_heads, l.head_dim};
      const Tensor raw = e.reshape(e.linear(x, *l.wk), heads);
      const Tensor v = e.rms_norm(l.wv ? e.reshape(e.linear(x, *l.wv), heads) : raw, nullptr, config_.norm_eps);
      Tensor k = e.rms_norm(raw, l.k_norm.get(), config_.norm_eps);
      e.rope(k, b, *l.rope);
      e.append({layer}, k, v, b);
    }
    return e.linear(e.reshape(e.attention(q, l.source, b, l.options), {rows, config_.n_heads * l.head_dim}), *l.wo);
  }

  void plan_ropes(const Blueprint& p, const Settings& s) {
    const auto width = [&](LayerKind kind) {
      const auto at = std::ranges::find(s.kinds, kind);
      return at == s.kinds.end() ? 0 : static_cast<int>(s.head_dims[static_cast<size_t>(at - s.kinds.begin())]);
    };
    RopeSettings global = s.global;
    if (p.weights.gguf() && p.weights.has("rope_freqs.weight"))
      global.divisors = p.weights.numbers("rope_freqs.weight", {width(LayerKind::full) / 2});
    local_ = make_rope(s.local, width(LayerKind::sliding));
    global_ = make_rope(global, width(LayerKind::full));
  }

  void plan_layer(const Blueprint& p, const Settings& s, int i) {
    const auto at = static_cast<size_t>(i);
    Layer& l = layers_[at];
    const std::string base = layer_name(i);
    const Shape hidden = {config_.hidden_dim};
    const bool sliding = s.kinds[at] == LayerKind::sliding;
    l.head_dim = s.head_dims[at], l.kv_heads = s.kv_heads[at];
    l.rope = sliding ? &local_ : &global_;
    l.options = {.scale = 1, .window = sliding ? s.window : 0};  // query and key norms do the scaling
    l.source = {s.sources[at]};
    p.weights.vector(l.attention_norm, base + "input_layernorm.weight", hidden);
    p.weights.vector(l.after_attention_norm, base + "post_attention_layernorm.weight", hidden);
    p.weights.vector(l.ffn_norm, base + "pre_feedforward_layernorm.weight", hidden);
    p.weights.vector(l.after_ffn_norm, base + "post_feedforward_layernorm.weight", hidden);
    plan_attention_weights(p, s, l, base + "self_attn.", i);
    plan_ffn(p, l.ffn, base + "mlp.", s.ffn_dims[at]);
    if (ple_dim_ > 0) {
      p.weights.matrix(l.ple_gate, base + "per_layer_input_gate.weight", ple_dim_, config_.hidden_dim);
      p.weights.matrix(l.ple_projection, base + "per_layer_projection.weight", config_.hidden_dim, ple_dim_);
      p.weights.vector(l.after_ple_norm, base + "post_per_layer_input_norm.weight", hidden);
    }
    if (p.weights.has(base + "layer_scalar")) l.scalar = p.weights.numbers(base + "layer_scalar", {1})[0];
  }

  void plan_attention_weights(const Blueprint& p, const Settings& s, Layer& l, const std::string& base, int i) {
    const int64_t q_dim = config_.n_heads * l.head_dim, kv_dim = l.kv_heads * l.head_dim;
    p.weights.matrix(l.wq, base + "q_proj.weight", q_dim, config_.hidden_dim);
    p.weights.matrix(l.wo, base + "o_proj.weight", config_.hidden_dim, q_dim);
    p.weights.vector(l.q_norm, base + "q_norm.weight", {l.head_dim});
    StateSpec state;
    if (l.source.layer == i) {
      state.kind = StateSpec::Kind::paged_kv;
      state.n_kv_heads = static_cast<int32_t>(l.kv_heads), state.key_dim = state.value_dim = static_cast<int32_t>(l.head_dim);
      state.window = l.options.window;
      p.weights.matrix(l.wk, base + "k_proj.weight", kv_dim, config_.hidden_dim);
      p.weights.vector(l.k_norm, base + "k_norm.weight", {l.head_dim});
      const bool full = s.kinds[static_cast<size_t>(i)] == LayerKind::full;
      const bool no_values = full && (s.keys_are_values || (p.weights.gguf() && !p.weights.has(base + "v_proj.weight")));
      if (!no_values) p.weights.matrix(l.wv, base + "v_proj.weight", kv_dim, config_.hidden_dim);
    } else {
      for (const char* unused : {"k_proj.weight", "v_proj.weight", "k_norm.weight"})
        p.weights.ignore(base + unused, "keys and values of layers that share another layer's");
    }
    states_.push_back(state);
  }

  ModelConfig config_;
  Rope local_, global_;
  float embedding_scale_, logit_cap_;
  int64_t ple_dim_;
  Ends ends_;
  Slot ple_table_, ple_model_projection_, ple_norm_;
  std::vector<Layer> layers_;
  std::vector<StateSpec> states_;
};

std::vector<LayerKind> read_kinds(Keys& keys, int n_layers) {
  const std::vector<int64_t> pattern = keys.meta_list("attention.sliding_window_pattern");  // GGUF: one flag per layer, or a period
  if (pattern.size() > 1 && std::ssize(pattern) < n_layers)
    keys.refuse("attention.sliding_window_pattern: " + std::to_string(n_layers) + " entries expected");
  const int64_t period = pattern.size() == 1 && pattern[0] > 0 ? pattern[0] : 6;
  auto kinds = read_layer_kinds(keys, n_layers, [&](int i) {
    const bool listed = pattern.size() > 1 && i < std::ssize(pattern);
    return (listed ? pattern[static_cast<size_t>(i)] == 0 : (i + 1) % period == 0) ? LayerKind::full : LayerKind::sliding;
  });
  if (std::ranges::find(kinds, LayerKind::linear) != kinds.end()) keys.unsupported("layer_types: linear_attention in gemma4");
  if (!keys.gguf()) kinds.back() = LayerKind::full;  // as Hugging Face's class does
  return kinds;
}

// Full layers are wider. A number under global_* keys, or one entry per layer in per_layer_config.
int64_t global_value(Keys& keys, std::string_view key, std::string_view per_layer_key, int layer, int64_t fallback, int64_t most) {
  const auto all = keys.json("per_layer_config");
  const auto own = all ? find(*all, std::to_string(layer)) : std::nullopt;
  const auto value = own ? find_int(*own, per_layer_key) : std::nullopt;
  if (value) return static_cast<int64_t>(keys.check(per_layer_key, static_cast<double>(*value), 1, static_cast<double>(most)));
  return keys.get(key, fallback, 1, most);
}

void read_heads(Keys& keys, const ModelConfig& c, Settings& s) {
  const int64_t swa = keys.meta("attention.key_length_swa").value_or(c.head_dim);
  const std::vector<int64_t> stored = keys.gguf() ? read_per_layer(keys, "num_key_value_heads", c.n_layers, 1, max_heads) : std::vector<int64_t>();
  for (int i = 0; i < c.n_layers; i++) {
    const bool full = s.kinds[static_cast<size_t>(i)] == LayerKind::full;
    int64_t dim = c.head_dim, heads = c.n_kv_heads;
    if (keys.gguf()) {
      dim = full ? c.head_dim : static_cast<int64_t>(keys.check("attention.key_length_swa", static_cast<double>(swa), 1, max_head_dim));
      heads = stored[static_cast<size_t>(i)];
    } else if (full) {
      dim = global_value(keys, "global_head_dim", "head_dim", i, 512, max_head_dim);
      heads = s.keys_are_values ? global_value(keys, "num_global_key_value_heads", "num_key_value_heads", i, heads, max_heads) : heads;
    }
    if (c.n_heads % heads != 0)
      keys.refuse("num_attention_heads = " + std::to_string(c.n_heads) + ": a multiple of " + std::to_string(heads) +
                  " key-value heads expected in layer " + std::to_string(i));
    s.head_dims.push_back(dim);
    s.kv_heads.push_back(heads);
    if (keys.failed()) break;
  }
  s.head_dims.resize(s.kinds.size(), 2);
  s.kv_heads.resize(s.kinds.size(), 1);
}

// The last `shared` layers read the keys and values of the last layer before them that is of their kind.
void read_sources(Keys& keys, const ModelConfig& c, Settings& s) {
  const int64_t shared = keys.get("num_kv_shared_layers", 0, 0, c.n_layers - 1);
  const int first = c.n_layers - static_cast<int>(shared);
  for (int i = 0; i < c.n_layers; i++) {
    int source = i < first ? i : first - 1;
    while (source >= 0 && s.kinds[static_cast<size_t>(source)] != s.kinds[static_cast<size_t>(i)]) source--;
    if (source < 0) keys.refuse("num_kv_shared_layers = " + std::to_string(shared) + ": no earlier layer of the kind of layer " + std::to_string(i));
    s.sources.push_back(std::max(source, 0));
  }
  const bool wide = keys.get_flag("use_double_wide_mlp", false);
  s.ffn_dims = read_per_layer(keys, "intermediate_size", c.n_layers, 1, max_dim);
  for (int i = std::max(first, 1); wide && first > 0 && i < c.n_layers; i++) s.ffn_dims[static_cast<size_t>(i)] *= 2;
}

void read_ropes(Keys& keys, Settings& s) {
  for (size_t i = 0; i < s.kinds.size(); i++) {
    const bool full = s.kinds[i] == LayerKind::full;
    RopeSettings& rope = full ? s.global : s.local;
    if (rope.theta > 0 || keys.failed()) continue;
    rope = read_rope(keys, full ? "full_attention" : "sliding_attention", static_cast<int>(s.head_dims[i]), full ? 1e6 : 1e4);
    if (full && !keys.gguf() && !keys.json("rope_parameters")) rope.type = "proportional", rope.partial = 0.25;
  }
}

}  // namespace

std::unique_ptr<Model> make_gemma4(Keys& keys, Weights& weights, const ModelConfig& config, bool exact) {
  Settings s;
  expect_activation(keys, "hidden_activation", "gelu_pytorch_tanh");
  if (keys.get_flag("enable_moe_block", false) || (keys.gguf() && config.n_experts > 0))
    keys.unsupported("enable_moe_block = true: Gemma 4's mixture of experts cannot be run");
  if (keys.json("use_bidirectional_attention") && keys.get_text("use_bidirectional_attention", "") == "all")
    keys.unsupported("use_bidirectional_attention = all");
  s.keys_are_values = keys.get_flag("attention_k_eq_v", false);
  s.kinds = read_kinds(keys, config.n_layers);
  s.window = static_cast<int>(keys.get("sliding_window", 512, 1, int64_t{1} << 30));
  s.ple_dim = static_cast<int>(keys.get("hidden_size_per_layer_input", keys.gguf() ? 0 : 256, 0, max_dim));
  s.ple_vocab = static_cast<int>(keys.get("vocab_size_per_layer_input", config.vocab_size, 1, int64_t{1} << 24));
  s.logit_cap = static_cast<float>(keys.get_number("final_logit_softcapping", 0, 1e-3, 1e6));
  if (!keys.failed()) read_heads(keys, config, s);
  if (!keys.failed()) read_sources(keys, config, s);
  if (!keys.failed()) read_ropes(keys, s);
  if (keys.failed()) return nullptr;
  ModelConfig own = config;
  own.head_dim = static_cast<int>(s.head_dims[0]);
  return std::make_unique<Gemma4>(Blueprint{keys, weights, own, exact}, s);
}
