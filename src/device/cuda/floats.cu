// floats: see the header. v = high + low / 2048, both halves: 22 bits. Of the four products the one of two low parts is left out.
#include "device/cuda/common.cuh"
#include "device/cuda/floats.h"
#include "device/cuda/operand.cuh"

namespace cuda {
namespace {

constexpr int kInputs = 32, kStride = kInputs + 8;  // of a tile in shared memory, and floats from row to row: eight rows lie in different banks
constexpr float kLow = 2048;

struct Split { uint32_t high, low; };
__device__ __forceinline__ Split split(float2 v) {
  Split s;
  s.high = halves_of(v.x, v.y);
  const float2 high = pair_of_halves(s.high);
  s.low = halves_of((v.x - high.x) * kLow, (v.y - high.y) * kLow);
  return s;
}
__device__ __forceinline__ float4 four_of(const float* row, int k, int cols) {
  if ((cols & 3) == 0) return k < cols ? *reinterpret_cast<const float4*>(row + k) : float4{0, 0, 0, 0};
  return {k < cols ? row[k] : 0.0f, k + 1 < cols ? row[k + 1] : 0.0f, k + 2 < cols ? row[k + 2] : 0.0f, k + 3 < cols ? row[k + 3] : 0.0f};
}

// A warp has 16 rows and all 32 outputs of the tile.
__global__ void __launch_bounds__(kFloatsThreads) products(const __grid_constant__ FloatsArgs a) {
  __shared__ __align__(16) float x[kFloatsTileRows][kStride], w[kFloatsTileOuts][kStride];
  const int t = threadIdx.x, lane = t & 31, warp = t >> 5, g = lane >> 2, c = lane & 3;
  const int first_row = blockIdx.y * kFloatsTileRows, first_out = blockIdx.x * kFloatsTileOuts;
  const auto find = [&](int out, int& at) -> const FloatTarget& {
    int i = 0;
    while (i + 1 < a.n_targets && out >= a.targets[i + 1].first_row) i++;
    at = out - a.targets[i].first_row;
    return a.targets[i];
  };
  // A thread brings in four inputs at a time: of 4 rows of x and 2 of w, 16 rows apart.
  constexpr int kOwnRows = kFloatsTileRows / 16, kOwnOuts = kFloatsTileOuts / 16;
  const int own = t / 8, k_own = t % 8 * 4;
  const float *x_from[kOwnRows], *w_from[kOwnOuts];
#pragma unroll
  for (int i = 0; i < kOwnRows; i++) x_from[i] = a.x + static_cast<int64_t>(min(first_row + own + 16 * i, a.rows - 1)) * a.cols;
#pragma unroll
  for (int i = 0; i < kOwnOuts; i++) {
    int at;
    const FloatTarget& to = find(min(first_out + own + 16 * i, a.n_outs - 1), at);
    w_from[i] = to.data + static_cast<int64_t>(at) * a.cols;
  }
  let_next_start();
  wait_for_input();
  float4 x_next[kOwnRows], w_next[kOwnOuts];
  const auto bring = [&](int k) {
#pragma unroll
    for (int i = 0; i < kOwnRows; i++) x_next[i] = four_of(x_from[i], k + k_own, a.cols);
#pragma unroll
    for (int i = 0; i < kOwnOuts; i++) w_next[i] = four_of(w_from[i], k + k_own, a.cols);
  };
  constexpr int kTiles = kFloatsTileOuts / 8;
  float main[kTiles][4] = {}, cross[kTiles][4] = {};
  bring(0);
#pragma unroll 1
  for (int k = 0; k < a.cols; k += kInputs) {
#pragma unroll
    for (int i = 0; i < kOwnRows; i++) *reinterpret_cast<float4*>(&x[own + 16 * i][k_own]) = x_next[i];
#pragma unroll
    for (int i = 0; i < kOwnOuts; i++) *reinterpret_cast<float4*>(&w[own + 16 * i][k_own]) = w_next[i];
    __syncthreads();
    if (k + kInputs < a.cols) bring(k + kInputs);
#pragma unroll
    for (int s = 0; s < kInputs; s += 16) {
      uint32_t high[4], low[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {  // rows g and g + 8, inputs 2 c and 2 c + 8
        const Split v = split(*reinterpret_cast<const float2*>(&x[16 * warp + g + 8 * (i & 1)][s + 2 * c + 8 * (i >> 1)]));
        high[i] = v.high, low[i] = v.low;
      }
#pragma unroll
      for (int n = 0; n < kTiles; n++) {
        const Split first = split(*reinterpret_cast<const float2*>(&w[8 * n + g][s + 2 * c])), second = split(*reinterpret_cast<const float2*>(&w[8 * n + g][s + 2 * c + 8]));
        multiply_halves(main[n], high, first.high, second.high);
        multiply_halves(cross[n], low, first.high, second.high);
        multiply_halves(cross[n], high, first.low, second.low);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int n = 0; n < kTiles; n++)
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int row = first_row + 16 * warp + g + 8 * (i >> 1), out = first_out + 8 * n + 2 * c + (i & 1);
      if (row >= a.rows || out >= a.n_outs) continue;
      int at;
      const FloatTarget& to = find(out, at);
      to.y[static_cast<int64_t>(row) * to.rows + at] = fmaf(cross[n][i], 1 / kLow, main[n][i]) + (to.bias ? to.bias[at] : 0.0f);
    }
}

}  // namespace

const void* floats_kernel() { return reinterpret_cast<const void*>(products); }

}  // namespace cuda
