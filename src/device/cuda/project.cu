// project: a thread block per share of the strips; blocks behind them take rows of small float matrices.
#include "device/cuda/project.h"
#include "device/cuda/stage.cuh"

namespace cuda {
namespace {

constexpr int kThreads = 32 * kStageWarps;

// Row m of the step is row m - first of this block.
struct Rows { int first, n; };

// Which target a strip belongs to, and which strip of it it is.
__device__ __forceinline__ void find_strip(const ProjectArgs& a, int strip, int& target, int& at) {
  if (a.pair) {
    target = strip & 1, at = strip >> 1;
    return;
  }
  target = 0;
  while (target + 1 < a.n_targets && strip >= a.targets[target + 1].first_strip) target++;
  at = strip - a.targets[target].first_strip;
}

// Where one output goes. y null: nowhere.
struct Outlet {
  float* y;
  const float* add;
  float factor, bias, second_factor, second_bias;
};
__device__ __forceinline__ Outlet outlet_of(const ProjectArgs& a, int strip, int m, int row_in_strip) {
  Outlet out{};
  int target, at;
  find_strip(a, strip, target, at);
  const int row = at * kStripRows + row_in_strip;
  const ProjectTarget& to = a.targets[target];
  if (row >= to.rows) return out;
  const int64_t place = m * to.y_stride + row;
  out.y = to.y + place, out.add = to.add ? to.add + place : nullptr;
  out.factor = to.factor, out.bias = to.bias ? to.bias[row] : 0.0f;
  if (a.pair) out.second_factor = a.targets[1].factor, out.second_bias = a.targets[1].bias ? a.targets[1].bias[row] : 0.0f;
  return out;
}
// sums: of the warps, of this output; a pair's second strip lies `strip_sums` behind.
__device__ __forceinline__ void let_out(const ProjectArgs& a, const Outlet& out, const float* sums, int strip_sums, const float* squares, int m, float added) {
  const float r = row_factor(a.source, a.cols, squares, m);
  float v = fmaf(sum_of_warps(sums), out.factor * r, out.bias);
  if (a.pair) v = activated(a.activation, v) * fmaf(sum_of_warps(sums + strip_sums), out.second_factor * r, out.second_bias);
  *out.y = v + added;
}

// ---- rows of float matrices ---------------------------------------------------------------------------------------------

// Such rows of one thread block. Where lanes hold each input twice, a warp multiplies two rows at once.
template <Codes C, int G> struct FloatRows {
  using Shape = Chunk<C, G>;
  static constexpr int N = Shape::pairs, kAtOnce = Shape::halves ? 1 : 2;
  int first, n;
  __device__ __forceinline__ explicit FloatRows(const ProjectArgs& a) {
    first = (static_cast<int>(blockIdx.x) - a.float_from) * a.floats_each, n = static_cast<int>(blockIdx.x) >= a.float_from ? min(a.floats_each, a.n_float_rows - first) : 0;
  }
  __device__ __forceinline__ static const FloatTarget& target_of(const ProjectArgs& a, int row, int& at) {
    int t = 0;
    while (t + 1 < a.n_floats && row >= a.floats[t + 1].first_row) t++;
    at = row - a.floats[t].first_row;
    return a.floats[t];
  }
  __device__ __forceinline__ int lane_row(int set, int lane) const { return min(set * kAtOnce + (kAtOnce == 2 ? lane >> 2 & 1 : 0), n - 1); }
  __device__ __forceinline__ const float* weights(const ProjectArgs& a, int set, int lane) const {
    int at;
    const FloatTarget& to = target_of(a, first + lane_row(set, lane), at);
    return to.data + static_cast<int64_t>(at) * a.cols;
  }
  __device__ __forceinline__ static float dot(const float2 (&v)[N], const Pairs<N>& w, float sum) {
#pragma unroll
    for (int i = 0; i < N; i++) sum = fmaf(v[i].x, w.at[i].x, sum), sum = fmaf(v[i].y, w.at[i].y, sum);
    return sum;
  }
  // sums: [kFloatRows][warps] of one row of the step; all: over the lanes
  __device__ __forceinline__ void put(float* sums, int set, float all, int lane, int warp) const {
    if ((lane & ~(kAtOnce == 2 ? 4 : 0)) == 0) sums[(set * kAtOnce + (lane >> 2)) * kStageWarps + warp] = all;
  }
  __device__ __forceinline__ void let_out(const ProjectArgs& a, int row, int m, const float* sums, float factor) const {
    int at;
    const FloatTarget& to = target_of(a, first + row, at);
    to.y[static_cast<int64_t>(m) * to.rows + at] = fmaf(sum_of_warps(sums + row * kStageWarps), factor, to.bias ? to.bias[at] : 0.0f);
  }
};

// ---- strips -------------------------------------------------------------------------------------------------------------

// The strips of a thread block on their way through its slots.
struct Stream {
  const ProjectArgs& a;
  uint8_t* const shared;
  uint64_t* const barriers;
  int first, count;
  __device__ __forceinline__ Stream(const ProjectArgs& a, uint8_t* shared) : a(a), shared(shared), barriers(reinterpret_cast<uint64_t*>(shared + a.places.barriers)) {
    const int bx = static_cast<int>(blockIdx.x), unit = a.pair ? 2 : 1;
    first = (bx * a.share + min(bx, a.extra)) * unit, count = bx < a.strip_blocks ? (a.share + (bx < a.extra ? 1 : 0)) * unit : 0;
    arrivals_init(barriers, a.slots);
    if constexpr (!kCopyEngine) __syncthreads();
    // Thread i initialised barrier i and uses it first, so that nothing needs to be waited for.
    refill(0, min(a.slots, count), 0);
  }
  __device__ __forceinline__ void fetch(int i, int slot) const {  // strip i of this block
    int target, strip;
    find_strip(a, first + i, target, strip);
    const auto bytes = static_cast<uint32_t>(a.strip_bytes);
    if constexpr (kCopyEngine) expect_bytes(barriers + slot, bytes);
    pull(shared + slot * bytes, a.targets[target].data + strip * a.strip_bytes, bytes, barriers + slot);
  }
  __device__ __forceinline__ void refill(int from, int n, int first_slot) const {
    if constexpr (kCopyEngine) {
      if (const int i = threadIdx.x; i < n && from + i < count) fetch(from + i, first_slot + i < a.slots ? first_slot + i : first_slot + i - a.slots);
    } else {
      for (int i = 0; i < n && from + i < count; i++) fetch(from + i, (first_slot + i) % a.slots);
    }
  }
};

// Runs multiply(strip, sums) for each strip of the stream, finish(begin, n, sums) for each group of them. sums: [strip][row][16][kSumStride].
template <class Multiply, class Finish> __device__ __forceinline__ void for_each_strip(const Stream& s, int n_rows, Multiply&& multiply, Finish&& finish) {
  const ProjectArgs& a = s.a;
  const int strip_sums = n_rows * kStripRows * kSumStride, strip_size = static_cast<int>(a.strip_bytes);
  float* const sums = reinterpret_cast<float*>(s.shared + a.places.sums);
  int slot = 0, parity = 0, turn = 0;
#pragma unroll 1
  for (int begin = 0; begin < s.count; begin += a.group, turn ^= 1) {
    const int n = min(a.group, s.count - begin), first_slot = slot;
    float* const mine = sums + turn * a.group * strip_sums;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
      await_arrival(shared_address(s.barriers + slot), parity);
      multiply(s.shared + slot * strip_size, mine + i * strip_sums);
      if (++slot == a.slots) slot = 0, parity ^= 1;
    }
    __syncthreads();
    if (begin + a.slots < s.count) s.refill(begin + a.slots, n, first_slot);
    finish(begin, n, mine);
  }
}

// ---- one row ------------------------------------------------------------------------------------------------------------

// Each: chunks of a warp. What a block does after its wait decides how long a step takes: everything that can be known before is.
template <Codes C, Scales S, int G, int Each> __global__ void __launch_bounds__(kThreads, Each <= 2 ? 2 : 1) project_row(const __grid_constant__ ProjectArgs a) {
  extern __shared__ __align__(128) uint8_t shared[];
  using Shape = Chunk<C, G>;
  using Floats = FloatRows<C, G>;
  constexpr int block_size = block_bytes(C, S, G), chunk_size = Shape::blocks * block_size, N = Shape::pairs, kSets = (Each == 1 ? kFloatRows : 2) / Floats::kAtOnce;
  let_next_start();
  const Stream stream(a, shared);
  const int t = threadIdx.x, lane = t & 31, warp = t >> 5, step = a.pair ? 2 : 1, chunks = a.cols / Shape::inputs;
  const auto chunk = [&](int c) { return min(warp * Each + c, chunks - 1); };
  const auto exists = [&](int c) { return Each == 1 ? warp < chunks : warp * Each + c < chunks; };
  const Maker<C, G, false, true> maker(a.source, a.cols, a.layout.offset, lane);
  Pairs<N> gains[Each];
#pragma unroll
  for (int c = 0; c < Each; c++) gains[c] = maker.weights(chunk(c));
  const Floats floats(a);
  Pairs<N> float_weights[kSets][Each];
#pragma unroll
  for (int s = 0; s < kSets; s++) {
    if (s * Floats::kAtOnce >= floats.n) break;
    const float* w = floats.weights(a, s, lane);
#pragma unroll
    for (int c = 0; c < Each; c++) float_weights[s][c] = read_pairs<N>(w, chunk(c) * Shape::inputs + maker.own, a.cols, true);
  }
  Outlet outlet{};
  if (t / kStripRows * step < min(a.group, stream.count)) outlet = outlet_of(a, stream.first + t / kStripRows * step, 0, t % kStripRows);
  auto* const squares = reinterpret_cast<float*>(shared + a.places.squares);
  auto* const float_sums = reinterpret_cast<float*>(shared + a.places.floats);
  const bool rms = a.source.kind == SourceKind::rms, heads = a.source.kind == SourceKind::heads;
  const float4* parts_at[Each] = {};
#pragma unroll
  for (int c = 0; c < Each; c++)
    if (heads) parts_at[c] = maker.head_parts(0, chunk(c));
  const float share = heads ? 1.0f / static_cast<float>(a.source.head_dim) : 0.0f;
  const LanePlace<C, S, G> place(lane);
  if (warp == 0) wait_for_input();
  __syncthreads();

  typename Maker<C, G, false, true>::Raw raw[Each];
#pragma unroll
  for (int c = 0; c < Each; c++) raw[c] = maker.read(0, chunk(c));
  float4 parts[Each] = {};
#pragma unroll
  for (int c = 0; c < Each; c++)
    if (heads) parts[c] = *parts_at[c];
  float added = outlet.add ? *outlet.add : 0.0f, mine = 0, float_parts[kSets] = {};
  Operand x[Each];
#pragma unroll
  for (int c = 0; c < Each; c++) {
    float2 v[N];
    float sum = mine;
    maker.values(raw[c], gains[c], v, sum);
    mine = exists(c) ? sum : mine;
#pragma unroll
    for (int s = 0; s < kSets; s++)
      if (s * Floats::kAtOnce < floats.n && exists(c)) float_parts[s] = Floats::dot(v, float_weights[s][c], float_parts[s]);
    x[c] = operand_of<C, G>(v, a.layout.offset, lane);
    if (heads) x[c].scale *= maker.head_factor(parts[c], share);
  }
  if (floats.n > 0) {
    Shape::sum_all(float_parts);
#pragma unroll
    for (int s = 0; s < kSets; s++)
      if (s * Floats::kAtOnce < floats.n) floats.put(float_sums, s, float_parts[s], lane, warp);
  }
  if (rms) {
    const float all = Shape::sum(mine);
    if (lane == 0) squares[warp] = all;
  }

  const auto strip_size = static_cast<uint32_t>(a.strip_bytes);
  const uint8_t* const own = shared + warp * Each * chunk_size;
  float* const sums = reinterpret_cast<float*>(shared + a.places.sums) + ((lane >> 2) + 8 * (lane & 1)) * kSumStride + warp;
  const uint32_t barriers = shared_address(shared + a.places.barriers);
  constexpr int kStripSums = kStripRows * kSumStride;
  int slot = 0, parity = 0, turn = 0, begin = 0;
  do {
    const int n = min(a.group, stream.count - begin), first_slot = slot;
    float* to = sums + turn;
#pragma unroll 1
    for (int i = 0; i < n; i++, to += kStripSums) {
      await_arrival(barriers + 8 * slot, parity);
      float p[2] = {};
#pragma unroll
      for (int c = 0; c < Each; c++)
        if (exists(c)) add_product<C, S, G>(own + slot * strip_size + c * chunk_size, place, x[c], lane, p);
      const float v = row_sum(p, lane);
      if ((lane & 2) == 0) *to = v;
      if (++slot == a.slots) slot = 0, parity ^= 1;
    }
    __syncthreads();
    if (begin + a.slots < stream.count) stream.refill(begin + a.slots, n, first_slot);
    const int i = t / kStripRows * step;
    if (i < n) {
      if (begin > 0) outlet = outlet_of(a, stream.first + begin + i, 0, t % kStripRows), added = outlet.add ? *outlet.add : 0.0f;
      if (outlet.y) let_out(a, outlet, reinterpret_cast<float*>(shared + a.places.sums) + turn + i * kStripSums + t % kStripRows * kSumStride, kStripSums, squares, 0, added);
    }
    begin += a.group, turn = a.group * kStripSums - turn;
  } while (begin < stream.count);
  if (const int row = kThreads - 1 - t; row < floats.n) floats.let_out(a, row, 0, float_sums, row_factor(a.source, a.cols, squares, 0));
}

// ---- several rows, and inputs of any kind -------------------------------------------------------------------------------

template <Codes C, int G, bool Gated> __device__ __forceinline__ void make_rows(const ProjectArgs& a, Rows rows, uint8_t* operands, int row_bytes, float* squares, int first_chunk, int n_chunks, int lane, int warp) {
  const Maker<C, G, Gated, false> maker(a.source, a.cols, a.layout.offset, lane);
  float mine = 0;
  auto raw = maker.read(rows.first, first_chunk);
#pragma unroll 1
  for (int i = 0; i < rows.n * n_chunks; i++) {
    const int m = i / n_chunks, c = i - m * n_chunks;
    const auto now = raw;
    if (i + 1 < rows.n * n_chunks) raw = maker.read(rows.first + (c + 1 < n_chunks ? m : m + 1), first_chunk + (c + 1 < n_chunks ? c + 1 : 0));
    OperandPlace::put(operands + m * row_bytes + c * OperandPlace::bytes, maker.make(rows.first + m, first_chunk + c, now, maker.weights(first_chunk + c), mine), lane);
    if (!Gated && c == n_chunks - 1) {
      mine = Chunk<C, G>::sum(mine);
      if (lane == 0) squares[m * kStageWarps + warp] = mine;
      mine = 0;
    }
  }
}

// Of a block that has no strips.
template <Codes C, int G> __device__ __forceinline__ void float_rows(const ProjectArgs& a, Rows rows, uint8_t* shared) {
  using Floats = FloatRows<C, G>;
  constexpr int N = Floats::N, kSets = kFloatRows / Floats::kAtOnce, inputs = Chunk<C, G>::inputs;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, first = warp * a.each, n_chunks = max(0, min(a.each, (a.cols + inputs - 1) / inputs - first));
  const Floats floats(a);
  const Maker<C, G, false, false> maker(a.source, a.cols, a.layout.offset, lane);
  auto* const squares = reinterpret_cast<float*>(shared + a.places.squares);
  auto* const sums = reinterpret_cast<float*>(shared + a.places.floats);  // [row of the step][kFloatRows][warps]
  constexpr int kRowSums = kFloatRows * kStageWarps;
  wait_for_input();
#pragma unroll 1
  for (int m = 0; m < rows.n; m++) {
    float parts[kSets] = {}, mine = 0;
#pragma unroll 1
    for (int c = first; c < first + n_chunks; c++) {
      float2 v[N];
      maker.values(maker.read(rows.first + m, c), maker.weights(c), v, mine);
#pragma unroll
      for (int s = 0; s < kSets; s++)
        if (s * Floats::kAtOnce < floats.n) parts[s] = Floats::dot(v, read_pairs<N>(floats.weights(a, s, lane), c * inputs + maker.own, a.cols, maker.whole(c) && a.cols % 2 == 0), parts[s]);
    }
    mine = Chunk<C, G>::sum(mine);
    if (lane == 0) squares[m * kStageWarps + warp] = mine;
    Chunk<C, G>::sum_all(parts);
#pragma unroll
    for (int s = 0; s < kSets; s++)
      if (s * Floats::kAtOnce < floats.n) floats.put(sums + m * kRowSums, s, parts[s], lane, warp);
  }
  __syncthreads();
  if (const int m = threadIdx.x / kFloatRows, row = threadIdx.x % kFloatRows; m < rows.n && row < floats.n) floats.let_out(a, row, rows.first + m, sums + m * kRowSums, row_factor(a.source, a.cols, squares, m));
}

template <Codes C, Scales S, int G> __global__ void __launch_bounds__(kThreads, 1) project_rows(const __grid_constant__ ProjectArgs a) {
  extern __shared__ __align__(128) uint8_t shared[];
  constexpr int block_size = block_bytes(C, S, G);
  using Shape = Chunk<C, G>;
  let_next_start();
  const Rows rows{static_cast<int>(blockIdx.y) * a.rows_each, min(a.rows_each, a.rows - static_cast<int>(blockIdx.y) * a.rows_each)};
  if (static_cast<int>(blockIdx.x) >= a.strip_blocks) return float_rows<C, G>(a, rows, shared);
  const Stream stream(a, shared);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, first_chunk = warp * a.each;
  const int n_chunks = max(0, min(a.each, (a.blocks + Shape::blocks - 1) / Shape::blocks - first_chunk));
  auto* const squares = reinterpret_cast<float*>(shared + a.places.squares);
  const int row_bytes = a.places.operand_row;
  uint8_t* const operands = shared + a.places.inputs + warp * a.rows_each * row_bytes;
  for (int i = threadIdx.x; i < rows.n * kStageWarps; i += kThreads) squares[i] = 0;
  __syncthreads();
  wait_for_input();
  if (n_chunks > 0) {
    if (a.source.kind == SourceKind::gated || a.source.kind == SourceKind::paired) make_rows<C, G, true>(a, rows, operands, row_bytes, squares, first_chunk, n_chunks, lane, warp);
    else make_rows<C, G, false>(a, rows, operands, row_bytes, squares, first_chunk, n_chunks, lane, warp);
  }
  __syncwarp();
  const auto multiply = [&](const uint8_t* strip, float* sums) {
    ManySums all{};
#pragma unroll 1
    for (int c = 0; c < n_chunks; c++) {
      const int block = (first_chunk + c) * Shape::blocks;
      add_products<C, S, G>(strip + block * block_size, block + 1 < a.blocks ? block_size : 0, operands + c * OperandPlace::bytes, row_bytes, rows.n, lane, all);
    }
    for_each_sum<C>(all, rows.n, lane, [&](int row, int out, float v) { sums[(row * kStripRows + out) * kSumStride + warp] = v; });
  };
  for_each_strip(stream, rows.n, multiply, [&](int begin, int n, const float* sums) {
    const int step = a.pair ? 2 : 1, strip_sums = rows.n * kStripRows * kSumStride;
#pragma unroll 1
    for (int t = threadIdx.x; t < n / step * rows.n * kStripRows; t += kThreads) {
      const int i = t / kStripRows / rows.n, m = t / kStripRows - i * rows.n;
      const Outlet out = outlet_of(a, stream.first + begin + i * step, rows.first + m, t % kStripRows);
      if (out.y) let_out(a, out, sums + i * step * strip_sums + (m * kStripRows + t % kStripRows) * kSumStride, strip_sums, squares, m, out.add ? *out.add : 0.0f);
    }
  });
}

}  // namespace

const void* project_kernel(const ProjectArgs& a) {
  return for_kind<const void*>(a.layout, [&](auto kind) {
    using K = decltype(kind);
    if (!has_one_row_kernel(a)) return reinterpret_cast<const void*>(project_rows<K::codes, K::scales, K::groups>);
    if (a.each == 1) return reinterpret_cast<const void*>(project_row<K::codes, K::scales, K::groups, 1>);
    if (a.each == 2) return reinterpret_cast<const void*>(project_row<K::codes, K::scales, K::groups, 2>);
    return reinterpret_cast<const void*>(project_row<K::codes, K::scales, K::groups, kMostEach>);
  });
}

}  // namespace cuda
