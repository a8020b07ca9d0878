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

// All threads along the inputs.
__device__ __forceinline__ void float_rows(const ProjectArgs& a, Rows rows, uint8_t* shared) {
  float* const sums = reinterpret_cast<float*>(shared);  // [rows][kFloatRows + 1][warps]
  constexpr int kSums = (kFloatRows + 1) * kStageWarps;
  static_assert(kFloatRows == 4);
  const int first = (static_cast<int>(blockIdx.x) - a.strip_blocks) * kFloatRows, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, k0 = 4 * static_cast<int>(threadIdx.x), cols = a.cols;
  const auto find = [&](int row, int& at) {
    int t = 0;
    while (t + 1 < a.n_floats && row >= a.floats[t + 1].first_row) t++;
    at = row - a.floats[t].first_row;
    return t;
  };
  const float* data[kFloatRows];
  float4 ahead[kFloatRows];
#pragma unroll
  for (int r = 0; r < kFloatRows; r++) {
    int at;
    const int t = find(min(first + r, a.n_float_rows - 1), at);
    data[r] = a.floats[t].data + static_cast<int64_t>(at) * cols, ahead[r] = quad_at(data[r], k0, cols);
  }
  const bool gains = a.source.gain;
  const float4 gains_ahead = gains ? quad_at(a.source.gain, k0, cols) : float4{1, 1, 1, 1};
  const int m_out = threadIdx.x / kFloatRows, r_out = threadIdx.x % kFloatRows;
  float* y = nullptr;
  float bias = 0;
  if (m_out < rows.n && first + r_out < a.n_float_rows) {
    int at;
    const FloatTarget& to = a.floats[find(first + r_out, at)];
    y = to.y + static_cast<int64_t>(rows.first + m_out) * to.rows + at, bias = to.bias ? to.bias[at] : 0.0f;
  }
  wait_for_input();
  const float* x = a.source.x + rows.first * a.source.x_stride;
  float4 next = quad_at(x, k0, cols);
#pragma unroll 1
  for (int m = 0; m < rows.n; m++) {
    float part[kFloatRows] = {}, squares = 0;
    const auto add = [&](const float4& v, const float4& gain, const float4 (&w)[kFloatRows]) {
      squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
#pragma unroll
      for (int r = 0; r < kFloatRows; r++) part[r] += w[r].x * (v.x * gain.x) + w[r].y * (v.y * gain.y) + w[r].z * (v.z * gain.z) + w[r].w * (v.w * gain.w);
    };
    const float4 v = next;
    if (m + 1 < rows.n) next = quad_at(x + a.source.x_stride, k0, cols);
    add(v, gains_ahead, ahead);
#pragma unroll 1
    for (int k = k0 + 4 * kThreads; k < cols; k += 4 * kThreads) {
      float4 w[kFloatRows];
#pragma unroll
      for (int r = 0; r < kFloatRows; r++) w[r] = quad_at(data[r], k, cols);
      add(quad_at(x, k, cols), gains ? quad_at(a.source.gain, k, cols) : float4{1, 1, 1, 1}, w);
    }
    x += a.source.x_stride;
    const auto fold = [&](float low, float high, int apart) { return (lane & apart ? high : low) + __shfl_xor_sync(~0u, lane & apart ? low : high, apart); };
    float sum = fold(fold(part[0], part[2], 16), fold(part[1], part[3], 16), 8);  // row: bits 4 and 3 of the lane
    sum += __shfl_xor_sync(~0u, sum, 4), sum += __shfl_xor_sync(~0u, sum, 2), sum += __shfl_xor_sync(~0u, sum, 1);
    squares = warp_sum(squares);
    if ((lane & 7) == 0) sums[m * kSums + lane / 8 * kStageWarps + warp] = sum;
    if (lane == 0) sums[m * kSums + kFloatRows * kStageWarps + warp] = squares;
  }
  __syncthreads();
  if (!y) return;
  const float* mine = sums + m_out * kSums;
  float v = sum_of_warps(mine + r_out * kStageWarps);
  if (a.source.kind == SourceKind::rms) v *= rsqrtf(__fdividef(sum_of_warps(mine + kFloatRows * kStageWarps), static_cast<float>(cols)) + a.source.eps);
  *y = v + bias;
}

// ---- strips -------------------------------------------------------------------------------------------------------------

// The strips of a thread block on their way through its slots.
struct Stream {
  const ProjectArgs& a;
  uint8_t* const shared;
  uint64_t* const barriers;
  int first, count;
  __device__ __forceinline__ Stream(const ProjectArgs& a, uint8_t* shared) : a(a), shared(shared), barriers(reinterpret_cast<uint64_t*>(shared + a.places.barriers)) {
    const int bx = static_cast<int>(blockIdx.x), unit = a.pair ? 2 : 1;
    first = (bx * a.share + min(bx, a.extra)) * unit, count = (a.share + (bx < a.extra ? 1 : 0)) * unit;
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
      await_arrival(s.barriers + slot, parity);
      multiply(s.shared + slot * strip_size, mine + i * strip_sums);
      if (++slot == a.slots) slot = 0, parity ^= 1;
    }
    if (begin == 0) finish(0, 0, mine);
    __syncthreads();
    if (begin + a.slots < s.count) s.refill(begin + a.slots, n, first_slot);
    finish(begin, n, mine);
  }
}

template <Codes C, Scales S, int G, bool Gated> __global__ void __launch_bounds__(kThreads, 2) project_row(const __grid_constant__ ProjectArgs a) {
  extern __shared__ __align__(128) uint8_t shared[];
  constexpr int block_size = block_bytes(C, S, G), kHeld = Gated ? 2 : 1;  // chunks whose operands stay in registers: gated inputs mostly meet one strip
  using Shape = Chunk<C, G>;
  let_next_start();
  if constexpr (!Gated)
    if (static_cast<int>(blockIdx.x) >= a.strip_blocks) return float_rows(a, {0, 1}, shared);
  const Stream stream(a, shared);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, first_chunk = warp * a.each;
  const int n_chunks = max(0, min(a.each, (a.blocks + Shape::blocks - 1) / Shape::blocks - first_chunk));
  const auto second = [&](int c) { return (first_chunk + c) * Shape::blocks + 1 < a.blocks ? block_size : 0; };
  const Maker<C, G, Gated> maker(a.source, a.cols, a.layout.offset, lane);
  const auto weights_ahead = n_chunks > 0 ? maker.weights(first_chunk) : ones<Shape::pairs>();
  const int step = a.pair ? 2 : 1, t = threadIdx.x;
  Outlet ahead{};
  if (t / kStripRows * step < min(a.group, stream.count)) ahead = outlet_of(a, stream.first + t / kStripRows * step, 0, t % kStripRows);
  __syncthreads();
  wait_for_input();

  auto* const squares = reinterpret_cast<float*>(shared + a.places.squares);
  uint8_t* const operands = shared + a.places.inputs + warp * a.each * OperandPlace::bytes;
  float mine = 0;
  Operand x[kHeld] = {};
  {
    typename Maker<C, G, Gated>::Raw raw[kHeld];
#pragma unroll
    for (int c = 0; c < kHeld; c++)
      if (c < n_chunks) raw[c] = maker.read(0, first_chunk + c);
    const float added = ahead.add ? *ahead.add : 0.0f;
    ahead.second_bias = a.pair ? ahead.second_bias : added;
#pragma unroll
    for (int c = 0; c < kHeld; c++)
      if (c < n_chunks) x[c] = maker.make(0, first_chunk + c, raw[c], c == 0 ? weights_ahead : maker.weights(first_chunk + c), mine);
#pragma unroll 1
    for (int c = kHeld; c < n_chunks; c++) OperandPlace::put(operands + c * OperandPlace::bytes, maker.make(0, first_chunk + c, maker.read(0, first_chunk + c), maker.weights(first_chunk + c), mine), lane);
    if (n_chunks > kHeld) __syncwarp();
  }
  const auto multiply = [&](const uint8_t* strip, float* sums) {
    float p[2] = {};
    int lane = threadIdx.x & 31;
    if constexpr (Gated) asm volatile("" : "+r"(lane));  // what depends on it is not kept in registers from strip to strip
    const uint8_t* at = strip + first_chunk * Shape::blocks * block_size;
#pragma unroll
    for (int c = 0; c < kHeld; c++)
      if (c < n_chunks) add_product<C, S, G>(at + c * Shape::blocks * block_size, second(c), x[c], lane, p);
#pragma unroll 1
    for (int c = kHeld; c < n_chunks; c++) add_product<C, S, G>(at + c * Shape::blocks * block_size, second(c), OperandPlace::get(operands + c * OperandPlace::bytes, lane), lane, p);
    const float v = row_sum(p, lane);
    if ((lane & 3) < 2) sums[((lane >> 2) + 8 * (lane & 1)) * kSumStride + warp] = v;
  };
  for_each_strip(stream, 1, multiply, [&](int begin, int n, const float* sums) {
    if (n == 0) {  // before the first barrier
      if (!Gated && a.source.kind == SourceKind::rms) {
        const float all = Shape::sum(mine);
        if (lane == 0) squares[warp] = all;
      }
      return;
    }
    const int i = t / kStripRows * step;
    if (i >= n) return;
    float added = a.pair ? 0.0f : ahead.second_bias;
    if (begin > 0) {
      ahead = outlet_of(a, stream.first + begin + i, 0, t % kStripRows);
      added = ahead.add ? *ahead.add : 0.0f;
    }
    if (ahead.y) let_out(a, ahead, sums + (i * kStripRows + t % kStripRows) * kSumStride, kStripRows * kSumStride, squares, 0, added);
  });
}

template <Codes C, int G, bool Gated> __device__ __forceinline__ void make_rows(const ProjectArgs& a, Rows rows, uint8_t* operands, int row_bytes, float* squares, int first_chunk, int n_chunks, int lane, int warp) {
  const Maker<C, G, Gated> maker(a.source, a.cols, a.layout.offset, lane);
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

template <Codes C, Scales S, int G> __global__ void __launch_bounds__(kThreads, 1) project_rows(const __grid_constant__ ProjectArgs a) {
  extern __shared__ __align__(128) uint8_t shared[];
  constexpr int block_size = block_bytes(C, S, G);
  using Shape = Chunk<C, G>;
  let_next_start();
  const Rows rows{static_cast<int>(blockIdx.y) * a.rows_each, min(a.rows_each, a.rows - static_cast<int>(blockIdx.y) * a.rows_each)};
  if (static_cast<int>(blockIdx.x) >= a.strip_blocks) return float_rows(a, rows, shared);
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
    if (a.source.kind > SourceKind::rms) make_rows<C, G, true>(a, rows, operands, row_bytes, squares, first_chunk, n_chunks, lane, warp);
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
    if (a.rows > 1) return reinterpret_cast<const void*>(project_rows<kind.codes, kind.scales, kind.groups>);
    if (a.source.kind > SourceKind::rms) return reinterpret_cast<const void*>(project_row<kind.codes, kind.scales, kind.groups, true>);
    return reinterpret_cast<const void*>(project_row<kind.codes, kind.scales, kind.groups, false>);
  });
}

}  // namespace cuda
