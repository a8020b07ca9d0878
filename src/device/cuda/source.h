// source: what a stage of decoding makes its input from, each of its blocks for itself, so that no kernel runs for it alone.
#pragma once
#include <cstdint>
#include "device/device.h"

namespace cuda {

enum class SourceKind : int32_t {
  plain,         // x
  rms,           // x / rms(x) * gain
  gated,         // x * sigmoid(g)
  paired,        // activation(x) * g
  normed_heads,  // x / rms(head of x) * gain[within head] * silu(g)
};
struct Source {
  SourceKind kind = SourceKind::plain;
  Activation activation = Activation::silu;
  const float *x = nullptr, *g = nullptr, *gain = nullptr;
  int64_t x_stride = 0, g_stride = 0;  // floats between rows
  int32_t head_dim = 0;
  float eps = 0;
};

}  // namespace cuda
