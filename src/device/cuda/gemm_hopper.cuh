// gemm_hopper: matrix products with wgmma: weights are the A operand, dequantised in registers, activations B from shared memory.
// One warp copies stages (64 inputs of all rows and strips of the tile) through a ring of barriers; warpgroups of 64 outputs each consume them.
#pragma once
#include "device/cuda/gemm.cuh"
#include "device/cuda/hopper.cuh"

namespace cuda {

template <int Groups> constexpr int kHopperThreads = 128 * (Groups + 1);

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
struct Ring {
  uint32_t stages, full, empty;  // how many; their barriers in shared memory
  uint32_t stage = 0, phase = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == stages) stage = 0, phase ^= 1;
  }
};

// Strip `lane` of the tile, or the rows of one block of 64 inputs: one copy a lane and stage.
template <bool Pair, int Groups> __device__ __forceinline__ void produce(const GemmArgs& a, uint32_t shared, Ring ring, uint32_t block) {
  constexpr int slots = 4 * Groups;
  const int lane = threadIdx.x & 31, total = tiles_of(a);
  const uint32_t row_bytes = static_cast<uint32_t>(a.tile_rows) * 128;
  for (int t = blockIdx.x; t < total; t += gridDim.x) {
    const TileAt tile = tile_at(a, t);
    const uint32_t row_part = a.gathered.data ? 0 : static_cast<uint32_t>(tile.count + 7) / 8 * 1024;
    const uint8_t* from = nullptr;
    uint32_t to = 0;
    int64_t step = 0;
    if (lane < slots) {
      const StripAt strip = strip_at<Pair>(a, tile.out_tile, lane, slots);
      if (strip.exists) from = strip.data(tile.expert);
      step = a.depth * block, to = a.depth * (row_bytes + lane * block);
    } else if (lane < slots + a.depth && !a.gathered.data) {
      from = reinterpret_cast<const uint8_t*>(a.x.data) + tile.first / 8 * 1024ll + (lane - slots) * (a.x.padded_rows * 128ll);
      step = a.depth * (a.x.padded_rows * 128ll), to = (lane - slots) * row_bytes;
    }
    const uint32_t strips = __popc(__ballot_sync(~0u, from != nullptr) & ((1u << slots) - 1));
    for (int k = 0; k < a.blocks; k += a.depth) {
      const uint32_t blocks = min(a.depth, a.blocks - k);
      barrier_wait(ring.empty + 8 * ring.stage, ring.phase ^ 1);
      const uint32_t full = ring.full + 8 * ring.stage;
      if (lane == 0) barrier_expect(full, blocks * (strips * block + row_part));
      __syncwarp();
      if (from && lane < slots + static_cast<int>(blocks)) bulk_copy(shared + ring.stage * a.stage_bytes + to, from, lane < slots ? blocks * block : row_part, full), from += step;
      ring.advance();
    }
  }
}

// The rows of a tile from wherever they lie: kGatherWarps warps take 8 of them in turns, a lane two pieces of 16 bytes of each 64 inputs.
constexpr int kGatherWarps = 3, kGatherTurns = (kGemmRows / 8 + kGatherWarps - 1) / kGatherWarps;
__device__ __forceinline__ void gather_rows(const GemmArgs& a, uint32_t shared, Ring ring, int warp) {
  const int lane = threadIdx.x & 31, total = tiles_of(a);
  const uint32_t row_bytes = static_cast<uint32_t>(a.tile_rows) * 128, to = warp * 1024 + lane / 8 * 128 + lane % 8 * 16;
  for (int t = blockIdx.x; t < total; t += gridDim.x) {
    const TileAt tile = tile_at(a, t);
    const int turns = ((tile.count + 7) / 8 - warp + kGatherWarps - 1) / kGatherWarps;
    uint32_t at[kGatherTurns];  // of its row and piece, in pieces
#pragma unroll
    for (int i = 0; i < kGatherTurns; i++) {
      const int row = 8 * (warp + kGatherWarps * i) + lane % 8;
      at[i] = (row < tile.count ? a.source[tile.first + row] / a.top_k : 0) * (a.gathered.stride / 8) + lane / 8;
    }
    const uint4* from = reinterpret_cast<const uint4*>(a.gathered.data);
    for (int k = 0; k < a.blocks; k += a.depth) {
      const int blocks = min(a.depth, a.blocks - k);
      barrier_wait(ring.empty + 8 * ring.stage, ring.phase ^ 1);
      uint32_t stage = shared + ring.stage * a.stage_bytes + to;
#pragma unroll 1
      for (int b = 0; b < blocks; b++, stage += row_bytes, from += kBlockInputs / 8)
#pragma unroll
        for (int i = 0; i < kGatherTurns; i++) {
          if (i >= turns) break;
          copy16(stage + i * (kGatherWarps * 1024), from + at[i]), copy16(stage + i * (kGatherWarps * 1024) + 512, from + at[i] + 4);
        }
      copies_arrive(ring.full + 8 * ring.stage);
      ring.advance();
    }
  }
}

// Two slabs, for the first N rows of the tile.
template <int N> __device__ __forceinline__ void multiply_slabs(float (&d)[kGemmRows / 8][4], const uint32_t (&a)[2][4], uint64_t rows) {
  auto& part = reinterpret_cast<float(&)[N / 8][4]>(d);
  products_fence();
  multiply_group<N>(part, a[0], rows), multiply_group<N>(part, a[1], rows + 16);
  products_commit();
}
// One set of sums for all sizes of tiles: a branch here costs less than a loop for each of them.
__device__ __forceinline__ void multiply_slabs(int sixteens, float (&d)[kGemmRows / 8][4], const uint32_t (&a)[2][4], uint64_t rows) {
  if (sixteens > 4) {
    if (sixteens > 6) sixteens > 7 ? multiply_slabs<128>(d, a, rows) : multiply_slabs<112>(d, a, rows);
    else sixteens > 5 ? multiply_slabs<96>(d, a, rows) : multiply_slabs<80>(d, a, rows);
  } else {
    if (sixteens > 2) sixteens > 3 ? multiply_slabs<64>(d, a, rows) : multiply_slabs<48>(d, a, rows);
    else sixteens > 1 ? multiply_slabs<32>(d, a, rows) : multiply_slabs<16>(d, a, rows);
  }
}

template <Codes C, Scales S, int G, bool Pair, int Groups>
__device__ __forceinline__ void consume(const GemmArgs& a, const uint8_t* shared, Ring& ring, const TileAt& tile, Fragments<C, S, G, Pair>& fragments) {
  constexpr uint32_t block = kBlockBytes<C, S, G>;
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, sixteens = (tile.count + 15) / 16;
  const uint32_t row_bytes = static_cast<uint32_t>(a.tile_rows) * 128, mine = a.depth * (row_bytes + (Pair ? warp / 2 : warp) * block), up = a.depth * (2 * Groups * block);
  float d[kGemmRows / 8][4];
#pragma unroll
  for (int i = 0; i < kGemmRows / 8; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) d[i][j] = 0;
  uint32_t before = 0;  // barrier of the stage that is not released yet
#pragma unroll 1
  for (int k = 0; k < a.blocks; k += a.depth) {
    barrier_wait(ring.full + 8 * ring.stage, ring.phase);
    if (a.gathered.data) shared_is_written();
    const uint8_t* own = shared + ring.stage * a.stage_bytes + mine;
    uint64_t rows = halves_descriptor(shared_address(shared + ring.stage * a.stage_bytes));
    const int blocks = min(a.depth, a.blocks - k);
#pragma unroll 1
    for (int i = 0; i < blocks; i++, own += block, rows += row_bytes / 16) {
      uint32_t low[2][4], high[2][4];
      fragments.template load<0>(own, own + up);
      products_wait<1>();  // those that read `low`
      fragments.template make<0>(low);
      multiply_slabs(sixteens, d, low, rows);
      fragments.template load<1>(own, own + up);
      products_wait<1>();  // those that read `high`, the last ones of the block before
      if (before && lane == 0) barrier_arrive(before);
      before = 0;
      fragments.template make<1>(high);
      multiply_slabs(sixteens, d, high, rows + 32);
    }
    __syncwarp();
    before = ring.empty + 8 * ring.stage;
    ring.advance();
  }
  products_wait<0>();
  if (lane == 0) barrier_arrive(before);
  const Writer<Pair> writer(a, tile, warp, 4 * Groups);
#pragma unroll
  for (int j = 0; j < kGemmRows / 8; j++) writer.write(j, d[j]);
}
#endif

template <Codes C, Scales S, int G, bool Pair, int Groups>
__global__ void __launch_bounds__(kHopperThreads<Groups>, 1) gemm_hopper(const __grid_constant__ GemmArgs a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(128) uint8_t shared[];
  __shared__ uint64_t full[kGemmStages], empty[kGemmStages];
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  Ring ring{static_cast<uint32_t>(a.stages), shared_address(full), shared_address(empty)};
  if (threadIdx.x == 0) {
    for (int s = 0; s < a.stages; s++) barrier_init(ring.full + 8 * s, a.gathered.data ? 1 + 32 * kGatherWarps : 1), barrier_init(ring.empty + 8 * s, 4 * Groups);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  let_next_start();
  wait_for_input();
  if (warp >= 4 * Groups) {
    keep_registers<32, false>();
    if (warp == 4 * Groups) produce<Pair, Groups>(a, shared_address(shared), ring, kBlockBytes<C, S, G>);
    else if (a.gathered.data) gather_rows(a, shared_address(shared), ring, warp - 4 * Groups - 1);
  } else {
  keep_registers<Groups == 4 ? 112 : 240, true>();
  const int total = tiles_of(a);
  for (int t = blockIdx.x; t < total; t += gridDim.x) {
    const TileAt tile = tile_at(a, t);
    const GemmMatrix& m = *strip_at<Pair>(a, tile.out_tile, Pair ? 0 : warp, 4 * Groups).matrix;
    Fragments<C, S, G, Pair> fragments(lane, warp & 1, m.unit, Pair ? a.matrices[1].unit : m.unit, a.offset);
    consume<C, S, G, Pair, Groups>(a, shared, ring, tile, fragments);
  }
  }
#endif
}

}  // namespace cuda
