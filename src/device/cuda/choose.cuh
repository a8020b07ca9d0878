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

// Calls f(rank, expert, key) by the lane that holds the choice of each rank from 0 to last.
template <int Held, class F> __device__ __forceinline__ void choose(Scores<Held> s, int last, int lane, F&& f) {
  uint32_t sorted[Held];  // descending
#pragma unroll
  for (int i = 0; i < Held; i++) sorted[i] = s.keys[i];
#pragma unroll
  for (int size = 2; size <= Held; size *= 2) {
#pragma unroll
    for (int apart = size / 2; apart; apart /= 2) {
#pragma unroll
      for (int i = 0; i < Held; i++) {
        const int j = apart == size / 2 ? (i & ~(size - 1)) + size - 1 - (i & (size - 1)) : i ^ apart;
        if (j <= i) continue;
        const uint32_t high = max(sorted[i], sorted[j]), low = min(sorted[i], sorted[j]);
        sorted[i] = high, sorted[j] = low;
      }
    }
  }
#pragma unroll 1
  for (int rank = 0; rank <= last; rank++) {
    const uint32_t top = __reduce_max_sync(~0u, sorted[0]);
    const bool mine = sorted[0] == top;
    const uint32_t holders = __ballot_sync(~0u, mine);
    if ((holders >> lane & 1) && (holders << (31 - lane)) == 0x80000000u) {  // the first of them
      int at = Held - 1;
#pragma unroll
      for (int i = Held - 2; i >= 0; i--) at = s.keys[i] == top ? i : at;
      f(rank, lane * Held + at, top);
#pragma unroll
      for (int i = 0; i < Held; i++)
        if (i == at) s.keys[i] = 0;
#pragma unroll
      for (int i = 0; i + 1 < Held; i++) sorted[i] = sorted[i + 1];
      sorted[Held - 1] = 0;
    }
  }
}

}  // namespace cuda
