// linear_ops: recorded operations around weight matrices: quantising activations, projections, experts.
#pragma once
#include "device/cpu/step.h"

namespace cpu {

// Rows of activations in every form some kernel wants; forms nobody asked for are null.
struct Inputs {
  const float* x = nullptr;
  int64_t rows = 0, cols = 0;
  struct Quantised { int8_t* q = nullptr; int8_t* q_low = nullptr; float* scale = nullptr; int32_t* isum = nullptr; float* sum = nullptr; int64_t groups = 0; } form[2][3];  // one plane, two; by Variant g16, g32, g64
  float* sums = nullptr;  // [rows, sums_per_row(cols)] for exact kernels
  LinearRow row(int64_t r, const PackedMatrix& w, bool exact) const;
};

// Records the preparation of x for these matrices and returns where the forms will be.
Inputs prepare_inputs(Step& step, const float* x, int64_t rows, int64_t cols, std::span<const PackedMatrix* const> weights, bool exact_everywhere);
bool wants_exact(const PackedMatrix& w, bool exact_everywhere);

// y = x W^T (+ bias) for up to kMaxLinears matrices that share an input.
constexpr int kMaxLinears = 8;
struct LinearTarget { const PackedMatrix* w; float* y; const float* bias; };
void record_linears(Step& step, const Inputs& in, std::span<const LinearTarget> targets, bool exact_everywhere);

// out[row] = sum_k weight * down(act(gate x) * up x) over the row's experts, in order of k.
struct ExpertWeights { const PackedMatrix *gate, *up, *down; Activation activation; };
void record_experts(Step& step, const float* x, int64_t rows, const Routes& routes, const ExpertWeights& weights, float* out, bool exact_everywhere);

}  // namespace cpu
