// linear: y = x W^T (+ bias) in float32 from tiles as the CPU packs them: exact precision's product, and what fast kernels are compared with.
#include "device/cuda/tile.cuh"

namespace cuda {
namespace {

constexpr int kWarps = 8, kManyRows = 8;

// A block is one tile of 16 outputs and R rows; its warps share the inputs out in chunks of 32, a lane takes 16 inputs of one output.
template <int R> __global__ void __launch_bounds__(32 * kWarps) linear_float(const LinearArgs a) {
  __shared__ float sums[kWarps][R][16];
  wait_for_input();
  let_next_start();
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, row = lane & 15, half = lane >> 4, first = blockIdx.y * R, n = min(R, a.rows - first);
  const uint8_t* tile = a.w.data + blockIdx.x * a.w.tile_bytes;
  float acc[R] = {};
  for (int k = 32 * warp + 16 * half; k < a.w.cols; k += 32 * kWarps) {
    for (int q = 0; q < 16; q += 4) {
      if (k + q >= a.w.cols) break;
      float w[4] = {};
      any_quad(a.w, tile, row, k + q, w);
#pragma unroll
      for (int r = 0; r < R; r++) {
        if (r >= n) break;
        const float* x = a.x + static_cast<int64_t>(first + r) * a.w.cols + k + q;
        for (int i = 0; i < 4 && k + q + i < a.w.cols; i++) acc[r] += w[i] * x[i];
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

}  // namespace

const void* linear_kernel(int32_t rows, int* rows_per_block) {
  *rows_per_block = rows == 1 ? 1 : kManyRows;
  return rows == 1 ? reinterpret_cast<const void*>(linear_float<1>) : reinterpret_cast<const void*>(linear_float<kManyRows>);
}

}  // namespace cuda
