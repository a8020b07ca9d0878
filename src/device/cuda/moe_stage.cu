// moe_stage: see the header. Blocks (x) share out strips, (y) is the row of the step.
#include "device/cuda/choose.cuh"
#include "device/cuda/moe_stage.h"
#include "device/cuda/project.h"
#include "device/cuda/stage.cuh"

namespace cuda {
namespace {

constexpr int kThreads = 32 * kStageWarps;

__device__ __noinline__ Choice many_choices(const RouteSource& r, const float* scores, int lane) { return choose<16>(scores, r.n_experts, r.top_k, r.renormalise, lane); }
__device__ __forceinline__ Choice choices(const RouteSource& r, int row, int lane) {
  const float* scores = r.scores + static_cast<int64_t>(row) * r.n_experts;
  return r.n_experts <= 256 ? choose<8>(scores, r.n_experts, r.top_k, r.renormalise, lane) : many_choices(r, scores, lane);
}

// Where things lie behind the strips, in bytes; one row of inputs.
struct UpShared {
  int inputs, sums, tables, squares, zeros, barrier, chosen, bytes, stride;
  CALLA_BOTH constexpr UpShared(const ExpertsUpArgs& a) {
    int at = static_cast<int>(a.gate.strip_bytes) * 2 * a.most_pairs;
    stride = a.each * kBlockInputs + 8;
    inputs = at, at += kStageWarps * stride * 2;
    sums = at, at += 2 * a.most_pairs * kStageWarps * kStripRows * 4;
    tables = at, at += kStageWarps * a.each * (a.gate.layout.groups > 0 ? a.gate.layout.groups : 1) * 8 * 4 * 2;
    squares = at, at += kStageWarps * 4;
    zeros = at, at += 16;
    barrier = at, at += 8;
    chosen = at, at += 4 * 16;
    bytes = (at + 15) / 16 * 16;
  }
};

// Products of a warp's inputs with one strip.
template <Codes C, Scales S, int G> struct WarpInputs {
  static constexpr int tables = G > 0 ? G * 8 : 8;
  Inputs in;
  const __half* x;
  const void* zeros;
  float *start, *input_sums;
  int stride, offset, n_blocks;
  __device__ __forceinline__ int load(int from, int lane, bool first_time) {
    const int n = min(kHeldBlocks, n_blocks - from);
    load_inputs<C>(in, x + from * kBlockInputs, stride, 1, zeros, n, lane);
    if (first_time) {
      fill_tables<C, S, G>(in, offset, n, start + from * tables, input_sums + from * tables, lane);
      __syncwarp();
    }
    return n;
  }
  __device__ __forceinline__ bool held() const { return n_blocks <= kHeldBlocks; }
  __device__ __forceinline__ void multiply(const uint8_t* strip, int lane, bool first_time, float (&acc)[4]) {
#pragma unroll 1
    for (int from = 0; from < n_blocks; from += kHeldBlocks) {
      const int here = held() ? n_blocks : load(from, lane, first_time);
#pragma unroll
      for (int b = 0; b < kHeldBlocks; b++)
        if (b < here) block_product<C, S, G>(strip + (from + b) * block_bytes(C, S, G), in.b[b], start + (from + b) * tables, input_sums + (from + b) * tables, lane, acc);
    }
  }
};

template <Codes C, Scales S, int G> __global__ void __launch_bounds__(kThreads, 2) experts_up(const __grid_constant__ ExpertsUpArgs a) {
  extern __shared__ __align__(128) uint8_t shared[];
  const UpShared place(a);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, row = blockIdx.y, pairs = a.routes.top_k * a.gate.strips;
  const int first = static_cast<int>(static_cast<int64_t>(pairs) * blockIdx.x / gridDim.x), count = static_cast<int>(static_cast<int64_t>(pairs) * (blockIdx.x + 1) / gridDim.x) - first;
  auto* const barrier = reinterpret_cast<uint64_t*>(shared + place.barrier);
  auto* const chosen = reinterpret_cast<int*>(shared + place.chosen);
  auto* const squares = reinterpret_cast<float*>(shared + place.squares);
  const int strip_bytes = static_cast<int>(a.gate.strip_bytes);
  arrivals_init(barrier, 1);
  if (threadIdx.x < 4) reinterpret_cast<uint32_t*>(shared + place.zeros)[threadIdx.x] = 0;
  const int first_block = warp * a.each;
  const float4 ahead = source_weights(a.source, first_block * kBlockInputs + 4 * lane, a.gate.cols);
  __syncthreads();
  wait_for_input();
  let_next_start();  // not before: the next stage reads the scores without waiting for this one
  const auto strip_at = [&](int i, int expert) {  // strip i of this block: gate and up of a pair in turns
    const Strips& w = i & 1 ? a.up : a.gate;
    return w.data + expert * w.expert_bytes + static_cast<int64_t>((first + i / 2) % a.gate.strips) * strip_bytes;
  };
  if (warp == 0) {
    const Choice choice = choices(a.routes, row, lane);
    if (lane == 0) expect_bytes(barrier, static_cast<uint32_t>(2 * count * strip_bytes));
    if constexpr (kCopyEngine) {
      for (int i = 0; i < 2 * count; i += 32) {
        const int expert = __shfl_sync(~0u, choice.expert, min((first + min(i + lane, 2 * count - 1) / 2) / a.gate.strips, a.routes.top_k - 1));
        if (i + lane < 2 * count) pull(shared + (i + lane) * strip_bytes, strip_at(i + lane, expert), static_cast<uint32_t>(strip_bytes), barrier);
      }
    } else if (lane < a.routes.top_k) {
      chosen[lane] = choice.expert;
    }
  }
  if constexpr (!kCopyEngine) {
    __syncthreads();
    for (int i = 0; i < 2 * count; i++) pull(shared + i * strip_bytes, strip_at(i, chosen[(first + i / 2) / a.gate.strips]), static_cast<uint32_t>(strip_bytes), barrier);
  }
  auto* const x = reinterpret_cast<__half*>(shared + place.inputs) + warp * place.stride;
  make_inputs(a.source, a.gate.cols, a.each, row, 1, x, place.stride, squares, warp, lane, ahead);
  __syncwarp();
  using Warp = WarpInputs<C, S, G>;
  float* const tables = reinterpret_cast<float*>(shared + place.tables);
  Warp inputs{{}, x, shared + place.zeros, tables + warp * a.each * Warp::tables, tables + (kStageWarps + warp) * a.each * Warp::tables, place.stride, a.gate.layout.offset, max(0, min(a.each, a.gate.blocks - first_block))};
  if (inputs.held() && inputs.n_blocks > 0) inputs.load(0, lane, true);
  await_arrival(barrier, 0);
  float* const sums = reinterpret_cast<float*>(shared + place.sums);
#pragma unroll 1
  for (int i = 0; i < 2 * count; i++) {
    float acc[4] = {};
    inputs.multiply(shared + i * strip_bytes + first_block * block_bytes(C, S, G), lane, i == 0, acc);
    store_sums(sums + (i * kStageWarps + warp) * kStripRows, acc, 1, lane);
  }
  __syncthreads();
  for (int t = threadIdx.x; t < count * kStripRows; t += kThreads) {
    const int pair = first + t / kStripRows, out = pair % a.gate.strips * kStripRows + t % kStripRows;
    const float* from = sums + t / kStripRows * 2 * kStageWarps * kStripRows + t % kStripRows;
    float g = 0, u = 0;
#pragma unroll
    for (int w = 0; w < kStageWarps; w++) g += from[w * kStripRows], u += from[(kStageWarps + w) * kStripRows];
    const float r = row_factor(a.source, a.gate.cols, squares, 1, 0);
    if (out < a.gate.rows) a.hidden[(static_cast<int64_t>(row) * a.routes.top_k + pair / a.gate.strips) * a.gate.rows + out] = activated(a.activation, g * (a.gate.factor * r)) * (u * (a.up.factor * r));
  }
}

struct DownShared {
  int inputs, sums, tables, zeros, barrier, chosen, weights, bytes, stride;
  CALLA_BOTH constexpr DownShared(const ExpertsDownArgs& a, int experts) {
    int at = static_cast<int>(a.down.strip_bytes) * experts;
    stride = a.each * kBlockInputs + 8;
    inputs = at, at += 2 * experts * stride * 2;
    sums = at, at += 2 * experts * kStripRows * 4;
    tables = at, at += 2 * experts * a.each * (a.down.layout.groups > 0 ? a.down.layout.groups : 1) * 8 * 4 * 2;
    zeros = at, at += 16;
    barrier = at, at += 8;
    chosen = at, at += 4 * 16;
    weights = at, at += 4 * 16;
    bytes = (at + 15) / 16 * 16;
  }
};

// A block is one strip of the outputs; two warps an expert, each half of its inputs.
template <Codes C, Scales S, int G> __global__ void __launch_bounds__(1024, 1) experts_down(const __grid_constant__ ExpertsDownArgs a) {
  extern __shared__ __align__(128) uint8_t shared[];
  const int top_k = a.routes.top_k, experts = top_k + (a.shared.data ? 1 : 0), strip_bytes = static_cast<int>(a.down.strip_bytes);
  const DownShared place(a, experts);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, row = blockIdx.y, mine = warp / 2, first_block = warp % 2 * a.each;
  auto* const barrier = reinterpret_cast<uint64_t*>(shared + place.barrier);
  auto* const chosen = reinterpret_cast<int*>(shared + place.chosen);
  auto* const weights = reinterpret_cast<float*>(shared + place.weights);
  let_next_start();
  arrivals_init(barrier, 1);
  if (threadIdx.x < 4) reinterpret_cast<uint32_t*>(shared + place.zeros)[threadIdx.x] = 0;
  const auto strip_at = [&](int i, int expert) { return i < top_k ? a.down.data + expert * a.down.expert_bytes + static_cast<int64_t>(blockIdx.x) * strip_bytes : a.shared.data + static_cast<int64_t>(blockIdx.x) * strip_bytes; };
  if (warp == 0) {  // the scores are those of two stages before: they are there
    const Choice choice = choices(a.routes, row, lane);
    if (lane < top_k) chosen[lane] = choice.expert, weights[lane] = choice.weight;
    if (lane == top_k) weights[lane] = a.shared.data && a.shared_gate ? quick_sigmoid(a.shared_gate[row]) : 1.0f;
    if (lane == 0) expect_bytes(barrier, static_cast<uint32_t>(experts * strip_bytes));
    __syncwarp();
    if constexpr (kCopyEngine)
      if (lane < experts) pull(shared + lane * strip_bytes, strip_at(lane, choice.expert), static_cast<uint32_t>(strip_bytes), barrier);
  }
  __syncthreads();
  if constexpr (!kCopyEngine)
    for (int i = 0; i < experts; i++) pull(shared + i * strip_bytes, strip_at(i, chosen[min(i, top_k - 1)]), static_cast<uint32_t>(strip_bytes), barrier);
  wait_for_input();
  auto* const x = reinterpret_cast<__half*>(shared + place.inputs) + warp * place.stride;
  const float* from = mine < top_k ? a.hidden + (static_cast<int64_t>(row) * top_k + mine) * a.down.cols : a.shared_hidden + static_cast<int64_t>(row) * a.shared.cols;
#pragma unroll 1
  for (int p = 4 * lane; p < a.each * kBlockInputs; p += 128) {
    const float4 v = quad_at(from, first_block * kBlockInputs + p, a.down.cols);
    *reinterpret_cast<uint2*>(x + p) = uint2{halves_of(v.x, v.y), halves_of(v.z, v.w)};
  }
  __syncwarp();
  using Warp = WarpInputs<C, S, G>;
  float* const tables = reinterpret_cast<float*>(shared + place.tables);
  Warp inputs{{}, x, shared + place.zeros, tables + warp * a.each * Warp::tables, tables + (2 * experts + warp) * a.each * Warp::tables, place.stride, a.down.layout.offset, max(0, min(a.each, a.down.blocks - first_block))};
  if (inputs.held() && inputs.n_blocks > 0) inputs.load(0, lane, true);
  await_arrival(barrier, 0);
  float* const sums = reinterpret_cast<float*>(shared + place.sums);
  float acc[4] = {};
  inputs.multiply(shared + mine * strip_bytes + first_block * block_bytes(C, S, G), lane, true, acc);
  store_sums(sums + warp * kStripRows, acc, 1, lane);
  __syncthreads();
  const int out = static_cast<int>(blockIdx.x) * kStripRows + static_cast<int>(threadIdx.x);
  if (threadIdx.x >= kStripRows || out >= a.down.rows) return;
  float sum = 0;
#pragma unroll 4
  for (int e = 0; e < experts; e++) sum = fmaf(weights[e], (sums[2 * e * kStripRows + threadIdx.x] + sums[(2 * e + 1) * kStripRows + threadIdx.x]) * (e < top_k ? a.down.factor : a.shared.factor), sum);
  const int64_t at = static_cast<int64_t>(row) * a.down.rows + out;
  a.y[at] = a.add ? a.add[at] + sum : sum;
}

}  // namespace

StageShape shape_experts_up(ExpertsUpArgs& a, int multiprocessors, size_t most_shared) {
  const int pairs = a.routes.top_k * a.gate.strips;
  a.each = max(1, (a.gate.blocks + kStageWarps - 1) / kStageWarps);
  int blocks = min(pairs, multiprocessors);
  for (;; blocks *= 2) {
    a.most_pairs = (pairs + blocks - 1) / blocks;
    const UpShared place(a);
    if (static_cast<size_t>(place.bytes) <= most_shared) return {dim3(static_cast<unsigned>((pairs + a.most_pairs - 1) / a.most_pairs), static_cast<unsigned>(a.rows)), kThreads, static_cast<size_t>(place.bytes)};
    if (a.most_pairs == 1) return {dim3(1), 0, 0};
  }
}

StageShape shape_experts_down(ExpertsDownArgs& a, size_t most_shared) {
  const int experts = a.routes.top_k + (a.shared.data ? 1 : 0);
  a.each = (a.down.blocks + 1) / 2;
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
