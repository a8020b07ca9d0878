// delta_gates: the functions of the gated delta rule's gates and convolution, quick where halves follow and exact where a state is kept for long.
#pragma once
#include "device/cuda/common.cuh"

namespace cuda {

__device__ __forceinline__ float quick_sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }
__device__ __forceinline__ float quick_silu(float x) { return __fdividef(x, 1.0f + __expf(-x)); }
// log(1 + e^x). Its relative error is that of the log decay, which moves a state by less than as much however long it is kept: it stays below 1e-4.
__device__ __forceinline__ float quick_softplus(float x) {
  const float e = __expf(x), small = e * (1 - e * (1.0f / 2 - e * (1.0f / 3)));
  return x > 20 ? x : e < 0.01f ? small : __logf(1 + e);
}
// e^y - 1 for y <= 0, exact near 0: a state that hardly decays must not drift over many rows.
__device__ __forceinline__ float loss(float y) {
  const float small = y * (1 + y * (1.0f / 2 + y * (1.0f / 6 + y * (1.0f / 24 + y * (1.0f / 120 + y * (1.0f / 720))))));
  return y > -0.25f ? small : __expf(y) - 1;
}

}  // namespace cuda
