// state_ops: recorded operations that read and write what sequences remember.
#pragma once
#include "device/cpu/state.h"
#include "device/cpu/step.h"

namespace cpu {

void record_append(Step& step, const State& state, StateRef s, const Tensor& k, const Tensor& v, const Batch& b);
// k and v: the step's keys and values [rows, n_kv_heads, dim] where the items are to append them; no sequence may have more rows than one item.
void record_attention(Step& step, const State& state, StateRef s, const Tensor& q, const Batch& b, const AttentionOptions& o, float* out, const float* k = nullptr,
                      const float* v = nullptr);
// Both: in one operation where every sequence has few rows, else in two.
void record_append_attention(Step& step, const State& state, StateRef s, const Tensor& k, const Tensor& v, const Tensor& q, const Batch& b, const AttentionOptions& o,
                             float* out);
// Gated delta rule from the projections to the gated norm of its result. qkv [rows, 2 * Hk * Dk + Hv * Dv], z [rows, Hv * Dv], a and b
// [rows, Hv], taps [kernel, channels], neg_exp_a and dt_bias [Hv], gain [Dv]; out [rows, Hv * Dv]. State: read and written once.
struct DeltaInputs { const float *qkv, *z, *a, *b, *taps, *neg_exp_a, *dt_bias, *gain; float eps; };
void record_delta_block(Step& step, const State& state, StateRef s, const DeltaInputs& in, const DeltaDims& d, const Batch& b, float* out);
int64_t state_scratch_floats(std::span<const StateSpec> layers);  // per member

}  // namespace cpu
