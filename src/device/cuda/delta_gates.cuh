// delta_gates: the functions of the gated delta rule's gates and convolution, quick where halves follow and exact where a state is kept for long.
#pragma once
#include "device/cuda/common.cuh"

namespace cuda {

// 2^x and 1 / x without what the standard ones do about denormals.
__device__ __forceinline__ float quick_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float quick_inverse(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
inline constexpr float kLog2e = 1.4426950408889634f;
__device__ __forceinline__ float quick_sigmoid(float x) { return quick_inverse(1 + quick_exp2(-kLog2e * x)); }
__device__ __forceinline__ float quick_silu(float x) { return x * quick_sigmoid(x); }
// log(1 + e^x). Its relative error is that of the log decay, which moves a state by less than as much however long it is kept: it stays below 1e-4.
__device__ __forceinline__ float quick_softplus(float x) {
  const float e = __expf(x), small = e * (1 - e * (1.0f / 2 - e * (1.0f / 3)));
  return x > 20 ? x : e < 0.01f ? small : __logf(1 + e);
}
// e^y - 1 for -0.25 < y <= 0, exact near 0: a state that hardly decays must not drift over many rows.
__device__ __forceinline__ float small_loss(float y) { return y * (1 + y * (1.0f / 2 + y * (1.0f / 6 + y * (1.0f / 24 + y * (1.0f / 120 + y * (1.0f / 720)))))); }

// Sums N values (a power of two up to 32) over the warp: a lane ends with one of them, its index in the upper bits of the lane's number.
template <int N> __device__ __forceinline__ float warp_sums(float (&v)[N]) {
  const int lane = threadIdx.x & 31;
  int live = N;
#pragma unroll
  for (int o = 16; o; o >>= 1) {
    if (live > 1) {
      live /= 2;
      const bool upper = lane & o;
#pragma unroll
      for (int i = 0; i < N / 2; i++) {
        if (i >= live) break;
        const float kept = upper ? v[i + live] : v[i], sent = upper ? v[i] : v[i + live];
        v[i] = kept + __shfl_xor_sync(~0u, sent, o);
      }
    } else {
      v[0] += __shfl_xor_sync(~0u, v[0], o);
    }
  }
  return v[0];
}

}  // namespace cuda
