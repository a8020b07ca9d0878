// moe: routes, and the experts they choose in float32 from tiles as the CPU packs them: exact precision.
#include "device/cuda/tile.cuh"

namespace cuda {
namespace {

constexpr int kWarps = 8;

// One warp a row: softmax over all, then the best top_k; of equals the lower index comes first. A lane holds every 32nd score.
template <int Held> __global__ void __launch_bounds__(32) route(const RouteArgs a) {
  wait_for_input();
  let_next_start();
  const float* in = a.scores + static_cast<int64_t>(blockIdx.x) * a.n;
  const int lane = threadIdx.x;
  float score[Held], peak = -INFINITY;
#pragma unroll
  for (int i = 0; i < Held; i++) score[i] = lane + 32 * i < a.n ? in[lane + 32 * i] : -INFINITY, peak = fmaxf(peak, score[i]);
  peak = warp_max(peak);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < Held; i++) sum += expf(score[i] - peak);
  sum = warp_sum(sum);
  float chosen = 0, mine = 0;
  int expert = 0;
  for (int k = 0; k < a.top_k; k++) {
    float best = score[0];
    int at = lane;
#pragma unroll
    for (int i = 1; i < Held; i++)
      if (score[i] > best) best = score[i], at = lane + 32 * i;
#pragma unroll
    for (int o = 16; o; o >>= 1) {
      const float other = __shfl_xor_sync(~0u, best, o);
      const int where = __shfl_xor_sync(~0u, at, o);
      if (other > best || (other == best && where < at)) best = other, at = where;
    }
    if (at >= a.n) at = 0;  // scores that are no numbers
    const float weight = expf(best - peak) / sum;
    chosen += weight;
    if (lane == k) mine = weight, expert = at;
#pragma unroll
    for (int i = 0; i < Held; i++)
      if (lane + 32 * i == at) score[i] = -INFINITY;
  }
  if (lane < a.top_k) {
    a.experts[static_cast<int64_t>(blockIdx.x) * a.top_k + lane] = expert;
    a.weights[static_cast<int64_t>(blockIdx.x) * a.top_k + lane] = a.renormalise ? mine / chosen : mine;
  }
}

__device__ __forceinline__ float tile_dot(const Matrix& w, const uint8_t* tile, const float* x, int lane, int warp, int n_warps) {
  const int row = lane & 15, half = lane >> 4;
  float acc = 0;
  for (int k = 32 * warp + 16 * half; k < w.cols; k += 32 * n_warps) {
    for (int q = 0; q < 16; q += 4) {
      if (k + q >= w.cols) break;
      float v[4] = {};
      any_quad(w, tile, row, k + q, v);
      for (int i = 0; i < 4 && k + q + i < w.cols; i++) acc += v[i] * x[k + q + i];
    }
  }
  return acc + __shfl_xor_sync(~0u, acc, 16);
}

__device__ __forceinline__ float activate(Activation kind, float g) { return kind == Activation::silu ? silu(g) : gelu_tanh(g); }

// Block (tile of the hidden layer, entry): warps 0-3 gate, 4-7 up.
__global__ void __launch_bounds__(32 * kWarps) experts_up(const ExpertArgs a) {
  __shared__ float sums[kWarps][16];
  wait_for_input();
  let_next_start();
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, entry = blockIdx.y, expert = a.experts[entry];
  const Matrix& w = warp < kWarps / 2 ? a.gate : a.up;
  const float dot = tile_dot(w, w.data + expert * w.expert_bytes + blockIdx.x * w.tile_bytes, a.x + static_cast<int64_t>(entry / a.top_k) * w.cols, lane, warp % (kWarps / 2), kWarps / 2);
  if (lane < 16) sums[warp][lane] = dot;
  __syncthreads();
  const int out = blockIdx.x * 16 + threadIdx.x;
  if (threadIdx.x >= 16 || out >= w.rows) return;
  const float g = (sums[0][threadIdx.x] + sums[1][threadIdx.x] + sums[2][threadIdx.x] + sums[3][threadIdx.x]) * a.gate.post_scale;
  const float u = (sums[4][threadIdx.x] + sums[5][threadIdx.x] + sums[6][threadIdx.x] + sums[7][threadIdx.x]) * a.up.post_scale;
  a.hidden[static_cast<int64_t>(entry) * a.gate.rows + out] = activate(a.activation, g) * u;
}

// Block (tile of the output, row): a warp a choice, in turns.
__global__ void __launch_bounds__(32 * kWarps) experts_down(const ExpertArgs a) {
  extern __shared__ float parts[];  // [top_k][16]
  wait_for_input();
  let_next_start();
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int k = warp; k < a.top_k; k += kWarps) {
    const int64_t entry = static_cast<int64_t>(blockIdx.y) * a.top_k + k;
    const float dot = tile_dot(a.down, a.down.data + a.experts[entry] * a.down.expert_bytes + blockIdx.x * a.down.tile_bytes, a.hidden + entry * a.down.cols, lane, 0, 1);
    if (lane < 16) parts[k * 16 + lane] = dot * a.weights[entry];
  }
  __syncthreads();
  const int out = blockIdx.x * 16 + threadIdx.x;
  if (threadIdx.x >= 16 || out >= a.down.rows) return;
  float sum = 0;
  for (int k = 0; k < a.top_k; k++) sum += parts[k * 16 + threadIdx.x];
  a.y[static_cast<int64_t>(blockIdx.y) * a.down.rows + out] = sum * a.down.post_scale;
}

}  // namespace

const void* route_kernel(int32_t n) {
  if (n <= 64) return reinterpret_cast<const void*>(route<2>);
  if (n <= 256) return reinterpret_cast<const void*>(route<8>);
  return n <= 1024 ? reinterpret_cast<const void*>(route<32>) : nullptr;
}
const void* experts_up_kernel() { return reinterpret_cast<const void*>(experts_up); }
const void* experts_down_kernel() { return reinterpret_cast<const void*>(experts_down); }

}  // namespace cuda
