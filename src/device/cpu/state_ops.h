// state_ops: recorded operations that read and write what sequences remember.
#pragma once
#include "device/cpu/state.h"
#include "device/cpu/step.h"

namespace cpu {

void record_append(Step& step, const State& state, StateRef s, const Tensor& k, const Tensor& v, const Batch& b);
void record_attention(Step& step, const State& state, StateRef s, const Tensor& q, const Batch& b, const AttentionOptions& o, float* out);
void record_conv(Step& step, const State& state, StateRef s, const Tensor& x, const float* taps, int kernel, const Batch& b, float* out);
struct DeltaInputs { const float *qkv, *a, *b, *neg_exp_a, *dt_bias; };
void record_delta(Step& step, const State& state, StateRef s, const DeltaInputs& in, const DeltaDims& d, const Batch& b, float* out);
int64_t state_scratch_floats(std::span<const StateSpec> layers);  // per member

}  // namespace cpu
