// source: what a stage of decoding makes its input from, each of its blocks for itself, so that no kernel runs for it alone.
#pragma once
#include <cstdint>
#include "device/device.h"

namespace cuda {

inline constexpr int kHeadParts = 4;  // a head of 128, a block of the delta rule each 32 of it
enum class SourceKind : int32_t {
  plain,         // x
  rms,           // x / rms(x) * gain
  gated,         // x * sigmoid(g)
  paired,        // activation(x) * g
  heads,         // x / sqrt(mean of its head's squares + eps), the squares summed by whoever wrote x
};
struct Source {
  SourceKind kind = SourceKind::plain;
  Activation activation = Activation::silu;
  const float *x = nullptr, *g = nullptr, *gain = nullptr;
  const float* squares = nullptr;      // of heads: [rows, heads, kHeadParts], parts of each head's sum
  int64_t x_stride = 0, g_stride = 0;  // floats between rows
  int32_t head_dim = 0;                // of heads: a multiple of a chunk of inputs
  float eps = 0;
};

}  // namespace cuda
