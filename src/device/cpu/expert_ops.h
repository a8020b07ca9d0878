// expert_ops: the recorded operations of a mixture of experts.
#pragma once
#include "device/cpu/linear_ops.h"

namespace cpu {

// out[row] = sum of weight * down(act(gate x) * up x) over the row's experts, in ascending order of expert.
struct ExpertWeights { const PackedMatrix *gate, *up, *down; Activation activation; };
void record_experts(Step& step, const Inputs& in, const Routes& routes, const ExpertWeights& weights, float* out, bool exact_everywhere);

constexpr int64_t kExpertScratchFloats = 65536;  // per member
// Softmax over all experts of one row in float32, then the top_k largest, ties to the lower index.
void route_row(const Kernels& kernels, const float* scores, int64_t n, int top_k, bool renormalise, float* scratch, int32_t* experts, float* weights);

}  // namespace cpu
