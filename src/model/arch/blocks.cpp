// blocks: setting up and running the common pieces.
#include "model/arch/blocks.h"

#include <cmath>
#include "core/half.h"

std::string layer_name(int layer) { return "layers." + std::to_string(layer) + "."; }

float embedding_scale(const Blueprint& p) {
  const float scale = std::sqrt(static_cast<float>(p.config.hidden_dim));
  if (p.exact || p.keys.gguf()) return scale;
  const std::string type = p.keys.get_text("dtype", p.keys.get_text("torch_dtype", "bfloat16"));
  return type == "bfloat16" ? bf16_to_float(float_to_bf16(scale)) : scale;
}

void plan_ends(const Blueprint& p, Ends& ends, Repair norm) {
  const ModelConfig& c = p.config;
  if (read_tied(p.keys, p.weights.has("lm_head.weight"))) {
    p.weights.ignore("lm_head.weight", "output head equal to the embedding");
    p.weights.matrix(ends.embed, "embed_tokens.weight", c.vocab_size, c.hidden_dim);
  } else {
    p.weights.lookup(ends.embed, "embed_tokens.weight", c.vocab_size, c.hidden_dim);
    p.weights.matrix(ends.own_head, "lm_head.weight", c.vocab_size, c.hidden_dim);
  }
  p.weights.vector(ends.norm, "norm.weight", {c.hidden_dim}, norm);
}

Tensor logits(Encoder& e, const Ends& ends, const Tensor& x, const Batch& b, const ModelConfig& c) {
  if (b.logit_rows.empty()) return {nullptr, {0, c.vocab_size}};
  const Tensor normed = e.rms_norm(e.rows(x, b.logit_rows), ends.norm.get(), c.norm_eps);
  return b.hidden ? normed : e.linear(normed, ends.head());
}

void plan_attention(const Blueprint& p, Attention& a, const std::string& base, int layer, const Rope& rope, const AttentionPlan& plan) {
  const ModelConfig& c = p.config;
  const int64_t d = c.head_dim, q_dim = c.n_heads * d, kv_dim = c.n_kv_heads * d;
  a.n_heads = c.n_heads, a.n_kv_heads = c.n_kv_heads, a.head_dim = c.head_dim;
  a.eps = c.norm_eps, a.rope = &rope, a.state = {layer};
  a.options.scale = 1 / std::sqrt(static_cast<float>(d));
  if (plan.gated) {  // per head, d rows of query and then d rows of gate (spec 1.6)
    p.weights.matrix(a.wq, base + "q_proj.weight", 2 * q_dim, c.hidden_dim, {2 * d, 0, d});
    p.weights.matrix(a.output_gate, base + "q_proj.weight", 2 * q_dim, c.hidden_dim, {2 * d, d, d});
  } else {
    p.weights.matrix(a.wq, base + "q_proj.weight", q_dim, c.hidden_dim);
  }
  p.weights.matrix(a.wk, base + "k_proj.weight", kv_dim, c.hidden_dim);
  p.weights.matrix(a.wv, base + "v_proj.weight", kv_dim, c.hidden_dim);
  p.weights.matrix(a.wo, base + "o_proj.weight", c.hidden_dim, q_dim);
  if (plan.biases) {
    p.weights.optional_vector(a.q_bias, base + "q_proj.bias", {q_dim});
    p.weights.optional_vector(a.k_bias, base + "k_proj.bias", {kv_dim});
    p.weights.optional_vector(a.v_bias, base + "v_proj.bias", {kv_dim});
    p.weights.optional_vector(a.o_bias, base + "o_proj.bias", {c.hidden_dim});
  }
  if (!plan.head_norms) return;
  p.weights.vector(a.q_norm, base + "q_norm.weight", {d}, plan.norm);
  p.weights.vector(a.k_norm, base + "k_norm.weight", {d}, plan.norm);
}

StateSpec attention_state(const Attention& a) {
  StateSpec s;
  s.kind = StateSpec::Kind::paged_kv;
  s.n_kv_heads = a.n_kv_heads, s.key_dim = a.head_dim, s.value_dim = a.head_dim, s.window = a.options.window;
  return s;
}

Tensor attend(Encoder& e, const Attention& a, const Tensor& x, const Batch& b) {
  const int64_t rows = x.shape[0];
  Tensor q, k, v, g;
  if (a.q_bias || a.k_bias || a.v_bias) {
    q = e.linear(x, *a.wq, a.q_bias.get());
    k = e.linear(x, *a.wk, a.k_bias.get());
    v = e.linear(x, *a.wv, a.v_bias.get());
  } else {
    const Weight* const w[] = {a.wq.get(), a.wk.get(), a.wv.get(), a.output_gate.get()};
    Tensor out[4];
    const size_t n = a.output_gate ? 4 : 3;
    e.linears(x, std::span(w, n), std::span(out, n));
    q = out[0], k = out[1], v = out[2], g = out[3];
  }
  q = e.reshape(q, {rows, a.n_heads, a.head_dim});
  k = e.reshape(k, {rows, a.n_kv_heads, a.head_dim});
  v = e.reshape(v, {rows, a.n_kv_heads, a.head_dim});
  if (a.q_norm) q = e.rms_norm(q, a.q_norm.get(), a.eps);
  if (a.k_norm) k = e.rms_norm(k, a.k_norm.get(), a.eps);
  e.rope(q, b, *a.rope);
  e.rope(k, b, *a.rope);
  Tensor y = e.reshape(e.append_attention(k, v, q, a.state, b, a.options), {rows, int64_t{a.n_heads} * a.head_dim});
  if (a.output_gate) y = e.sigmoid_gate(y, g);
  return e.linear(y, *a.wo, a.o_bias.get());
}

void plan_ffn(const Blueprint& p, Ffn& f, const std::string& base, int64_t ffn_dim) {
  p.weights.matrix(f.gate, base + "gate_proj.weight", ffn_dim, p.config.hidden_dim);
  p.weights.matrix(f.up, base + "up_proj.weight", ffn_dim, p.config.hidden_dim);
  p.weights.matrix(f.down, base + "down_proj.weight", p.config.hidden_dim, ffn_dim);
}

Tensor feed_forward(Encoder& e, const Ffn& f, const Tensor& x, Activation activation) {
  const Weight* const w[] = {f.gate.get(), f.up.get()};
  Tensor out[2];
  e.linears(x, w, out);
  return e.linear(e.gate(out[0], out[1], activation), *f.down);
}

void plan_moe(const Blueprint& p, Moe& m, const std::string& base, int64_t ffn_dim, int64_t shared_dim, bool renormalise) {
  const ModelConfig& c = p.config;
  m.top_k = c.top_k;
  m.renormalise = renormalise;
  p.weights.sensitive(m.router, base + "gate.weight", c.n_experts, c.hidden_dim);
  p.weights.experts(m.gate, m.up, m.down, base + "experts.", c.n_experts, c.top_k, ffn_dim, c.hidden_dim);
  if (shared_dim == 0) return;
  plan_ffn(p, m.shared, base + "shared_expert.", shared_dim);
  p.weights.sensitive(m.shared_gate, base + "shared_expert_gate.weight", 1, c.hidden_dim);
}

// Recorded in an order that lets a device run neighbours side by side: what does not wait for the routes comes before them.
Tensor mixture(Encoder& e, const Moe& m, const Tensor& x) {
  const Tensor scores = e.linear(x, *m.router);
  if (!m.shared_gate) return e.experts(x, e.route(scores, m.top_k, m.renormalise), *m.gate, *m.up, *m.down, Activation::silu);
  const Tensor share = e.linear(x, *m.shared_gate);
  const Tensor shared = feed_forward(e, m.shared, x, Activation::silu);
  const Tensor routed = e.experts(x, e.route(scores, m.top_k, m.renormalise), *m.gate, *m.up, *m.down, Activation::silu);
  return e.add_gated(routed, shared, share);
}
