// choose: the best top_k of a row of scores, by a thread block; of equals the lower index comes first.
#pragma once
#include "device/cuda/common.cuh"
#include "device/cuda/moe_stage.h"

namespace cuda {

// Larger floats are larger unsigned numbers; no float is 0.
__device__ __forceinline__ uint32_t ordered(float v) {
  const uint32_t bits = __float_as_uint(v);
  return bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000u);
}
__device__ __forceinline__ float unordered(uint32_t key) { return __uint_as_float(key & 0x80000000u ? key ^ 0x80000000u : ~key); }

inline constexpr int kChoosers = 16;  // warps that look at scores, each at its share

struct Choices {
  uint2 candidates[kMostRouted];  // key, index
  uint32_t peaks[kChoosers];
  uint32_t keys[kChoosers];       // by rank
  int chosen[kChoosers];
  float parts[kChoosers];
  int n_candidates;
};

// A thread's scores; mostly one.
struct Scores {
  const float* scores;
  int begin, end;
  __device__ __forceinline__ Scores(const float* row, int n) : scores(row) {
    const int warps = min(kChoosers, static_cast<int>(blockDim.x) / 32), each = (n + warps - 1) / warps, warp = threadIdx.x >> 5;
    begin = warp * each + (threadIdx.x & 31), end = warp < warps ? min(n, (warp + 1) * each) : 0;
  }
  template <class F> __device__ __forceinline__ void rest(F&& f) const {  // all but the first
#pragma unroll 1
    for (int i = begin + 32; i < end; i += 32) f(i, ordered(scores[i]));
  }
  __device__ __forceinline__ uint32_t first() const { return begin < end ? ordered(scores[begin]) : 0; }
};

// The top_k-th best of the warps' best scores is a lower bound of the top_k-th best of all: the few scores that reach it are ranked by counting. Ends with a barrier of the block.
__device__ __forceinline__ void choose(const RouteSource& r, const float* row, Choices& s) {
  const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  const Scores scores(row, r.n_experts);
  const uint32_t first = scores.first();
  uint32_t peak = first;
  scores.rest([&](int, uint32_t key) { peak = max(peak, key); });
  peak = __reduce_max_sync(~0u, peak);
  if (lane == 0 && warp < kChoosers) s.peaks[warp] = peak;
  if (t < kChoosers && 32 * t >= static_cast<int>(blockDim.x)) s.peaks[t] = 0;
  if (t == 0) s.n_candidates = 0;
  __syncthreads();
  const uint32_t own = s.peaks[lane % kChoosers];
  int rank = 0;
#pragma unroll
  for (int i = 0; i < kChoosers; i += 4) {
    const uint4 four = *reinterpret_cast<const uint4*>(s.peaks + i);
    rank += (four.x > own) + (four.y > own) + (four.z > own) + (four.w > own);
  }
  // Of equal peaks the lowest rank counts: the bound may be one that more than top_k reach.
  const uint32_t bound = __reduce_min_sync(~0u, rank < r.top_k ? own : ~0u);
  const auto consider = [&](int expert, uint32_t key) {
    if (key && key >= bound) s.candidates[atomicAdd(&s.n_candidates, 1)] = {key, static_cast<uint32_t>(expert)};
  };
  consider(scores.begin, first);
  scores.rest(consider);
  __syncthreads();
  const int n = s.n_candidates;
#pragma unroll 1
  for (int c = t; c < n; c += blockDim.x) {
    const uint2 mine = s.candidates[c];
    int before = 0;
#pragma unroll 4
    for (int i = 0; i < n; i++) {
      const uint2 other = s.candidates[i];
      before += other.x > mine.x || (other.x == mine.x && other.y < mine.y);
    }
    if (before < r.top_k) s.chosen[before] = static_cast<int>(mine.y), s.keys[before] = mine.x;
  }
  __syncthreads();
}

// Sum over all scores of exp(score - best), by the whole block.
__device__ __forceinline__ float sum_of_all(const RouteSource& r, const float* row, Choices& s) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = min(kChoosers, static_cast<int>(blockDim.x) / 32);
  const Scores scores(row, r.n_experts);
  const float best = unordered(s.keys[0]);
  const uint32_t first = scores.first();
  float part = first ? __expf(unordered(first) - best) : 0.0f;
  scores.rest([&](int, uint32_t key) { part += __expf(unordered(key) - best); });
  part = warp_sum(part);
  if (lane == 0 && warp < warps) s.parts[warp] = part;
  __syncthreads();
  float all = 0;
  for (int i = 0; i < warps; i++) all += s.parts[i];
  return all;
}

}  // namespace cuda
