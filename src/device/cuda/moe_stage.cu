// moe_stage: see the header. Blocks (x) share out strips, (y) is the row of the step.
#include "device/cuda/choose.cuh"
#include "device/cuda/moe_stage.h"
#include "device/cuda/project.h"
#include "device/cuda/stage.cuh"

namespace cuda {
namespace {

constexpr int kThreads = 32 * kStageWarps;
// So few that a block of 9 experts (576 threads) fits beside one of another stage (512 threads of 64): each begins to pull its weights while the other computes.
constexpr int kDownRegisters = 56;

// f(rank, expert, score as a key) by the lane that holds it, for ranks 0 to last; then the sum of exp(score - best) where it is wanted.
template <class F> __device__ __forceinline__ float choices(const RouteSource& r, const float* scores, int last, bool all, int lane, F&& f) {
  const auto run = [&](auto s) {
    s.read(scores, r.n_experts, lane);
    choose(s, last, lane, f);
    if (!all) return 1.0f;
    uint32_t best = s.keys[0];
    for (const uint32_t key : s.keys) best = max(best, key);
    return s.all(unordered(__reduce_max_sync(~0u, best)));
  };
  return r.n_experts <= 256 ? run(Scores<8>{}) : run(Scores<16>{});
}

int chunks_of(const Strips& m) {
  const int blocks = m.layout.codes != Codes::f16 && m.layout.groups == 4 ? 1 : 2;
  return (m.blocks + blocks - 1) / blocks;
}

// ---- gate and up --------------------------------------------------------------------------------------------------------

// Where things lie behind the strips, in bytes; one row of inputs.
struct UpShared {
  int operands, sums, squares, barriers, chosen, bytes;
  CALLA_BOTH constexpr UpShared(const ExpertsUpArgs& a) {
    int at = static_cast<int>(a.gate.strip_bytes) * 2 * a.most_pairs;
    operands = at, at += a.each > 1 ? kStageWarps * a.each * (256 + 32 + 16) : 0;
    sums = at, at += 2 * a.most_pairs * kStripRows * (kStageWarps + 4) * 4;
    squares = at, at += kStageWarps * 4;
    barriers = at, at += 8 * 2 * a.most_pairs;
    chosen = at, at += 4 * 16;
    bytes = (at + 15) / 16 * 16;
  }
};

template <Codes C, Scales S, int G> __global__ void __launch_bounds__(kThreads, 2) experts_up(const __grid_constant__ ExpertsUpArgs a) {
  extern __shared__ __align__(128) uint8_t shared[];
  using Shape = Chunk<C, G>;
  constexpr int block_size = block_bytes(C, S, G);
  const UpShared place(a);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, row = blockIdx.y, n_strips = a.gate.strips, pairs = a.routes.top_k * n_strips;
  const int first = static_cast<int>(blockIdx.x) * a.most_pairs, count = min(a.most_pairs, pairs - first);
  const int first_rank = first / n_strips, last_rank = (first + count - 1) / n_strips, strip_bytes = static_cast<int>(a.gate.strip_bytes);
  auto* const barriers = reinterpret_cast<uint64_t*>(shared + place.barriers);
  auto* const chosen = reinterpret_cast<int*>(shared + place.chosen);
  auto* const squares = reinterpret_cast<float*>(shared + place.squares);
  arrivals_init(barriers, 2 * count);
  const int first_chunk = warp * a.each, n_chunks = max(0, min(a.each, (a.gate.blocks + Shape::blocks - 1) / Shape::blocks - first_chunk));
  const Maker<C, G, false> maker(a.source, a.gate.cols, a.gate.layout.offset, lane);
  const auto weights_ahead = n_chunks > 0 ? maker.weights(first_chunk) : ones<Shape::pairs>();
  const float* const scores = a.routes.scores + static_cast<int64_t>(row) * a.routes.n_experts;
  const int t = threadIdx.x, pair = first + t / kStripRows, rank = pair / n_strips, out = (pair - rank * n_strips) * kStripRows + t % kStripRows;
  float* const hidden = t < count * kStripRows && out < a.gate.rows ? a.hidden + (static_cast<int64_t>(row) * a.routes.top_k + rank) * a.gate.rows + out : nullptr;
  __syncthreads();
  wait_for_input();
  let_next_start();  // not before: the next stage reads the scores without waiting for this one
  typename Maker<C, G, false>::Raw raw{};
  if (n_chunks > 0) raw = maker.read(row, first_chunk);
  const auto pull_pair = [&](int i, int expert) {  // of this block
    const int64_t at = static_cast<int64_t>(first + i - (first + i) / n_strips * n_strips) * strip_bytes;
    for (int j = 0; j < 2; j++) {
      const Strips& w = j ? a.up : a.gate;
      if constexpr (kCopyEngine) expect_bytes(barriers + 2 * i + j, static_cast<uint32_t>(strip_bytes));
      pull(shared + (2 * i + j) * strip_bytes, w.data + expert * w.expert_bytes + at, static_cast<uint32_t>(strip_bytes), barriers + 2 * i + j);
    }
  };
  if (warp == 0)
    choices(a.routes, scores, last_rank, false, lane, [&](int rank, int expert, uint32_t) {
      if (rank < first_rank) return;
      if constexpr (kCopyEngine) {
#pragma unroll 1
        for (int i = max(0, rank * n_strips - first); i < min(count, (rank + 1) * n_strips - first); i++) pull_pair(i, expert);
      } else {
        chosen[rank] = expert;
      }
    });
  if constexpr (!kCopyEngine) {
    __syncthreads();
    for (int i = 0; i < count; i++) pull_pair(i, chosen[(first + i) / n_strips]);
  }
  float own_squares = 0;
  Operand x{};
  if (n_chunks > 0) x = maker.make(row, first_chunk, raw, weights_ahead, own_squares);
  uint8_t* const operands = shared + place.operands + warp * a.each * OperandPlace::bytes;
#pragma unroll 1
  for (int c = 1; c < n_chunks; c++) OperandPlace::put(operands + c * OperandPlace::bytes, maker.make(row, first_chunk + c, maker.read(row, first_chunk + c), maker.weights(first_chunk + c), own_squares), lane);
  own_squares = Shape::sum(own_squares);
  if (lane == 0) squares[warp] = own_squares;
  __syncwarp();
  float* const sums = reinterpret_cast<float*>(shared + place.sums);
#pragma unroll 1
  for (int i = 0; i < 2 * count; i++) {
    await_arrival(barriers + i, 0);
    float p[2] = {};
    const auto add = [&](int c, const Operand& x) {
      const int block = (first_chunk + c) * Shape::blocks;
      add_product<C, S, G>(shared + i * strip_bytes + block * block_size, block + 1 < a.gate.blocks ? block_size : 0, x, lane, p);
    };
    if (n_chunks > 0) add(0, x);
#pragma unroll 1
    for (int c = 1; c < n_chunks; c++) add(c, OperandPlace::get(operands + c * OperandPlace::bytes, lane));
    const float v = row_sum(p, lane);
    if ((lane & 3) < 2) sums[(i * kStripRows + (lane >> 2) + 8 * (lane & 1)) * kSumStride + warp] = v;
  }
  __syncthreads();
  if (!hidden) return;
  const float* from = sums + (t / kStripRows * 2 * kStripRows + t % kStripRows) * kSumStride;
  const float r = row_factor(a.source, a.gate.cols, squares, 0), g = sum_of_warps(from), u = sum_of_warps(from + kStripRows * kSumStride);
  *hidden = activated(a.activation, g * (a.gate.factor * r)) * (u * (a.up.factor * r));
}

// ---- down ---------------------------------------------------------------------------------------------------------------

struct DownShared {
  int sums, barrier, chosen, weights, bytes;
  CALLA_BOTH constexpr DownShared(const ExpertsDownArgs& a, int experts) {
    int at = static_cast<int>(a.down.strip_bytes) * experts;
    sums = at, at += 2 * experts * kStripRows * 4;
    barrier = at, at += 8;
    chosen = at, at += 4 * 16;
    weights = at, at += 4 * 16;
    bytes = (at + 15) / 16 * 16;
  }
};

// A block is one strip of the outputs; two warps an expert, each half of its inputs.
template <Codes C, Scales S, int G> __global__ void __maxnreg__(kDownRegisters) experts_down(const __grid_constant__ ExpertsDownArgs a) {
  extern __shared__ __align__(128) uint8_t shared[];
  using Shape = Chunk<C, G>;
  constexpr int block_size = block_bytes(C, S, G);
  const int top_k = a.routes.top_k, experts = top_k + (a.shared.data ? 1 : 0), strip_bytes = static_cast<int>(a.down.strip_bytes);
  const DownShared place(a, experts);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, row = blockIdx.y, expert = warp / 2, first_chunk = warp % 2 * a.each;
  auto* const barrier = reinterpret_cast<uint64_t*>(shared + place.barrier);
  auto* const chosen = reinterpret_cast<int*>(shared + place.chosen);
  auto* const weights = reinterpret_cast<float*>(shared + place.weights);
  let_next_start();
  arrivals_init(barrier, 1);
  const auto pull_strip = [&](int i, int expert) {
    const Strips& w = i < top_k ? a.down : a.shared;
    pull(shared + i * strip_bytes, w.data + (i < top_k ? expert * w.expert_bytes : 0) + static_cast<int64_t>(blockIdx.x) * strip_bytes, static_cast<uint32_t>(strip_bytes), barrier);
  };
  if (warp == 0) {  // the scores are those of two stages before: they are there
    if constexpr (kCopyEngine) {
      if (lane == 0) {
        expect_bytes(barrier, static_cast<uint32_t>(experts * strip_bytes));
        if (a.shared.data) pull_strip(top_k, 0);
      }
      __syncwarp();
    }
    const float all = choices(a.routes, a.routes.scores + static_cast<int64_t>(row) * a.routes.n_experts, top_k - 1, !a.routes.renormalise, lane, [&](int rank, int expert, uint32_t key) {
      if constexpr (kCopyEngine) pull_strip(rank, expert);
      chosen[rank] = expert, weights[rank] = unordered(key);
    });
    __syncwarp();
    float mine = lane < top_k ? __expf(weights[lane] - weights[0]) : 0;
    mine = __fdividef(mine, a.routes.renormalise ? warp_sum(mine) : all) * a.down.factor;
    if (lane == top_k) mine = (a.shared.data && a.shared_gate ? quick_sigmoid(a.shared_gate[row]) : 1.0f) * a.shared.factor;
    __syncwarp();
    if (lane < experts) weights[lane] = mine;
  }
  __syncthreads();
  if constexpr (!kCopyEngine)
    for (int i = 0; i < experts; i++) pull_strip(i, chosen[min(i, top_k - 1)]);
  Source source;
  source.x = expert < top_k ? a.hidden + expert * a.down.cols : a.shared_hidden;
  source.x_stride = expert < top_k ? static_cast<int64_t>(top_k) * a.down.cols : a.shared.cols;
  const int n_chunks = max(0, min(a.each, (a.down.blocks + Shape::blocks - 1) / Shape::blocks - first_chunk));
  const Maker<C, G, false> maker(source, a.down.cols, a.down.layout.offset, lane);
  const float weight = weights[expert];
  const int out = static_cast<int>(blockIdx.x) * kStripRows + static_cast<int>(threadIdx.x);
  const bool writes = threadIdx.x < kStripRows && out < a.down.rows;
  wait_for_input();
  const float added = writes && a.add ? a.add[static_cast<int64_t>(row) * a.down.rows + out] : 0.0f;
  float squares = 0, p[2] = {};
  typename Maker<C, G, false>::Raw raw{};
  if (n_chunks > 0) raw = maker.read(row, first_chunk);
#pragma unroll 1
  for (int c = 0; c < n_chunks; c++) {
    const auto now = raw;
    if (c + 1 < n_chunks) raw = maker.read(row, first_chunk + c + 1);
    const Operand x = maker.make(row, first_chunk + c, now, ones<Shape::pairs>(), squares);
    if (c == 0) await_arrival(barrier, 0);
    const int block = (first_chunk + c) * Shape::blocks;
    add_product<C, S, G>(shared + expert * strip_bytes + block * block_size, block + 1 < a.down.blocks ? block_size : 0, x, lane, p);
  }
  if constexpr (!kCopyEngine)
    if (n_chunks == 0) await_arrival(barrier, 0);
  float* const sums = reinterpret_cast<float*>(shared + place.sums);
  const float v = row_sum(p, lane);
  if ((lane & 3) < 2) sums[warp * kStripRows + (lane >> 2) + 8 * (lane & 1)] = v * weight;
  __syncthreads();
  if (!writes) return;
  float sum = 0;
#pragma unroll 6
  for (int w = 0; w < 2 * experts; w++) sum += sums[w * kStripRows + threadIdx.x];
  a.y[static_cast<int64_t>(row) * a.down.rows + out] = added + sum;
}

}  // namespace

StageShape shape_experts_up(ExpertsUpArgs& a, int multiprocessors, size_t most_shared) {
  const int pairs = a.routes.top_k * a.gate.strips;
  a.each = max(1, (chunks_of(a.gate) + kStageWarps - 1) / kStageWarps);
  for (int blocks = min(pairs, multiprocessors);; blocks *= 2) {
    a.most_pairs = (pairs + blocks - 1) / blocks;
    const UpShared place(a);
    if (static_cast<size_t>(place.bytes) <= most_shared && a.most_pairs <= 32) return {dim3(static_cast<unsigned>((pairs + a.most_pairs - 1) / a.most_pairs), static_cast<unsigned>(a.rows)), kThreads, static_cast<size_t>(place.bytes)};
    if (a.most_pairs == 1) return {dim3(1), 0, 0};
  }
}

StageShape shape_experts_down(ExpertsDownArgs& a, size_t most_shared) {
  const int experts = a.routes.top_k + (a.shared.data ? 1 : 0);
  a.each = (chunks_of(a.down) + 1) / 2;
  const DownShared place(a, experts);
  if (static_cast<size_t>(place.bytes) > most_shared || experts > 16) return {dim3(1), 0, 0};
  return {dim3(static_cast<unsigned>(a.down.strips), static_cast<unsigned>(a.rows)), 64 * experts, static_cast<size_t>(place.bytes)};
}

const void* experts_up_stage(const StripLayout& layout) {
  return for_kind<const void*>(layout, [](auto kind) { return reinterpret_cast<const void*>(experts_up<kind.codes, kind.scales, kind.groups>); });
}
const void* experts_down_stage(const StripLayout& layout) {
  return for_kind<const void*>(layout, [](auto kind) { return reinterpret_cast<const void*>(experts_down<kind.codes, kind.scales, kind.groups>); });
}

}  // namespace cuda
