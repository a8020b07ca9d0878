// linear: y = x W^T (+ bias) from packed tiles: for few rows in float32, for many on tensor cores in bf16 with float32 sums.
#include "device/cuda/few.cuh"
#include "device/cuda/tensor.cuh"
#include "device/cuda/tile.cuh"

namespace cuda {
namespace {

constexpr int kWarps = 8, kWideWarps = 16;

// A block is one tile of 16 outputs and R rows; its warps share the inputs out in chunks of 32, a lane takes 16 inputs of one output.
template <PackCodes C, PackScales S, int R> __global__ void __launch_bounds__(32 * kWarps) linear_float(const LinearArgs a) {
  __shared__ float sums[kWarps][R][16];
  wait_for_input();
  let_next_start();
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, row = lane & 15, half = lane >> 4, first = blockIdx.y * R, n = min(R, a.rows - first);
  const uint8_t* tile = a.w.data + blockIdx.x * a.w.tile_bytes;
  float acc[R] = {};
  for (int k = 32 * warp + 16 * half; k < a.w.cols; k += 32 * kWarps) {
#pragma unroll
    for (int q = 0; q < 16; q += 4) {
      if (k + q >= a.w.cols) break;
      float w[4];
      quad_weights<C, S>(a.w.layout, tile, a.w.cols, row, k + q, w);
#pragma unroll
      for (int r = 0; r < R; r++) {
        if (r >= n) break;
        const float4 x = *reinterpret_cast<const float4*>(a.x + static_cast<int64_t>(first + r) * a.w.cols + k + q);
        acc[r] += w[0] * x.x + w[1] * x.y + w[2] * x.z + w[3] * x.w;
      }
    }
  }
#pragma unroll
  for (int r = 0; r < R; r++) {
    acc[r] += __shfl_xor_sync(~0u, acc[r], 16);
    if (half == 0) sums[warp][r][row] = acc[r];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n * 16; i += blockDim.x) {
    const int r = i / 16, out = blockIdx.x * 16 + i % 16;
    if (out >= a.w.rows) continue;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; w++) sum += sums[w][r][i % 16];
    a.y[static_cast<int64_t>(first + r) * a.w.rows + out] = sum * a.w.post_scale + (a.bias ? a.bias[out] : 0.0f);
  }
}

// A block is 8 tiles (128 outputs, one tile a warp) and 64 rows.
template <PackCodes C, PackScales S> __global__ void __launch_bounds__(32 * kWarps) linear_tensor(const LinearArgs a) {
  __shared__ Activations x;
  wait_for_input();
  let_next_start();
  const int warp = threadIdx.x >> 5, tile = blockIdx.x * kWarps + warp, tiles = (a.w.rows + 15) / 16, first = blockIdx.y * kTensorRows;
  TensorSums sums;
  product<C, S>(a.w.layout, a.w.data + min(tile, tiles - 1) * a.w.tile_bytes, a.w.cols, x, sums, [&](int r) { return first + r < a.rows ? a.x + static_cast<int64_t>(first + r) * a.w.cols : nullptr; });
  if (tile >= tiles) return;
  sums.each([&](int out, int r, float v) {
    const int o = tile * 16 + out;
    if (o < a.w.rows && first + r < a.rows) a.y[static_cast<int64_t>(first + r) * a.w.rows + o] = v * a.w.post_scale + (a.bias ? a.bias[o] : 0.0f);
  });
}

// A block is one tile of one of the targets and up to M rows.
template <PackCodes C, PackScales S, int M> __global__ void __launch_bounds__(32 * kWarps) linear_few(const __grid_constant__ FewArgs a) {
  __shared__ float sums[kWarps][M][16];
  let_next_start();
  int t = 0;
  while (t + 1 < a.n_targets && static_cast<int>(blockIdx.x) >= a.targets[t + 1].first_tile) t++;
  const int tile = static_cast<int>(blockIdx.x) - a.targets[t].first_tile, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, first = blockIdx.y * M, n = min(M, a.rows - first);
  float acc[M][4] = {};
  few_product<C, S, M, M == 1 ? 4 : 2>(a.shape, a.targets[t].data + tile * a.shape.tile_bytes, a.x, first, n, lane, warp, kWarps, acc, [] { wait_for_input(); });
  few_reduce<M>(acc, n);
  if (lane < 4)
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int r = 0; r < 4; r++) sums[warp][m][4 * lane + r] = acc[m][r];
  __syncthreads();
  for (int i = threadIdx.x; i < n * 16; i += blockDim.x) {
    const int m = i / 16, out = tile * 16 + i % 16;
    if (out >= a.targets[t].rows) continue;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; w++) sum += sums[w][m][i % 16];
    a.targets[t].y[static_cast<int64_t>(first + m) * a.targets[t].rows + out] = sum * a.shape.post_scale + (a.targets[t].bias ? a.targets[t].bias[out] : 0.0f);
  }
}

// Float weights, one row: a warp reads 512 bytes of a tile at a time, a lane 16 bytes of one input's rows.
template <PackCodes C> __global__ void __launch_bounds__(32 * kWideWarps) linear_floats(const __grid_constant__ FewArgs a) {
  constexpr int size = C == PackCodes::f32 ? 4 : 2, rows = 16 / size, lanes = 16 / rows, inputs = 32 / lanes, ahead = 4;
  __shared__ float sums[kWideWarps][16];
  let_next_start();
  int t = 0;
  while (t + 1 < a.n_targets && static_cast<int>(blockIdx.x) >= a.targets[t + 1].first_tile) t++;
  const int tile = static_cast<int>(blockIdx.x) - a.targets[t].first_tile, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const uint8_t* data = a.targets[t].data + tile * a.shape.tile_bytes + 16 * lane;
  const int cols = a.shape.cols, mine = lane / lanes;
  uint4 next[ahead];
#pragma unroll
  for (int p = 0; p < ahead; p++) {
    const int k = (warp + p * kWideWarps) * inputs;
    next[p] = k + mine < cols ? __ldg(reinterpret_cast<const uint4*>(data + 16ll * size * k)) : uint4{0, 0, 0, 0};
  }
  wait_for_input();
  const float* x = a.floats + static_cast<int64_t>(blockIdx.y) * cols;
  float acc[rows] = {};
  for (int k = warp * inputs; k < cols; k += ahead * kWideWarps * inputs) {
#pragma unroll
    for (int p = 0; p < ahead; p++) {
      const int here = k + p * kWideWarps * inputs + mine, then = k + (p + ahead) * kWideWarps * inputs;
      const float v = here < cols ? x[here] : 0.0f;
      const uint32_t words[4] = {next[p].x, next[p].y, next[p].z, next[p].w};
#pragma unroll
      for (int r = 0; r < rows; r++) {
        if constexpr (C == PackCodes::f32) acc[r] += __uint_as_float(words[r]) * v;
        if constexpr (C == PackCodes::bf16) acc[r] += bf16_value(words[r / 2] >> (r % 2 * 16) & 0xffff) * v;
        if constexpr (C == PackCodes::f16) acc[r] += half_value(static_cast<uint16_t>(words[r / 2] >> (r % 2 * 16))) * v;
      }
      next[p] = then + mine < cols ? __ldg(reinterpret_cast<const uint4*>(data + 16ll * size * then)) : uint4{0, 0, 0, 0};
    }
  }
#pragma unroll
  for (int r = 0; r < rows; r++) {
#pragma unroll
    for (int o = 16; o >= lanes; o >>= 1) acc[r] += __shfl_xor_sync(~0u, acc[r], o);
    if (lane < lanes) sums[warp][lane * rows + r] = acc[r];
  }
  __syncthreads();
  const int out = tile * 16 + threadIdx.x;
  if (threadIdx.x >= 16 || out >= a.targets[t].rows) return;
  float sum = 0;
#pragma unroll
  for (int w = 0; w < kWideWarps; w++) sum += sums[w][threadIdx.x];
  a.targets[t].y[static_cast<int64_t>(blockIdx.y) * a.targets[t].rows + out] = sum + (a.targets[t].bias ? a.targets[t].bias[out] : 0.0f);
}

__global__ void quantise(const QuantiseArgs a) {
  wait_for_input();
  let_next_start();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < a.n) quantise16(a.to, i, a.x[i]);
}

}  // namespace

const void* quantise_kernel() { return reinterpret_cast<const void*>(quantise); }

const void* few_kernel(PackLayout layout, int32_t rows, int* rows_per_block, int* threads) {
  *rows_per_block = 1, *threads = 32 * kWideWarps;
  if (layout.codes == PackCodes::f32) return reinterpret_cast<const void*>(linear_floats<PackCodes::f32>);
  if (layout.codes == PackCodes::f16) return reinterpret_cast<const void*>(linear_floats<PackCodes::f16>);
  if (layout.codes == PackCodes::bf16) return reinterpret_cast<const void*>(linear_floats<PackCodes::bf16>);
  *rows_per_block = rows == 1 ? 1 : 4, *threads = 32 * kWarps;
  const bool one = rows == 1;
  return for_layout(layout, [one]<PackCodes C, PackScales S>() -> const void* {
    if constexpr (has_few<C>) return one ? reinterpret_cast<const void*>(linear_few<C, S, 1>) : reinterpret_cast<const void*>(linear_few<C, S, 4>);
    return nullptr;
  });
}

const void* linear_kernel(PackLayout layout, int32_t rows, bool exact, int* rows_per_block, bool* tensor_cores) {
  *tensor_cores = !exact && rows > 2 * kFewRows;
  if (*tensor_cores) {
    *rows_per_block = kTensorRows;
    return for_layout(layout, []<PackCodes C, PackScales S>() { return reinterpret_cast<const void*>(linear_tensor<C, S>); });
  }
  *rows_per_block = rows == 1 ? 1 : kFewRows;
  if (rows == 1) return for_layout(layout, []<PackCodes C, PackScales S>() { return reinterpret_cast<const void*>(linear_float<C, S, 1>); });
  return for_layout(layout, []<PackCodes C, PackScales S>() { return reinterpret_cast<const void*>(linear_float<C, S, kFewRows>); });
}

}  // namespace cuda
