// moe: routes, and the experts they choose: entry by entry for few rows, grouped by expert on tensor cores for many.
#include "device/cuda/few.cuh"
#include "device/cuda/tensor.cuh"
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

// One block: counts entries of each expert, places them in the order of rows, and cuts them into blocks of kGroupRows.
__global__ void __launch_bounds__(1024) group(const GroupArgs a) {
  extern __shared__ int counts[];  // [n_experts + 1]
  wait_for_input();
  let_next_start();
  for (int e = threadIdx.x; e <= a.n_experts; e += blockDim.x) counts[e] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < a.entries; i += blockDim.x) atomicAdd(&counts[a.experts[i] + 1], 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    int blocks = 0;
    for (int e = 0; e < a.n_experts; e++) {
      for (int first = 0; first < counts[e + 1]; first += kGroupRows) a.to.block_expert[blocks] = e, a.to.block_first[blocks++] = counts[e] + first;
      counts[e + 1] += counts[e];
    }
    for (; blocks < a.max_blocks; blocks++) a.to.block_expert[blocks] = -1;
  }
  __syncthreads();
  for (int e = threadIdx.x; e <= a.n_experts; e += blockDim.x) a.to.start[e] = counts[e];
  __syncthreads();
  // A warp an expert: entries keep their order, so that every run gives the same sums.
  for (int e = threadIdx.x / 32; e < a.n_experts; e += blockDim.x / 32) {
    int at = counts[e];
    const int end = counts[e + 1], lane = threadIdx.x & 31;
    for (int i = 0; i < a.entries && at < end; i += 32) {
      const bool hit = i + lane < a.entries && a.experts[i + lane] == e;
      const unsigned hits = __ballot_sync(~0u, hit);
      if (hit) a.to.order[at + __popc(hits & ((1u << lane) - 1))] = i + lane;
      at += __popc(hits);
    }
  }
}

template <PackCodes C, PackScales S> __device__ __forceinline__ float tile_dot(const Matrix& w, const uint8_t* tile, const float* x, int lane, int warp, int n_warps) {
  const int row = lane & 15, half = lane >> 4;
  float acc = 0;
  for (int k = 32 * warp + 16 * half; k < w.cols; k += 32 * n_warps) {
#pragma unroll
    for (int q = 0; q < 16; q += 4) {
      if (k + q >= w.cols) break;
      float v[4];
      quad_weights<C, S>(w.layout, tile, w.cols, row, k + q, v);
      const float4 in = *reinterpret_cast<const float4*>(x + k + q);
      acc += v[0] * in.x + v[1] * in.y + v[2] * in.z + v[3] * in.w;
    }
  }
  return acc + __shfl_xor_sync(~0u, acc, 16);
}

__device__ __forceinline__ float activate(Activation kind, float g) { return kind == Activation::silu ? silu(g) : gelu_tanh(g); }

// Block (tile of the hidden layer, entry): warps 0-3 gate, 4-7 up.
template <PackCodes C, PackScales S> __global__ void __launch_bounds__(32 * kWarps) experts_up(const ExpertArgs a) {
  __shared__ float sums[kWarps][16];
  wait_for_input();
  let_next_start();
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, entry = blockIdx.y, expert = a.experts[entry];
  const Matrix& w = warp < kWarps / 2 ? a.gate : a.up;
  const float dot = tile_dot<C, S>(w, w.data + expert * w.expert_bytes + blockIdx.x * w.tile_bytes, a.x + static_cast<int64_t>(entry / a.top_k) * w.cols, lane, warp % (kWarps / 2), kWarps / 2);
  if (lane < 16) sums[warp][lane] = dot;
  __syncthreads();
  const int out = blockIdx.x * 16 + threadIdx.x;
  if (threadIdx.x >= 16 || out >= w.rows) return;
  const float g = (sums[0][threadIdx.x] + sums[1][threadIdx.x] + sums[2][threadIdx.x] + sums[3][threadIdx.x]) * a.gate.post_scale;
  const float u = (sums[4][threadIdx.x] + sums[5][threadIdx.x] + sums[6][threadIdx.x] + sums[7][threadIdx.x]) * a.up.post_scale;
  a.hidden[static_cast<int64_t>(entry) * a.gate.rows + out] = activate(a.activation, g) * u;
}

// Block (tile of the output, row): a warp a choice, in turns.
template <PackCodes C, PackScales S> __global__ void __launch_bounds__(32 * kWarps) experts_down(const ExpertArgs a) {
  extern __shared__ float parts[];  // [top_k][16]
  wait_for_input();
  let_next_start();
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int k = warp; k < a.top_k; k += kWarps) {
    const int64_t entry = static_cast<int64_t>(blockIdx.y) * a.top_k + k;
    const float dot = tile_dot<C, S>(a.down, a.down.data + a.experts[entry] * a.down.expert_bytes + blockIdx.x * a.down.tile_bytes, a.hidden + entry * a.down.cols, lane, 0, 1);
    if (lane < 16) parts[k * 16 + lane] = dot * a.weights[entry];
  }
  __syncthreads();
  const int out = blockIdx.x * 16 + threadIdx.x;
  if (threadIdx.x >= 16 || out >= a.down.rows) return;
  float sum = 0;
  for (int k = 0; k < a.top_k; k++) sum += parts[k * 16 + threadIdx.x];
  a.y[static_cast<int64_t>(blockIdx.y) * a.down.rows + out] = sum * a.down.post_scale;
}

// The same two with 16-bit activations: twice as many warps, everything of a warp read at once.
constexpr int kFewWarps = 16;
template <PackCodes C, PackScales S> __global__ void __launch_bounds__(32 * kFewWarps) few_up(const __grid_constant__ ExpertArgs a) {
  __shared__ float sums[kFewWarps][16];
  wait_for_input();
  let_next_start();
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, entry = blockIdx.y, expert = a.experts[entry];
  const Matrix& w = warp < kFewWarps / 2 ? a.gate : a.up;
  float acc[1][4] = {};
  few_product<C, S, 1, 4>(w, w.data + expert * w.expert_bytes + blockIdx.x * w.tile_bytes, a.acts, entry / a.top_k, 1, lane, warp % (kFewWarps / 2), kFewWarps / 2, acc, [] {});
  few_reduce<1>(acc, 1);
  if (lane < 4)
    for (int r = 0; r < 4; r++) sums[warp][4 * lane + r] = acc[0][r];
  __syncthreads();
  if (threadIdx.x >= 16) return;
  float g = 0, u = 0;
#pragma unroll
  for (int i = 0; i < kFewWarps / 2; i++) g += sums[i][threadIdx.x], u += sums[kFewWarps / 2 + i][threadIdx.x];
  quantise16(a.hidden_acts, static_cast<int64_t>(entry) * a.gate.rows + blockIdx.x * 16 + threadIdx.x, activate(a.activation, g * a.gate.post_scale) * u * a.up.post_scale);
}
// Two warps a choice.
template <PackCodes C, PackScales S> __global__ void __launch_bounds__(32 * kFewWarps) few_down(const __grid_constant__ ExpertArgs a) {
  extern __shared__ float parts[];  // [top_k][2][16]
  let_next_start();
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  wait_for_input();
  for (int k = warp / 2; k < a.top_k; k += kFewWarps / 2) {
    const int64_t entry = static_cast<int64_t>(blockIdx.y) * a.top_k + k;
    float acc[1][4] = {};
    few_product<C, S, 1, 4>(a.down, a.down.data + a.experts[entry] * a.down.expert_bytes + blockIdx.x * a.down.tile_bytes, a.hidden_acts, entry, 1, lane, warp % 2, 2, acc, [] {});
    few_reduce<1>(acc, 1);
    if (lane < 4)
      for (int r = 0; r < 4; r++) parts[(2 * k + warp % 2) * 16 + 4 * lane + r] = acc[0][r] * a.weights[entry];
  }
  __syncthreads();
  const int out = blockIdx.x * 16 + threadIdx.x;
  if (threadIdx.x >= 16 || out >= a.down.rows) return;
  float sum = 0;
  for (int k = 0; k < 2 * a.top_k; k++) sum += parts[k * 16 + threadIdx.x];
  a.y[static_cast<int64_t>(blockIdx.y) * a.down.rows + out] = sum * a.down.post_scale;
}

// Block (8 tiles of the hidden layer, block of entries). Gate first, then up, over the same activations.
template <PackCodes C, PackScales S> __global__ void __launch_bounds__(32 * kWarps) grouped_up(const ExpertArgs a) {
  __shared__ Activations x;
  wait_for_input();
  let_next_start();
  const int expert = a.groups.block_expert[blockIdx.y];
  if (expert < 0) return;
  const int first = a.groups.block_first[blockIdx.y], end = min(first + kGroupRows, a.groups.start[expert + 1]);
  const int tile = blockIdx.x * kWarps + (threadIdx.x >> 5), tiles = (a.gate.rows + 15) / 16, mine = min(tile, tiles - 1);
  const auto source = [&](int r) { return first + r < end ? a.x + static_cast<int64_t>(a.groups.order[first + r] / a.top_k) * a.gate.cols : nullptr; };
  TensorSums gate, up;
  product<C, S>(a.gate.layout, a.gate.data + expert * a.gate.expert_bytes + mine * a.gate.tile_bytes, a.gate.cols, x, gate, source);
  product<C, S>(a.up.layout, a.up.data + expert * a.up.expert_bytes + mine * a.up.tile_bytes, a.up.cols, x, up, source);
  if (tile >= tiles) return;
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int n = 0; n < kTensorRows / 8; n++)
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int out = tile * 16 + lane / 4 + 8 * (i / 2), r = 8 * n + 2 * (lane & 3) + (i & 1);
      if (out < a.gate.rows && first + r < end)
        a.hidden[static_cast<int64_t>(a.groups.order[first + r]) * a.gate.rows + out] = activate(a.activation, gate.v[n][i] * a.gate.post_scale) * up.v[n][i] * a.up.post_scale;
    }
}

// The same for down: `x` of the arguments receives each entry's result, [entries, hidden_dim], which combine adds up in the order of choices.
template <PackCodes C, PackScales S> __global__ void __launch_bounds__(32 * kWarps) grouped_down(const ExpertArgs a) {
  __shared__ Activations x;
  wait_for_input();
  let_next_start();
  const int expert = a.groups.block_expert[blockIdx.y];
  if (expert < 0) return;
  const int first = a.groups.block_first[blockIdx.y], end = min(first + kGroupRows, a.groups.start[expert + 1]);
  const int tile = blockIdx.x * kWarps + (threadIdx.x >> 5), tiles = (a.down.rows + 15) / 16, mine = min(tile, tiles - 1);
  TensorSums sums;
  product<C, S>(a.down.layout, a.down.data + expert * a.down.expert_bytes + mine * a.down.tile_bytes, a.down.cols, x, sums,
                [&](int r) { return first + r < end ? a.hidden + static_cast<int64_t>(a.groups.order[first + r]) * a.down.cols : nullptr; });
  if (tile >= tiles) return;
  sums.each([&](int o, int r, float v) {
    const int out = tile * 16 + o;
    if (out < a.down.rows && first + r < end) a.y[static_cast<int64_t>(a.groups.order[first + r]) * a.down.rows + out] = v * a.down.post_scale;
  });
}

// y[row] = sum over choices of weight * x[row * top_k + choice].
__global__ void combine(const ExpertArgs a) {
  wait_for_input();
  let_next_start();
  const int n = a.down.rows, out = blockIdx.x * blockDim.x + threadIdx.x;
  if (out >= n) return;
  float sum = 0;
  for (int k = 0; k < a.top_k; k++) {
    const int64_t entry = static_cast<int64_t>(blockIdx.y) * a.top_k + k;
    sum += a.weights[entry] * a.x[entry * n + out];
  }
  a.y[static_cast<int64_t>(blockIdx.y) * n + out] = sum;
}

}  // namespace

const void* route_kernel(int32_t n) {
  if (n <= 64) return reinterpret_cast<const void*>(route<2>);
  if (n <= 256) return reinterpret_cast<const void*>(route<8>);
  return n <= 1024 ? reinterpret_cast<const void*>(route<32>) : nullptr;
}
const void* group_kernel() { return reinterpret_cast<const void*>(group); }
const void* combine_kernel() { return reinterpret_cast<const void*>(combine); }
const void* experts_up_kernel(PackLayout l) {
  return for_layout(l, []<PackCodes C, PackScales S>() { return reinterpret_cast<const void*>(experts_up<C, S>); });
}
const void* experts_down_kernel(PackLayout l) {
  return for_layout(l, []<PackCodes C, PackScales S>() { return reinterpret_cast<const void*>(experts_down<C, S>); });
}
const void* few_up_kernel(PackLayout l) {
  return for_layout(l, []<PackCodes C, PackScales S>() -> const void* {
    if constexpr (has_few<C>) return reinterpret_cast<const void*>(few_up<C, S>);
    return nullptr;
  });
}
const void* few_down_kernel(PackLayout l) {
  return for_layout(l, []<PackCodes C, PackScales S>() -> const void* {
    if constexpr (has_few<C>) return reinterpret_cast<const void*>(few_down<C, S>);
    return nullptr;
  });
}
const void* grouped_up_kernel(PackLayout l) {
  return for_layout(l, []<PackCodes C, PackScales S>() { return reinterpret_cast<const void*>(grouped_up<C, S>); });
}
const void* grouped_down_kernel(PackLayout l) {
  return for_layout(l, []<PackCodes C, PackScales S>() { return reinterpret_cast<const void*>(grouped_down<C, S>); });
}

}  // namespace cuda
