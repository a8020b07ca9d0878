// group: entries (a row and one of its choices) sorted by expert without a word from the host, and rows of activations in that order.
// A stable counting sort in two kernels: chunks of entries count their experts; then every chunk finds from all counts where its entries go.
#include "device/cuda/common.cuh"
#include "device/cuda/gemm.h"

namespace cuda {
namespace {

constexpr int kWarps = kSortThreads / 32, kPerWarp = kSortChunk / kWarps, kRounds = kPerWarp / 32, kOfThread = kSortExperts / kSortThreads;

__global__ void __launch_bounds__(kSortThreads) sort_count(const SortArgs a) {
  __shared__ int counts[kSortExperts];
  let_next_start();
  for (int e = threadIdx.x; e < a.n_experts; e += kSortThreads) counts[e] = 0;
  __syncthreads();
  wait_for_input();
  const int first = blockIdx.x * kSortChunk, end = min(first + kSortChunk, a.entries);
  for (int i = first + threadIdx.x; i < end; i += kSortThreads) atomicAdd(&counts[a.experts[i]], 1);
  __syncthreads();
  for (int e = threadIdx.x; e < a.n_experts; e += kSortThreads) a.counts[blockIdx.x * a.n_experts + e] = counts[e];
}

// Of one expert: entries of the chunks before, and of all chunks.
struct Counted { int before, total; };
__device__ Counted counted(const SortArgs& a, int expert) {
  Counted c{0, 0};
  if (expert >= a.n_experts) return c;
#pragma unroll 8
  for (int i = 0; i < a.chunks; i++) {
    const int n = a.counts[i * a.n_experts + expert];
    c.before += i < static_cast<int>(blockIdx.x) ? n : 0, c.total += n;
  }
  return c;
}

// Exclusive sums over the block of two numbers a thread.
__device__ int2 sums_before(int2 v, int2* shared) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  int2 sum = v;
#pragma unroll
  for (int o = 1; o < 32; o *= 2) {
    const int x = __shfl_up_sync(~0u, sum.x, o), y = __shfl_up_sync(~0u, sum.y, o);
    if (lane >= o) sum.x += x, sum.y += y;
  }
  if (lane == 31) shared[warp] = sum;
  __syncthreads();
  sum.x -= v.x, sum.y -= v.y;
  for (int w = 0; w < warp; w++) sum.x += shared[w].x, sum.y += shared[w].y;
  return sum;
}

// Tiles of one expert's run, as even as multiples of 16 rows are.
struct Split {
  int tiles, rows;
  __device__ Split(int total, int tile_rows) : tiles((total + tile_rows - 1) / tile_rows), rows(tiles ? ((total + tiles - 1) / tiles + 15) / 16 * 16 : 0) {
    if (rows) tiles = (total + rows - 1) / rows;
  }
};

__global__ void __launch_bounds__(kSortThreads) sort_place(const SortArgs a) {
  __shared__ int base[kSortExperts];
  __shared__ uint16_t within[kWarps][kSortExperts];  // entries of an expert in the chunk, of the warps before
  __shared__ int2 sums[kWarps], all;  // sorted rows and tiles
  let_next_start();
  for (int i = threadIdx.x; i < kWarps * kSortExperts; i += kSortThreads) within[0][i] = 0;
  wait_for_input();
  Counted mine[kOfThread];
  int2 own{0, 0};
#pragma unroll
  for (int i = 0; i < kOfThread; i++) {
    mine[i] = counted(a, threadIdx.x * kOfThread + i);
    own.x += (mine[i].total + 7) / 8 * 8, own.y += Split(mine[i].total, a.tile_rows).tiles;
  }
  int2 before = sums_before(own, sums);
  if (threadIdx.x == kSortThreads - 1) all = {before.x + own.x, before.y + own.y};
#pragma unroll
  for (int i = 0; i < kOfThread; i++) {
    const int e = threadIdx.x * kOfThread + i, total = mine[i].total, padded = (total + 7) / 8 * 8;
    base[e] = before.x + mine[i].before;
    const Split split(total, a.tile_rows);
    if (blockIdx.x == 0) {
      for (int t = 0; t < split.tiles; t++) a.to.tiles[before.y + t] = {e, before.x + t * split.rows, min(split.rows, total - t * split.rows), 0};
      for (int r = total; r < padded; r++) a.to.source[before.x + r] = -1;
    }
    before.x += padded, before.y += split.tiles;
  }
  __syncthreads();
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) *a.to.n_tiles = all.y;
    for (int i = all.x + threadIdx.x; i < a.sorted_rows; i += kSortThreads) a.to.source[i] = -1;
  }
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32, first = blockIdx.x * kSortChunk + warp * kPerWarp + lane;
  int expert[kRounds], rank[kRounds];
#pragma unroll
  for (int i = 0; i < kRounds; i++) {
    const int at = first + 32 * i;
    expert[i] = at < a.entries ? a.experts[at] : -1;
    const unsigned same = __match_any_sync(~0u, expert[i]), lower = same & ((1u << lane) - 1);
    rank[i] = __popc(lower) + (expert[i] >= 0 ? within[warp][expert[i]] : 0);
    __syncwarp();
    if (!lower && expert[i] >= 0) within[warp][expert[i]] += static_cast<uint16_t>(__popc(same));
    __syncwarp();
  }
  __syncthreads();
  for (int e = threadIdx.x; e < a.n_experts; e += kSortThreads)
    for (int w = 0, sum = 0; w < kWarps; w++) {
      const int n = within[w][e];
      within[w][e] = static_cast<uint16_t>(sum), sum += n;
    }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kRounds; i++) {
    if (expert[i] < 0) continue;
    const int to = base[expert[i]] + within[warp][expert[i]] + rank[i];
    a.to.position[first + 32 * i] = to, a.to.source[to] = first + 32 * i;
  }
}

// A block is 8 sorted rows, a thread 8 inputs of one of them; padding becomes zeros.
__global__ void __launch_bounds__(kGatherThreads) gather(const GatherArgs a) {
  let_next_start();
  wait_for_input();
  const int row = threadIdx.x % 8, pieces = (a.x.cols + 63) / 64 * 8;
  if (a.source[blockIdx.x * 8] < 0) return;  // behind the last run
  const int entry = a.source[blockIdx.x * 8 + row], from = entry < 0 ? 0 : entry / a.top_k;
  for (int p = threadIdx.x / 8; p < pieces; p += kGatherThreads / 8) {
    const uint4 v = entry < 0 ? uint4{0, 0, 0, 0} : *reinterpret_cast<const uint4*>(a.x.data + half_at(a.x.padded_rows, from, 8 * p));
    *reinterpret_cast<uint4*>(a.to.data + half_at(a.to.padded_rows, blockIdx.x * 8 + row, 8 * p)) = v;
  }
}

}  // namespace

const void* sort_count_kernel() { return reinterpret_cast<const void*>(sort_count); }
const void* sort_place_kernel() { return reinterpret_cast<const void*>(sort_place); }
const void* gather_kernel() { return reinterpret_cast<const void*>(gather); }

}  // namespace cuda
