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
void record_conv(Step& step, const State& state, StateRef s, const Tensor& x, const float* taps, int kernel, const Batch& b, float* out);
struct DeltaInputs { const float *qkv, *a, *b, *neg_exp_a, *dt_bias; };
void record_delta(Step& step, const State& state, StateRef s, const DeltaInputs& in, const DeltaDims& d, const Batch& b, float* out);
int64_t state_scratch_floats(std::span<const StateSpec> layers);  // per member

}  // namespace cpu
