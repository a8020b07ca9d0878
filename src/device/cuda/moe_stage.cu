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

int chunks_of(const Strips& m) {
  const int blocks = m.layout.codes != Codes::f16 && m.layout.groups == 4 ? 1 : 2;
  return (m.blocks + blocks - 1) / blocks;
}
template <Codes C, int G> __device__ __forceinline__ int chunks_of(int blocks) { return (blocks + Chunk<C, G>::blocks - 1) / Chunk<C, G>::blocks; }
bool whole_chunks(const Strips& m) { return m.cols % (m.layout.codes != Codes::f16 && m.layout.groups == 4 ? 64 : 128) == 0; }

// ---- gate and up --------------------------------------------------------------------------------------------------------

// Where things lie behind the strips, in bytes; one row of inputs.
struct UpShared {
  int operands, sums, squares, barriers, from, choices, bytes;
  CALLA_BOTH constexpr UpShared(const ExpertsUpArgs& a) {
    int at = static_cast<int>(a.gate.strip_bytes) * 2 * a.most_pairs;
    operands = at, at += a.regular ? 0 : kStageWarps * a.each * (256 + 32 + 16);
    sums = at, at += 2 * a.most_pairs * kStripRows * (kStageWarps + 4) * 4;
    squares = at, at += kStageWarps * 4;
    barriers = at, at += 8 * 2 * a.most_pairs;
    from = at, at += 8 * 2 * a.most_pairs;  // where each strip comes from, for those who copy without an engine
    choices = at, at += sizeof(Choices);
    bytes = (at + 15) / 16 * 16;
  }
};

// Each: chunks of a warp where all rows are whole chunks; 0: of any number and width.
template <Codes C, Scales S, int G, int Each> __global__ void __launch_bounds__(kThreads, 2) experts_up(const __grid_constant__ ExpertsUpArgs a) {
  extern __shared__ __align__(128) uint8_t shared[];
  using Shape = Chunk<C, G>;
  using Make = Maker<C, G, false, (Each > 0)>;
  constexpr int block_size = block_bytes(C, S, G), chunk_size = Shape::blocks * block_size, kHeld = Each > 0 ? Each : 1;
  const UpShared place(a);
  const int t = threadIdx.x, lane = t & 31, warp = t >> 5, row = blockIdx.y, bx = blockIdx.x, n_strips = a.gate.strips, top_k = a.routes.top_k;
  const int first = bx * a.share + min(bx, a.extra), count = a.share + (bx < a.extra ? 1 : 0), shared_pairs = a.shared_gate.data ? n_strips : 0;  // these come first
  const auto strip_bytes = static_cast<uint32_t>(a.gate.strip_bytes);
  auto* const barriers = reinterpret_cast<uint64_t*>(shared + place.barriers);
  auto* const squares = reinterpret_cast<float*>(shared + place.squares);
  auto& choices = *reinterpret_cast<Choices*>(shared + place.choices);
  arrivals_init(barriers, 2 * count);
  const int chunks = chunks_of<C, G>(a.gate.blocks), first_chunk = warp * (Each > 0 ? Each : a.each), n_chunks = max(0, min(Each > 0 ? Each : a.each, chunks - first_chunk));
  const auto chunk = [&](int c) { return Each > 0 ? min(first_chunk + c, chunks - 1) : first_chunk + c; };
  const Make maker(a.source, a.gate.cols, a.gate.layout.offset, lane);
  Pairs<Shape::pairs> gains[kHeld];
#pragma unroll
  for (int c = 0; c < kHeld; c++)
    if (Each > 0) gains[c] = maker.weights(chunk(c));
  const float* const scores = a.routes.scores + static_cast<int64_t>(row) * a.routes.n_scores;
  // Which expert a pair of strips is of: a rank, top_k for the shared one.
  const auto rank_of = [&](int pair) { return pair < shared_pairs ? top_k : (pair - shared_pairs) / n_strips; };
  // Strip i of this block, thread i: of gate and up in turns.
  const int own_pair = first + t / 2, own_rank = rank_of(own_pair);
  const Strips& own = own_rank == top_k ? (t & 1 ? a.shared_up : a.shared_gate) : (t & 1 ? a.up : a.gate);
  const uint8_t* const own_strip = own.data + static_cast<int64_t>(own_pair % n_strips) * strip_bytes;
  const int64_t expert_bytes = own.expert_bytes;
  const auto pull_own = [&](int expert) {
    expect_bytes(barriers + t, strip_bytes);
    pull(shared + t * strip_bytes, own_strip + expert * expert_bytes, strip_bytes, barriers + t);
  };
  if constexpr (kCopyEngine) {
    if (t < 2 * count && own_rank == top_k) pull_own(0);
  }
  const int pair = first + t / kStripRows, rank = rank_of(pair), out = pair % n_strips * kStripRows + t % kStripRows;
  float* const hidden = t < count * kStripRows && out < a.gate.rows ? a.hidden + (static_cast<int64_t>(row) * (top_k + (shared_pairs ? 1 : 0)) + rank) * a.gate.rows + out : nullptr;
  const LanePlace<C, S, G> lane_place(lane);
  if (warp == 0) wait_for_input();
  __syncthreads();
  let_next_start();  // not before: the next stage reads the scores without waiting for this one
  typename Make::Raw raw[kHeld];
  if constexpr (Each > 0) {
#pragma unroll
    for (int c = 0; c < Each; c++) raw[c] = maker.read(row, chunk(c));
  }
  choose(a.routes, scores, choices);
  if constexpr (kCopyEngine) {
    if (t < 2 * count && own_rank < top_k) pull_own(choices.chosen[own_rank]);
  } else {
    auto* const from = reinterpret_cast<const uint8_t**>(shared + place.from);
    if (t < 2 * count) from[t] = own_strip + (own_rank < top_k ? choices.chosen[own_rank] * expert_bytes : 0);
    __syncthreads();
    for (int i = 0; i < 2 * count; i++) pull(shared + i * strip_bytes, from[i], strip_bytes, barriers);
  }
  float own_squares = 0;
  Operand x[kHeld];
  uint8_t* const operands = shared + place.operands + warp * a.each * OperandPlace::bytes;
  if constexpr (Each > 0) {
#pragma unroll
    for (int c = 0; c < Each; c++) {
      float sum = own_squares;
      x[c] = maker.make(row, chunk(c), raw[c], gains[c], sum);
      own_squares = c < n_chunks ? sum : own_squares;
    }
  } else {
#pragma unroll 1
    for (int c = 0; c < n_chunks; c++) OperandPlace::put(operands + c * OperandPlace::bytes, maker.make(row, chunk(c), maker.read(row, chunk(c)), maker.weights(chunk(c)), own_squares), lane);
    __syncwarp();
  }
  own_squares = Shape::sum(own_squares);
  if (lane == 0) squares[warp] = own_squares;
  float* to = reinterpret_cast<float*>(shared + place.sums) + ((lane >> 2) + 8 * (lane & 1)) * kSumStride + warp;
  const uint8_t* strip = shared + first_chunk * chunk_size;
  uint32_t barrier = shared_address(barriers);
#pragma unroll 1
  for (int i = 0; i < 2 * count; i++, strip += strip_bytes, to += kStripRows * kSumStride, barrier += 8) {
    await_arrival(barrier, 0);
    float p[2] = {};
    if constexpr (Each > 0) {
#pragma unroll
      for (int c = 0; c < Each; c++)
        if (c < n_chunks) add_product<C, S, G>(strip + c * chunk_size, lane_place, x[c], lane, p);
    } else {
#pragma unroll 1
      for (int c = 0; c < n_chunks; c++)
        add_product<C, S, G>(strip + c * chunk_size, lane_place, OperandPlace::get(operands + c * OperandPlace::bytes, lane), lane, p, (first_chunk + c) * Shape::blocks + 1 < a.gate.blocks);
    }
    const float v = row_sum(p, lane);
    if ((lane & 2) == 0) *to = v;
  }
  __syncthreads();
  if (!hidden) return;
  const float* from = reinterpret_cast<float*>(shared + place.sums) + (t / kStripRows * 2 * kStripRows + t % kStripRows) * kSumStride;
  const float r = row_factor(a.source, a.gate.cols, squares, 0), g = sum_of_warps(from), u = sum_of_warps(from + kStripRows * kSumStride);
  const bool routed = rank < top_k;
  *hidden = activated(a.activation, g * ((routed ? a.gate : a.shared_gate).factor * r)) * (u * ((routed ? a.up : a.shared_up).factor * r));
}

// ---- down ---------------------------------------------------------------------------------------------------------------

constexpr int kDownStride = 36;  // of the warps' sums of one output: up to 32, and in other banks than the next output's

struct DownShared {
  int sums, barrier, weights, choices, bytes;
  CALLA_BOTH constexpr DownShared(const ExpertsDownArgs& a, int experts) {
    int at = static_cast<int>(a.down.strip_bytes) * experts;
    sums = at, at += kStripRows * kDownStride * 4;
    barrier = at, at += 16;
    weights = at, at += 4 * 16;
    choices = at, at += sizeof(Choices);
    bytes = (at + 15) / 16 * 16;
  }
};

// A block is one strip of the outputs; two warps an expert, each half of its inputs. Each: as above.
template <Codes C, Scales S, int G, int Each> __global__ void __maxnreg__(kDownRegisters) experts_down(const __grid_constant__ ExpertsDownArgs a) {
  extern __shared__ __align__(128) uint8_t shared[];
  using Shape = Chunk<C, G>;
  using Make = Maker<C, G, false, (Each > 0)>;
  constexpr int block_size = block_bytes(C, S, G), chunk_size = Shape::blocks * block_size, kHeld = Each > 0 ? Each : 1;
  const int top_k = a.routes.top_k, experts = top_k + (a.shared.data ? 1 : 0), strip_bytes = static_cast<int>(a.down.strip_bytes);
  const DownShared place(a, experts);
  const int t = threadIdx.x, lane = t & 31, warp = t >> 5, row = blockIdx.y, expert = warp / 2, first_chunk = warp % 2 * (Each > 0 ? Each : a.each);
  auto* const barrier = reinterpret_cast<uint64_t*>(shared + place.barrier);
  auto* const weights = reinterpret_cast<float*>(shared + place.weights);
  auto& choices = *reinterpret_cast<Choices*>(shared + place.choices);
  auto* const sums = reinterpret_cast<float*>(shared + place.sums);
  let_next_start();
  arrivals_init(barrier, 1);
  for (int i = t; i < kStripRows * kDownStride; i += blockDim.x) sums[i] = 0;
  const auto pull_strip = [&](int i, int expert) {
    const Strips& w = i < top_k ? a.down : a.shared;
    pull(shared + i * strip_bytes, w.data + (i < top_k ? expert * w.expert_bytes : 0) + static_cast<int64_t>(blockIdx.x) * strip_bytes, static_cast<uint32_t>(strip_bytes), barrier);
  };
  if constexpr (kCopyEngine) {
    if (t == 0) {
      expect_bytes(barrier, static_cast<uint32_t>(experts * strip_bytes));
      if (a.shared.data) pull_strip(top_k, 0);
    }
  }
  // The scores are those of two stages before: they are there.
  const float* const scores = a.routes.scores + static_cast<int64_t>(row) * a.routes.n_scores;
  choose(a.routes, scores, choices);
  if constexpr (kCopyEngine) {
    if (t < top_k) pull_strip(t, choices.chosen[t]);
  } else {
    for (int i = 0; i < experts; i++) pull_strip(i, choices.chosen[min(i, top_k - 1)]);
  }
  const float all = a.routes.renormalise ? 0.0f : sum_of_all(a.routes, scores, choices);
  if (warp == 0) {
    const float weight = lane < top_k ? __expf(unordered(choices.keys[lane % kChoosers]) - unordered(choices.keys[0])) : 0.0f, chosen = warp_sum(weight);
    if (lane < top_k) weights[lane] = __fdividef(weight, a.routes.renormalise ? chosen : all) * a.down.factor;
  }
  __syncthreads();
  Source source;
  source.x = expert < top_k ? a.hidden + expert * a.down.cols : a.shared_hidden;
  source.x_stride = expert < top_k ? a.hidden_stride : a.shared_stride;
  const int chunks = chunks_of<C, G>(a.down.blocks), n_chunks = max(0, min(Each > 0 ? Each : a.each, chunks - first_chunk));
  const auto chunk = [&](int c) { return Each > 0 ? min(first_chunk + c, chunks - 1) : first_chunk + c; };
  const Make maker(source, a.down.cols, a.down.layout.offset, lane);
  const bool gated = expert == top_k && a.shared_gate;
  const float routed = expert < top_k ? weights[expert] : a.shared.factor;
  const int out = static_cast<int>(blockIdx.x) * kStripRows + t;
  const bool writes = t < kStripRows && out < a.down.rows;
  const int64_t target = static_cast<int64_t>(row) * a.down.rows + out;
  const LanePlace<C, S, G> lane_place(lane);
  if (warp == 0) wait_for_input();
  __syncthreads();
  typename Make::Raw raw[kHeld];
  if constexpr (Each > 0) {
#pragma unroll
    for (int c = 0; c < Each; c++) raw[c] = maker.read(row, chunk(c));
  }
  const float added = writes && a.add ? a.add[target] : 0.0f;
  const float weight = gated ? routed * quick_sigmoid(a.shared_gate[row]) : routed;
  float squares = 0, p[2] = {};
  const uint8_t* const strip = shared + expert * strip_bytes + first_chunk * chunk_size;
  if constexpr (Each > 0) {
    Operand x[Each];
#pragma unroll
    for (int c = 0; c < Each; c++) x[c] = maker.make(row, chunk(c), raw[c], ones<Shape::pairs>(), squares);
    await_arrival(shared_address(barrier), 0);
#pragma unroll
    for (int c = 0; c < Each; c++)
      if (c < n_chunks) add_product<C, S, G>(strip + c * chunk_size, lane_place, x[c], lane, p);
  } else {
    await_arrival(shared_address(barrier), 0);
#pragma unroll 1
    for (int c = 0; c < n_chunks; c++)
      add_product<C, S, G>(strip + c * chunk_size, lane_place, maker.make(row, chunk(c), maker.read(row, chunk(c)), ones<Shape::pairs>(), squares), lane, p, (first_chunk + c) * Shape::blocks + 1 < a.down.blocks);
  }
  const float v = row_sum(p, lane);
  if ((lane & 2) == 0) sums[((lane >> 2) + 8 * (lane & 1)) * kDownStride + warp] = v * weight;
  __syncthreads();
  if (!writes) return;
  float sum[4] = {};
#pragma unroll
  for (int w = 0; w < 32; w += 4) {
    if (w >= 2 * experts) break;
    const float4 four = *reinterpret_cast<const float4*>(sums + t * kDownStride + w);
    sum[0] += four.x, sum[1] += four.y, sum[2] += four.z, sum[3] += four.w;
  }
  a.y[target] = added + ((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

}  // namespace

StageShape shape_experts_up(ExpertsUpArgs& a, int multiprocessors, size_t most_shared) {
  const int pairs = (a.routes.top_k + (a.shared_gate.data ? 1 : 0)) * a.gate.strips;
  a.each = max(1, (chunks_of(a.gate) + kStageWarps - 1) / kStageWarps);
  a.regular = a.each <= 2 && whole_chunks(a.gate) && aligned_pairs(a.source);
  for (int blocks = min(pairs, multiprocessors);; blocks = min(pairs, 2 * blocks)) {
    a.share = pairs / blocks, a.extra = pairs % blocks, a.most_pairs = a.share + (a.extra ? 1 : 0);
    const UpShared place(a);
    if (static_cast<size_t>(place.bytes) <= most_shared && a.most_pairs <= kThreads / kStripRows) return {dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(a.rows)), kThreads, static_cast<size_t>(place.bytes)};
    if (a.most_pairs == 1) return {dim3(1), 0, 0};
  }
}

StageShape shape_experts_down(ExpertsDownArgs& a, size_t most_shared) {
  const int experts = a.routes.top_k + (a.shared.data ? 1 : 0);
  a.each = (chunks_of(a.down) + 1) / 2;
  if (whole_chunks(a.down) && a.each <= 4) a.each = a.each <= 2 ? 2 : 4;
  const DownShared place(a, experts);
  if (static_cast<size_t>(place.bytes) > most_shared || experts > 16) return {dim3(1), 0, 0};
  return {dim3(static_cast<unsigned>(a.down.strips), static_cast<unsigned>(a.rows)), 64 * experts, static_cast<size_t>(place.bytes)};
}

const void* experts_up_stage(const ExpertsUpArgs& a) {
  return for_kind<const void*>(a.gate.layout, [&](auto kind) {
    using K = decltype(kind);
    if (a.regular && a.each == 1) return reinterpret_cast<const void*>(experts_up<K::codes, K::scales, K::groups, 1>);
    if (a.regular && a.each == 2) return reinterpret_cast<const void*>(experts_up<K::codes, K::scales, K::groups, 2>);
    return reinterpret_cast<const void*>(experts_up<K::codes, K::scales, K::groups, 0>);
  });
}
const void* experts_down_stage(const ExpertsDownArgs& a) {
  const bool regular = whole_chunks(a.down);
  return for_kind<const void*>(a.down.layout, [&](auto kind) {
    using K = decltype(kind);
    if (regular && a.each <= 2) return reinterpret_cast<const void*>(experts_down<K::codes, K::scales, K::groups, 2>);
    if (regular && a.each <= 4) return reinterpret_cast<const void*>(experts_down<K::codes, K::scales, K::groups, 4>);
    return reinterpret_cast<const void*>(experts_down<K::codes, K::scales, K::groups, 0>);
  });
}

}  // namespace cuda
