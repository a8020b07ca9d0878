// choose: softmax over a row of scores and the best top_k of them, by one warp; of equals the lower index comes first.
#pragma once
#include "device/cuda/common.cuh"

namespace cuda {

// Larger floats are larger unsigned numbers.
__device__ __forceinline__ uint32_t ordered(float v) {
  const uint32_t bits = __float_as_uint(v);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// Lane l holds scores Held * l to Held * l + Held - 1. Lane k < top_k returns choice k.
struct Choice { int expert; float weight; };
template <int Held> __device__ __forceinline__ Choice choose(const float* scores, int n, int top_k, bool renormalise, int lane) {
  float v[Held], peak = -INFINITY;
  if (n == 32 * Held) {
#pragma unroll
    for (int i = 0; i < Held; i += 4) {
      const float4 four = *reinterpret_cast<const float4*>(scores + lane * Held + i);
      v[i] = four.x, v[i + 1] = four.y, v[i + 2] = four.z, v[i + 3] = four.w;
    }
  } else {
#pragma unroll
    for (int i = 0; i < Held; i++) v[i] = lane * Held + i < n ? scores[lane * Held + i] : -INFINITY;
  }
#pragma unroll
  for (int i = 0; i < Held; i++) peak = fmaxf(peak, v[i]);
  peak = warp_max(peak);
  float all = 1;
  if (!renormalise) {
    all = 0;
#pragma unroll
    for (int i = 0; i < Held; i++) all += __expf(v[i] - peak);
    all = warp_sum(all);
  }
  Choice mine{0, 0};
  float chosen = 0;
#pragma unroll 1
  for (int k = 0; k < top_k; k++) {
    float best = v[0];
    int at = 0;
#pragma unroll
    for (int i = 1; i < Held; i++)
      if (v[i] > best) best = v[i], at = i;
    const uint32_t key = ordered(best), top = __reduce_max_sync(~0u, key);
    const int owner = __ffs(static_cast<int>(__ballot_sync(~0u, key == top))) - 1, expert = __shfl_sync(~0u, min(lane * Held + at, n - 1), owner);
    const float weight = __expf(__shfl_sync(~0u, best, owner) - peak);
    chosen += weight;
    if (lane == k) mine = {expert, weight};
    if (lane == owner) {
#pragma unroll
      for (int i = 0; i < Held; i++)
        if (i == at) v[i] = -INFINITY;
    }
  }
  mine.weight /= renormalise ? chosen : all;
  return mine;
}

}  // namespace cuda
