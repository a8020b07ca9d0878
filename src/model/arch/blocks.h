// blocks: the pieces that architectures have in common, as plain structs of weights and functions that read like their formulas.
#pragma once
#include "model/config.h"
#include "model/rope.h"
#include "model/weights.h"

// What an architecture needs while it is being set up.
struct Blueprint {
  Keys& keys;
  Weights& weights;
  const ModelConfig& config;
  bool exact;  // activations are float32: nothing is rounded to the model's own type
};

// Embedding table, final norm and head. A tied head is the table itself.
struct Ends {
  Slot embed, norm, own_head;
  const Weight& head() const { return own_head ? *own_head : *embed; }
};
void plan_ends(const Blueprint& p, Ends& ends, Repair norm);
// Logits [logit_rows, vocab_size] of the rows that are wanted, or their hidden states [logit_rows, hidden_dim].
Tensor logits(Encoder& e, const Ends& ends, const Tensor& x, const Batch& b, const ModelConfig& c);

// Grouped-query attention. Absent parts stay empty: biases, per-head norms, the output gate.
struct Attention {
  Slot wq, wk, wv, wo, output_gate, q_bias, k_bias, v_bias, o_bias, q_norm, k_norm;
  int n_heads = 0, n_kv_heads = 0, head_dim = 0;
  float eps = 0;
  const Rope* rope = nullptr;
  AttentionOptions options;
  StateRef state;
};
struct AttentionPlan {
  bool gated = false, head_norms = false, biases = false;  // biases: taken where the file has them
  Repair norm = Repair::none;
};
// base: "layers.3.self_attn."
void plan_attention(const Blueprint& p, Attention& a, const std::string& base, int layer, const Rope& rope, const AttentionPlan& plan);
StateSpec attention_state(const Attention& a);
Tensor attend(Encoder& e, const Attention& a, const Tensor& x, const Batch& b);

// down(act(gate x) * up x)
struct Ffn {
  Slot gate, up, down;
};
void plan_ffn(const Blueprint& p, Ffn& f, const std::string& base, int64_t ffn_dim);  // base: "layers.3.mlp."
Tensor feed_forward(Encoder& e, const Ffn& f, const Tensor& x, Activation activation);

// Routed experts, and where the file has one a shared expert behind a sigmoid gate.
struct Moe {
  Slot router, gate, up, down, shared_gate;
  Ffn shared;
  int top_k = 0;
  bool renormalise = true;
};
void plan_moe(const Blueprint& p, Moe& m, const std::string& base, int64_t ffn_dim, int64_t shared_dim, bool renormalise);
Tensor mixture(Encoder& e, const Moe& m, const Tensor& x);

// Gemma multiplies embeddings by sqrt(hidden), rounded to the model's own type where that is bf16 (spec 7.5).
float embedding_scale(const Blueprint& p);

std::string layer_name(int layer);  // "layers.3."
