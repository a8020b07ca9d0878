// choose: softmax over a row of scores and the best top_k of them, by one warp; of equals the lower index comes first.
#pragma once
#include "device/cuda/common.cuh"

namespace cuda {

// Larger floats are larger unsigned numbers; no float is 0.
__device__ __forceinline__ uint32_t ordered(float v) {
  const uint32_t bits = __float_as_uint(v);
  return bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000u);
}
__device__ __forceinline__ float unordered(uint32_t key) { return __uint_as_float(key & 0x80000000u ? key ^ 0x80000000u : ~key); }

// Lane l holds scores Held * l to Held * l + Held - 1 as keys; 0 for none.
template <int Held> struct Scores {
  uint32_t keys[Held];
  __device__ __forceinline__ void read(const float* scores, int n, int lane) {
    float v[Held];
    if (n == 32 * Held) {
#pragma unroll
      for (int i = 0; i < Held; i += 4) {
        const float4 four = *reinterpret_cast<const float4*>(scores + lane * Held + i);
        v[i] = four.x, v[i + 1] = four.y, v[i + 2] = four.z, v[i + 3] = four.w;
      }
#pragma unroll
      for (int i = 0; i < Held; i++) keys[i] = ordered(v[i]);
    } else {
#pragma unroll
      for (int i = 0; i < Held; i++) keys[i] = lane * Held + i < n ? ordered(scores[lane * Held + i]) : 0;
    }
  }
  // Sum over all of exp(score - peak).
  __device__ __forceinline__ float all(float peak) const {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < Held; i++) sum += keys[i] ? __expf(unordered(keys[i]) - peak) : 0.0f;
    return warp_sum(sum);
  }
};

// Lane r gets the choice of rank r, for ranks 0 to last.
struct Choice { int expert; uint32_t key; };
template <int Held> __device__ __forceinline__ Choice choose(const Scores<Held>& s, int last, int lane) {
  uint64_t sorted[Held];  // descending; of equals the lower index first
#pragma unroll
  for (int i = 0; i < Held; i++) sorted[i] = static_cast<uint64_t>(s.keys[i]) << 32 | static_cast<uint32_t>(Held - 1 - i);
#pragma unroll
  for (int size = 2; size <= Held; size *= 2) {
#pragma unroll
    for (int apart = size / 2; apart; apart /= 2) {
#pragma unroll
      for (int i = 0; i < Held; i++) {
        const int j = apart == size / 2 ? (i & ~(size - 1)) + size - 1 - (i & (size - 1)) : i ^ apart;
        if (j <= i) continue;
        const bool swap = sorted[j] > sorted[i];
        const uint64_t high = swap ? sorted[j] : sorted[i], low = swap ? sorted[i] : sorted[j];
        sorted[i] = high, sorted[j] = low;
      }
    }
  }
  Choice mine{};
#pragma unroll 1
  for (int rank = 0; rank <= last; rank++) {
    const auto own = static_cast<uint32_t>(sorted[0] >> 32);
    const uint32_t top = __reduce_max_sync(~0u, own), holders = __ballot_sync(~0u, own == top);
    const int holder = __ffs(static_cast<int>(holders)) - 1;
    const int expert = __shfl_sync(~0u, lane * Held + Held - 1 - static_cast<int>(static_cast<uint32_t>(sorted[0])), holder);
    if (lane == rank) mine = {expert, top};
    if (lane == holder) {
#pragma unroll
      for (int i = 0; i + 1 < Held; i++) sorted[i] = sorted[i + 1];
      sorted[Held - 1] = 0;
    }
  }
  return mine;
}

}  // namespace cuda
