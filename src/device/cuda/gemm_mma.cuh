// gemm_mma: matrix products with mma.sync, for GPUs without wgmma: eight warps, each two strips x 64 rows, stages filled by cp.async.
#pragma once
#include "device/cuda/gemm.cuh"
#include "device/cuda/hopper.cuh"

namespace cuda {

__device__ __forceinline__ void load_matrices(uint32_t (&b)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "r"(address) : "memory");
}
__device__ __forceinline__ void multiply_halves(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// All threads copy stage k: the rows of 64 inputs, then one block of every strip there is.
template <bool Pair> __device__ __forceinline__ void copy_stage(const GemmArgs& a, const TileAt& tile, int k, uint32_t to, int block) {
  const int rows = (tile.count + 7) / 8 * 64;  // pieces of 16 bytes
  if (a.gathered.data) {
    for (int i = threadIdx.x; i < rows; i += kMmaThreads) {
      const int row = i / 64 * 8 + i % 8, from = row < tile.count ? a.source[tile.first + row] / a.top_k : 0;
      copy16(to + 16 * i, a.gathered.data + static_cast<int64_t>(from) * a.gathered.stride + k * kBlockInputs + i / 8 % 8 * 8);
    }
  } else {
    const uint8_t* x = reinterpret_cast<const uint8_t*>(a.x.data) + (static_cast<int64_t>(k) * (a.x.padded_rows / 8) + tile.first / 8) * 1024;
    for (int i = threadIdx.x; i < rows; i += kMmaThreads) copy16(to + 16 * i, x + 16 * i);
  }
  const StripAt strip = strip_at<Pair>(a, tile.out_tile, threadIdx.x / 32, kMmaStrips);
  if (!strip.exists) return;
  const uint8_t* from = strip.data(tile.expert) + static_cast<int64_t>(k) * block;
  for (int i = 16 * (threadIdx.x & 31); i < block; i += 512) copy16(to + a.tile_rows * 128 + threadIdx.x / 32 * block + i, from + i);
}

template <Codes C, Scales S, int G, bool Pair> __global__ void __launch_bounds__(kMmaThreads) gemm_mma(const __grid_constant__ GemmArgs a) {
#if !defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int block = kBlockBytes<C, S, G>, wide = 2;  // strips of a warp
  extern __shared__ __align__(128) uint8_t shared[];
  let_next_start();
  wait_for_input();
  if (static_cast<int>(blockIdx.x) >= tiles_of(a)) return;
  const TileAt tile = tile_at(a, blockIdx.x);
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, first_strip = warp % 4 * wide, first_row = warp / 4 * 64;
  const uint32_t at = shared_address(shared);
  const float unit = Pair ? a.matrices[0].unit : strip_at<false>(a, tile.out_tile, first_strip, kMmaStrips).matrix->unit;
  const float unit8 = Pair ? a.matrices[1].unit : strip_at<false>(a, tile.out_tile, first_strip + 1, kMmaStrips).matrix->unit;  // of a pair: of up, else of the second strip
  Fragments<C, S, G, Pair> strips[wide] = {{lane, first_strip & 1, unit, Pair ? unit8 : unit, a.offset}, {lane, (first_strip + 1) & 1, Pair ? unit : unit8, unit8, a.offset}};
  float d[wide][8][4] = {};
  for (int k = 0; k < a.stages - 1; k++) {
    if (k < a.blocks) copy_stage<Pair>(a, tile, k, at + k * a.stage_bytes, block);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  int stage = 0, next = a.stages - 1;
  for (int k = 0; k < a.blocks; k++) {
    if (a.stages == 2) asm volatile("cp.async.wait_group 0;" ::: "memory");
    else if (a.stages == 3) asm volatile("cp.async.wait_group 1;" ::: "memory");
    else asm volatile("cp.async.wait_group 2;" ::: "memory");
    __syncthreads();
    if (k + a.stages - 1 < a.blocks) copy_stage<Pair>(a, tile, k + a.stages - 1, at + next * a.stage_bytes, block);
    asm volatile("cp.async.commit_group;" ::: "memory");
    const uint8_t* own = shared + stage * a.stage_bytes + a.tile_rows * 128;
    const uint32_t rows = at + stage * a.stage_bytes + first_row * 128;
    const auto slabs = [&]<int P>() {
      uint32_t w[wide][2][4];
#pragma unroll
      for (int i = 0; i < wide; i++) {
        const uint8_t* from = own + (Pair ? (first_strip + i) / 2 : first_strip + i) * block;
        strips[i].template load<P>(from, from + kMmaStrips / 2 * block);
        strips[i].template make<P>(w[i]);
      }
#pragma unroll
      for (int j = 0; j < 8; j++) {
        if (first_row + 8 * j >= tile.count) break;
        uint32_t b[4];  // pieces 4 P to 4 P + 3 of 8 rows
        load_matrices(b, rows + j * 1024 + P * 512 + lane * 16);
#pragma unroll
        for (int i = 0; i < wide; i++) multiply_halves(d[i][j], w[i][0], b[0], b[1]), multiply_halves(d[i][j], w[i][1], b[2], b[3]);
      }
    };
    slabs.template operator()<0>();
    slabs.template operator()<1>();
    stage = stage + 1 == a.stages ? 0 : stage + 1, next = next + 1 == a.stages ? 0 : next + 1;
  }
#pragma unroll
  for (int i = 0; i < wide; i++) {
    const Writer<Pair> writer(a, tile, first_strip + i, kMmaStrips);
#pragma unroll
    for (int j = 0; j < 8; j++) writer.write(first_row / 8 + j, d[i][j]);
  }
#endif
}

}  // namespace cuda
