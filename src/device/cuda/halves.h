// halves: what makes the activations of tensor cores: sums of branches with the norm behind them, and gates, written as Halves.
#pragma once
#include <cstdint>
#include "device/cuda/strips.h"
#include "device/device.h"

namespace cuda {

// part = a, or the sum over choices of weight * experts; + b * sigmoid(b_gate of the row). sum = part + c. y = norm of sum times gain, or sum itself.
// A block a row, kJoinThreads; rows of up to kJoinWidest.
struct JoinArgs {
  const uint16_t* experts;  // halves [sorted rows][stride]; null: a
  const int32_t* position;  // [rows][top_k]
  const float* weights;
  const float *a, *b, *b_gate, *c;  // [rows][n]; b, b_gate, c may be null
  float *part, *sum, *y;            // null: not wanted
  Halves halves;                    // y as halves; null data: not wanted
  uint16_t* rows;                   // y as rows of halves, a multiple of 64 columns each; null: not wanted
  const float* gain;
  int32_t top_k, stride, n;
  float eps;
  bool norm;
};
inline constexpr int kJoinThreads = 256, kJoinWidest = 8192;
const void* join_kernel();

// x, x * sigmoid(g), or act(x) * g, as halves: grid (padded rows / 8, blocks of 64 inputs), 64 threads.
enum class HalvesOp : uint8_t { plain, sigmoid_gate, gate_silu, gate_gelu };
struct HalvesArgs {
  const float *x, *g;
  int32_t x_stride, g_stride;
  Halves to;
  HalvesOp op;
};
inline constexpr int kHalvesThreads = 64;
const void* halves_kernel();

}  // namespace cuda
