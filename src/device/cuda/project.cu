// project: a thread block per share of the strips; blocks behind them take rows of small float matrices.
#include "device/cuda/project.h"
#include "device/cuda/stage.cuh"

namespace cuda {
namespace {

constexpr int kThreads = 32 * kStageWarps;

// Row m of the step is column m - first of this block.
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

// Rows of float matrices: all threads along the inputs.
__device__ __noinline__ void float_rows(const ProjectArgs& a, Rows rows, uint8_t* shared) {
  float* const sums = reinterpret_cast<float*>(shared);  // [warps][rows][kFloatRows + 1]
  const int first = (static_cast<int>(blockIdx.x) - a.strip_blocks) * kFloatRows, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const float* data[kFloatRows];
#pragma unroll
  for (int r = 0; r < kFloatRows; r++) {
    const int row = min(first + r, a.n_float_rows - 1);
    int t = 0;
    while (t + 1 < a.n_floats && row >= a.floats[t + 1].first_row) t++;
    data[r] = a.floats[t].data + static_cast<int64_t>(row - a.floats[t].first_row) * a.cols;
  }
  const int k0 = 4 * static_cast<int>(threadIdx.x);
  float4 ahead[kFloatRows];
#pragma unroll
  for (int r = 0; r < kFloatRows; r++) ahead[r] = quad_at(data[r], k0, a.cols);
  const float4 weights_ahead = k0 < a.cols ? source_weights(a.source, k0, a.cols) : float4{0, 0, 0, 0};
  wait_for_input();
#pragma unroll 1
  for (int m = 0; m < rows.n; m++) {
    float part[kFloatRows] = {}, squares = 0;
#pragma unroll 1
    for (int k = k0; k < a.cols; k += 4 * kThreads) {
      const float4 v = source_quad(a.source, rows.first + m, k, a.cols, k == k0 ? weights_ahead : source_weights(a.source, k, a.cols), lane, true, squares);
#pragma unroll
      for (int r = 0; r < kFloatRows; r++) {
        const float4 w = k == k0 ? ahead[r] : quad_at(data[r], k, a.cols);
        part[r] += w.x * v.x + w.y * v.y + w.z * v.z + w.w * v.w;
      }
    }
    squares = warp_sum(squares);
#pragma unroll
    for (int r = 0; r < kFloatRows; r++) part[r] = warp_sum(part[r]);
    if (lane == 0) {
      float* to = sums + (warp * rows.n + m) * (kFloatRows + 1);
#pragma unroll
      for (int r = 0; r < kFloatRows; r++) to[r] = part[r];
      to[kFloatRows] = squares;
    }
  }
  __syncthreads();
  const int m = threadIdx.x / kFloatRows, r = threadIdx.x % kFloatRows, row = first + r;
  if (m >= rows.n || row >= a.n_float_rows) return;
  float sum = 0, squares = 0;
  for (int w = 0; w < kStageWarps; w++) sum += sums[(w * rows.n + m) * (kFloatRows + 1) + r], squares += sums[(w * rows.n + m) * (kFloatRows + 1) + kFloatRows];
  if (a.source.kind == SourceKind::rms) sum *= rsqrtf(squares / static_cast<float>(a.cols) + a.source.eps);
  int t = 0;
  while (t + 1 < a.n_floats && row >= a.floats[t + 1].first_row) t++;
  const FloatTarget& to = a.floats[t];
  const int at = row - to.first_row;
  to.y[static_cast<int64_t>(rows.first + m) * to.rows + at] = sum + (to.bias ? to.bias[at] : 0.0f);
}

// Adds the warps' sums of some strips up and writes what becomes of them.
__device__ __forceinline__ void finish_strips(const ProjectArgs& a, Rows rows, const float* sums, const float* squares, int first, int count) {
  const int per_strip = rows.n * kStripRows, step = a.pair ? 2 : 1;
#pragma unroll 1
  for (int t = threadIdx.x; t < (a.pair ? count >> 1 : count) * per_strip; t += kThreads) {
    int i = t / kStripRows, m = 0;
    if (rows.n > 1) m = i % rows.n, i /= rows.n;
    i *= step;
    const int rest = m * kStripRows + t % kStripRows;
    int target, strip;
    find_strip(a, first + i, target, strip);
    const int row = strip * kStripRows + rest % kStripRows;
    if (row >= a.targets[target].rows) continue;
    const float r = row_factor(a.source, a.cols, squares, rows.n, m);
    float v = 0;
#pragma unroll 1
    for (int j = 0; j < step; j++) {
      float sum = 0;
#pragma unroll
      for (int w = 0; w < kStageWarps; w++) sum += sums[((i + j) * kStageWarps + w) * per_strip + rest];
      const ProjectTarget& from = a.targets[target + j];
      sum = sum * (from.factor * r) + (from.bias ? from.bias[row] : 0.0f);
      v = j ? activated(a.activation, v) * sum : sum;
    }
    const ProjectTarget& to = a.targets[target];
    const int64_t at = static_cast<int64_t>(rows.first + m) * to.y_stride + row;
    to.y[at] = to.add ? to.add[at] + v : v;
  }
}

template <Codes C, Scales S, int G> __global__ void __launch_bounds__(kThreads, 2) project(const __grid_constant__ ProjectArgs a) {
  extern __shared__ __align__(128) uint8_t shared[];
  constexpr int block_size = block_bytes(C, S, G);
  let_next_start();
  const Rows rows{static_cast<int>(blockIdx.y) * a.rows_each, min(a.rows_each, a.rows - static_cast<int>(blockIdx.y) * a.rows_each)};
  if (static_cast<int>(blockIdx.x) >= a.strip_blocks) return float_rows(a, rows, shared);
  const ProjectPlaces& place = a.places;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, bx = static_cast<int>(blockIdx.x);
  auto* const barriers = reinterpret_cast<uint64_t*>(shared + place.barriers);
  auto* const squares = reinterpret_cast<float*>(shared + place.squares);
  const int unit = a.pair ? 2 : 1, strip_size = static_cast<int>(a.strip_bytes);
  const int first = (bx * a.share + min(bx, a.extra)) * unit, count = (a.share + (bx < a.extra ? 1 : 0)) * unit;
  arrivals_init(barriers, a.slots);
  if (threadIdx.x < 4) reinterpret_cast<uint32_t*>(shared + place.zeros)[threadIdx.x] = 0;
  if constexpr (!kCopyEngine) __syncthreads();
  const auto fetch = [&](int i, int slot) {  // strip i of this block
    int target, strip;
    find_strip(a, first + i, target, strip);
    if constexpr (kCopyEngine) expect_bytes(barriers + slot, static_cast<uint32_t>(strip_size));
    pull(shared + slot * strip_size, a.targets[target].data + strip * a.strip_bytes, static_cast<uint32_t>(strip_size), barriers + slot);
  };
  // Thread i initialised barrier i and uses it first, so that nothing needs to be waited for.
  if constexpr (kCopyEngine) {
    if (static_cast<int>(threadIdx.x) < min(a.slots, count)) fetch(threadIdx.x, threadIdx.x);
  } else {
    for (int i = 0; i < min(a.slots, count); i++) fetch(i, i);
  }
  const int first_block = warp * a.each, n_blocks = max(0, min(a.each, a.blocks - first_block));
  const float4 ahead = source_weights(a.source, first_block * kBlockInputs + 4 * lane, a.cols);
  __syncthreads();
  wait_for_input();

  auto* const x = reinterpret_cast<__half*>(shared + place.inputs) + warp * a.rows_each * place.input_stride;
  make_inputs(a.source, a.cols, a.each, rows.first, rows.n, x, place.input_stride, squares, warp, lane, ahead);
  constexpr int tables = G > 0 ? G * 8 : 8;
  float* const start = reinterpret_cast<float*>(shared + place.tables) + warp * a.each * tables;
  float* const input_sums = start + kStageWarps * a.each * tables;
  __syncwarp();
  Inputs in;
  const auto load = [&](int from, bool first_time) {
    const int n = min(kHeldBlocks, n_blocks - from);
    load_inputs<C>(in, x + from * kBlockInputs, place.input_stride, rows.n, shared + place.zeros, n, lane);
    if (first_time) {
      fill_tables<C, S, G>(in, a.layout.offset, n, start + from * tables, input_sums + from * tables, lane);
      __syncwarp();
    }
    return n;
  };
  const bool held = n_blocks <= kHeldBlocks;
  if (held && n_blocks > 0) load(0, true);

  float* const sums = reinterpret_cast<float*>(shared + place.sums);
  int slot = 0, parity = 0, turn = 0;
#pragma unroll 1
  for (int begin = 0; begin < count; begin += a.group, turn ^= 1) {
    const int n = min(a.group, count - begin), first_slot = slot;
    float* const mine = sums + turn * a.group * kStageWarps * rows.n * kStripRows;
    float* to = mine + warp * rows.n * kStripRows;
#pragma unroll 1
    for (int i = 0; i < n; i++, to += kStageWarps * rows.n * kStripRows) {
      await_arrival(barriers + slot, parity);
      const uint8_t* strip = shared + slot * strip_size + first_block * block_size;
      float acc[4] = {};
#pragma unroll 1
      for (int from = 0; from < n_blocks; from += kHeldBlocks) {
        const int here = held ? n_blocks : load(from, begin + i == 0);
#pragma unroll
        for (int b = 0; b < kHeldBlocks; b++)
          if (b < here) block_product<C, S, G>(strip + (from + b) * block_size, in.b[b], start + (from + b) * tables, input_sums + (from + b) * tables, lane, acc);
      }
      store_sums(to, acc, rows.n, lane);
      if (++slot == a.slots) slot = 0, parity ^= 1;
    }
    __syncthreads();
    if constexpr (kCopyEngine) {
      if (const int i = threadIdx.x, next = begin + a.slots + i; i < n && next < count) fetch(next, first_slot + i < a.slots ? first_slot + i : first_slot + i - a.slots);
    } else {
      for (int i = 0; i < n && begin + a.slots + i < count; i++) fetch(begin + a.slots + i, (first_slot + i) % a.slots);
    }
    finish_strips(a, rows, mine, squares, first + begin, n);
  }
}

}  // namespace

const void* project_kernel(const StripLayout& layout) {
  return for_kind<const void*>(layout, [](auto kind) { return reinterpret_cast<const void*>(project<kind.codes, kind.scales, kind.groups>); });
}

}  // namespace cuda
