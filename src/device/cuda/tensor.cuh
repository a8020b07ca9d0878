// tensor: 16 outputs x 64 rows a warp on tensor cores: weights go from packed tiles straight into fragments, activations through shared memory.
// A product does not care in which order its inputs are added up: lane c of a fragment's four takes word c of a chunk, that is inputs 8c to 8c + 7,
// the first four in one instruction, the others in the next; activations are laid out the same way.
#pragma once
#include "device/cuda/tile.cuh"

namespace cuda {

constexpr int kTensorRows = 64, kTensorInputs = 64;  // rows of a block; inputs that are in shared memory at a time

// bf16, [rows][inputs], with 16 bytes of padding so that neighbouring rows lie in other banks.
struct Activations { __nv_bfloat16 v[kTensorRows][kTensorInputs + 8]; };

struct TensorSums {
  float v[kTensorRows / 8][4] = {};
  // f(output, row, sum) for what this lane holds.
  template <class F> __device__ __forceinline__ void each(F&& f) const {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int n = 0; n < kTensorRows / 8; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) f(lane / 4 + 8 * (i / 2), 8 * n + 2 * (lane & 3) + (i & 1), v[n][i]);
  }
};

__device__ __forceinline__ uint32_t pair_of(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}
__device__ __forceinline__ void multiply(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// All inputs of one tile times the rows that source(r) points to (null: zeros). All warps of the block take part.
template <PackCodes C, PackScales S, class Source>
__device__ __forceinline__ void product(const PackLayout& layout, const uint8_t* tile, int cols, Activations& x, TensorSums& sums, Source&& source) {
  const int lane = threadIdx.x & 31, row = lane / 4, c = lane & 3;
  for (int k = 0; k < cols; k += kTensorInputs) {
    __syncthreads();
    for (int i = threadIdx.x; i < kTensorRows * kTensorInputs / 4; i += blockDim.x) {
      const int r = i / (kTensorInputs / 4), at = i % (kTensorInputs / 4) * 4;
      const float* from = source(r);
      const float4 v = from && k + at < cols ? *reinterpret_cast<const float4*>(from + k + at) : float4{0, 0, 0, 0};
      *reinterpret_cast<uint2*>(&x.v[r][at]) = uint2{pair_of(v.x, v.y), pair_of(v.z, v.w)};
    }
    __syncthreads();
#pragma unroll
    for (int chunk = 0; chunk < kTensorInputs; chunk += 32) {
      if (k + chunk >= cols) break;
      uint32_t a[2][4];
#pragma unroll
      for (int step = 0; step < 2; step++) {
        float low[4], high[4];  // of output `row` and of row + 8
        quad_weights<C, S>(layout, tile, cols, row, k + chunk + 8 * c + 4 * step, low);
        quad_weights<C, S>(layout, tile, cols, row + 8, k + chunk + 8 * c + 4 * step, high);
        a[step][0] = pair_of(low[0], low[1]), a[step][1] = pair_of(high[0], high[1]), a[step][2] = pair_of(low[2], low[3]), a[step][3] = pair_of(high[2], high[3]);
      }
#pragma unroll
      for (int n = 0; n < kTensorRows / 8; n++) {
        const uint4 b = *reinterpret_cast<const uint4*>(&x.v[8 * n + row][chunk + 8 * c]);
        multiply(sums.v[n], a[0], b.x, b.y);
        multiply(sums.v[n], a[1], b.z, b.w);
      }
    }
  }
}

}  // namespace cuda
