// linear: y = x W^T (+ bias) from packed tiles: for few rows in float32, for many on tensor cores in bf16 with float32 sums.
#include "device/cuda/tensor.cuh"
#include "device/cuda/tile.cuh"

namespace cuda {
namespace {

constexpr int kWarps = 8;

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

}  // namespace

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
