// delta_scan: the recurrence over the chunks of a sequence. Two warps keep 16 columns of S in registers as S^T, half of the keys each, so that results are
// the next products' operands where they lie; each takes half of a chunk's rows. Block (32 columns, value head, sequence).
#include "device/cuda/delta_chunk.cuh"

namespace cuda::chunk {
namespace {

constexpr int kThreads = kScanThreads, kCarriers = kScanColumns / 8, kKeyBytes = kRows * kDim * 2, kInverseBytes = kRows * kRows * 2, kGateBytes = 3 * kRows * 4;
static_assert(kScanStageBytes == kKeyBytes + kInverseBytes + kGateBytes && kThreads == 32 * (kCarriers + 1));

// One warp copies for the others.
template <int Bytes> __device__ __forceinline__ void copy_bytes(uint32_t to, const void* from) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int i = 0; i < Bytes; i += 512)
    if (i + lane * 16 < Bytes) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i + lane * 16), "l"(static_cast<const uint8_t*>(from) + i + lane * 16));
}
__device__ __forceinline__ void fetch(const DeltaChunkArgs& a, int chunk, int key_head, int head, uint32_t stage) {
  copy_bytes<kKeyBytes>(stage, keys_at(a, chunk, key_head));
  copy_bytes<kInverseBytes>(stage + kKeyBytes, inverses_at(a, chunk, head));
  copy_bytes<kGateBytes>(stage + kKeyBytes + kInverseBytes, gates_at(a, chunk, head));
}

// The last inputs of the convolution, a lane for each column of the block; the first value head of a key head keeps what they share.
__device__ __forceinline__ void keep_history(const DeltaArgs& a, const SequenceOnDevice& s, int head, int key_head) {
  const int channels = (2 * a.n_key_heads + a.n_value_heads) * kDim, repeats = a.n_value_heads / a.n_key_heads, column = blockIdx.x * kScanColumns + (threadIdx.x & 31);
  const bool first = a.tiled ? head < a.n_key_heads : head % repeats == 0;
  for (int row = max(0, s.n_rows - (kTaps - 1)); row < s.n_rows; row++) {
    const float* const from = a.qkv + static_cast<int64_t>(s.first_row + row) * channels + column;
    float* const to = a.history + (static_cast<int64_t>(s.slot) * kTaps + (s.past + row) % kTaps) * channels + column;
    const int value = (2 * a.n_key_heads + head) * kDim, query = key_head * kDim, key = (a.n_key_heads + key_head) * kDim;
    to[value] = from[value];
    if (first) to[query] = from[query], to[key] = from[key];
  }
}

// What the two warps of 16 columns give each other, 16 x 16 pieces as registers hold them: S^T by keys, then Y and N by rows of the chunk.
struct Exchange { uint4 states[kDim / 16][32], inputs[kRows / 16][32], writes[kRows / 16][32]; };
static_assert(sizeof(Exchange) * kScanColumns / 16 == kScanExchangeBytes);

__device__ __forceinline__ void meet(int barrier) { asm volatile("bar.sync %0, 64;" ::"r"(barrier) : "memory"); }
__device__ __forceinline__ void announce(int barrier) { asm volatile("bar.arrive %0, 64;" ::"r"(barrier) : "memory"); }
__device__ __forceinline__ void give(uint4* to, const uint32_t (&r)[4]) { to[threadIdx.x & 31] = {r[0], r[1], r[2], r[3]}; }
__device__ __forceinline__ void take(uint32_t (&r)[4], const uint4* from) {
  const uint4 v = from[threadIdx.x & 31];
  r[0] = v.x, r[1] = v.y, r[2] = v.z, r[3] = v.w;
}

// x += (K S)^T of this warp's 32 rows over 64 keys from `key` on; `s` are their pieces of S^T.
__device__ __forceinline__ void read_state(float (&x)[4][4], const uint32_t (&s)[4][4], uint32_t keys, int row, int key) {
  uint32_t b[2][2][4];  // operands of the next products are loaded ahead of these
#pragma unroll
  for (int r = 0; r < 2; r++) load_b<kDim * 2>(b[0][r], keys, row + 16 * r, key);
#pragma unroll
  for (int k = 0; k < 4; k++) {
#pragma unroll
    for (int r = 0; r < 2; r++)
      if (k < 3) load_b<kDim * 2>(b[(k + 1) & 1][r], keys, row + 16 * r, key + 16 * (k + 1));
#pragma unroll
    for (int r = 0; r < 2; r++) multiply(x[2 * r], s[k], b[k & 1][r][0], b[k & 1][r][1]), multiply(x[2 * r + 1], s[k], b[k & 1][r][2], b[k & 1][r][3]);
  }
}
// s += (N^T K) of 32 rows of the chunk from `row` on and the 64 keys from `key` on.
__device__ __forceinline__ void write_state(float (&s)[8][4], const uint32_t (&writes)[2][4], uint32_t keys, int row, int key) {
  uint32_t b[2][4][4];
#pragma unroll
  for (int r = 0; r < 2; r++)
#pragma unroll
    for (int k = 0; k < 4; k++) load_b_rows<kDim * 2>(b[r][k], keys, row + 16 * r, key + 16 * k);
#pragma unroll
  for (int r = 0; r < 2; r++)
#pragma unroll
    for (int k = 0; k < 4; k++) multiply(s[2 * k], writes[r], b[r][k][0], b[r][k][1]), multiply(s[2 * k + 1], writes[r], b[r][k][2], b[r][k][3]);
}
// d += (T Y)^T of 32 rows of the chunk from `row` on, over the 16 of Y from 16 * k on; only rows from there on depend on them.
__device__ __forceinline__ void solve(float (&d)[4][4], const uint32_t (&y)[4], uint32_t inverse, int row, int k) {
#pragma unroll
  for (int r = 0; r < 2; r++) {
    if (row + 16 * r < 16 * k) continue;
    uint32_t b[4];
    load_b<kRows * 2>(b, inverse, row + 16 * r, 16 * k);
    multiply(d[2 * r], y, b[0], b[1]), multiply(d[2 * r + 1], y, b[2], b[3]);
  }
}

__global__ void __launch_bounds__(kThreads, 1) scan(const DeltaChunkArgs a) {
  extern __shared__ __align__(128) uint8_t memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane / 4, c = lane % 4, pair = warp / 2, half = warp % 2, head = blockIdx.y;
  const int key_head = a.delta.tiled ? head % a.delta.n_key_heads : head / (a.delta.n_value_heads / a.delta.n_key_heads);
  let_next_start();
  const SequenceOnDevice sequence = a.delta.step.sequences[blockIdx.z];
  const int first = chunks_before(a.delta, blockIdx.z), n = delta_chunks(sequence.n_rows), column = blockIdx.x * kScanColumns + 16 * pair;
  float* const state = a.delta.state + ((static_cast<int64_t>(sequence.slot) * a.delta.n_value_heads + head) * kDim + column) * kDim + 64 * half + 2 * c;
  float s[8][4];  // S^T: 16 columns of S, 8 keys each
#pragma unroll
  for (int t = 0; t < 8; t++)
#pragma unroll
    for (int e = 0; e < 4; e += 2) {
      const float2 v = n && warp < kCarriers ? __ldcg(reinterpret_cast<const float2*>(state + (g + 4 * e) * kDim + 8 * t)) : float2{};
      s[t][e] = v.x, s[t][e + 1] = v.y;
    }
  wait_for_input();
  if (n == 0) return;
  const uint32_t stages = shared_address(memory);
  if (warp == kCarriers) {
    for (int i = 0; i < n + kScanStages - 2; i++) {
      if (i < n) fetch(a, first + i, key_head, head, stages + i % kScanStages * kScanStageBytes);
      asm volatile("cp.async.commit_group;");
      if (i < kScanStages - 2) continue;
      asm volatile("cp.async.wait_group %0;" ::"n"(kScanStages - 2));
      __syncthreads();  // chunk i - (kScanStages - 2) is there, and the one before it has been used
    }
    return keep_history(a.delta, sequence, head, key_head);
  }
  Exchange& exchange = reinterpret_cast<Exchange*>(memory + kScanStages * kScanStageBytes)[pair];
  const int met = 1 + 3 * pair;  // three barriers of the pair
  uint32_t values[4][2];         // beta v: 8 rows of the chunk, columns g and g + 8
  const auto load_values = [&](int chunk) {
    const uint32_t* from = reinterpret_cast<const uint32_t*>(values_at(a, chunk, head)) + (4 * half * kDim + column + g) * 4 + c;
#pragma unroll
    for (int t = 0; t < 4; t++) values[t][0] = __ldcg(from + t * kDim * 4), values[t][1] = __ldcg(from + t * kDim * 4 + 32);
  };
  load_values(first);
  for (int i = 0; i < n; i++) {
    const int chunk = first + i;
    const uint32_t keys = stages + i % kScanStages * kScanStageBytes, inverse = keys + kKeyBytes;
    const float* const gate = reinterpret_cast<const float*>(memory + i % kScanStages * kScanStageBytes + kKeyBytes + kInverseBytes) + 32 * half + 2 * c;
    __syncthreads();

    uint32_t own[4][4];
    uint4* const kept = reinterpret_cast<uint4*>(states_at(a, chunk, head)) + (column / 16 * (kDim / 16) + 4 * half) * 32;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      own[k][0] = pack(s[2 * k][0], s[2 * k][1]), own[k][1] = pack(s[2 * k][2], s[2 * k][3]);
      own[k][2] = pack(s[2 * k + 1][0], s[2 * k + 1][1]), own[k][3] = pack(s[2 * k + 1][2], s[2 * k + 1][3]);
      give(exchange.states[4 * half + k], own[k]), give(kept + k * 32, own[k]);
    }
    float x[4][4] = {};  // (K S)^T of this warp's rows
    read_state(x, own, keys, 32 * half, 64 * half);
    meet(met);
#pragma unroll
    for (int k = 0; k < 4; k++) take(own[k], exchange.states[4 * (1 - half) + k]);
    read_state(x, own, keys, 32 * half, 64 * (1 - half));
    uint32_t y[2][4];  // (beta v - beta exp(c) K S)^T
#pragma unroll
    for (int t = 0; t < 4; t++) {
      const float2 share = *reinterpret_cast<const float2*>(gate + 2 * kRows + 8 * t), v = unpack(values[t][0]), w = unpack(values[t][1]);
      y[t / 2][t % 2 * 2] = pack(v.x - share.x * x[t][0], v.y - share.y * x[t][1]);
      y[t / 2][t % 2 * 2 + 1] = pack(w.x - share.x * x[t][2], w.y - share.y * x[t][3]);
    }
    if (i + 1 < n) load_values(chunk + 1);
    float d[4][4] = {};  // N^T: the later rows need the earlier ones
    if (half == 0) {
      give(exchange.inputs[0], y[0]), give(exchange.inputs[1], y[1]);
      announce(met + 1);
      solve(d, y[0], inverse, 0, 0), solve(d, y[1], inverse, 0, 1);
    } else {
      solve(d, y[0], inverse, 32, 2), solve(d, y[1], inverse, 32, 3);
      meet(met + 1);
      take(y[0], exchange.inputs[0]), take(y[1], exchange.inputs[1]);
      solve(d, y[0], inverse, 32, 0), solve(d, y[1], inverse, 32, 1);
    }
    uint32_t writes[2][4];  // (exp(c_end - c) N)^T
    uint32_t* const news = reinterpret_cast<uint32_t*>(values_at(a, chunk, head)) + (4 * half * kDim + column + g) * 4 + c;
#pragma unroll
    for (int t = 0; t < 4; t++) {
      const float2 left = *reinterpret_cast<const float2*>(gate + kRows + 8 * t);
      news[t * kDim * 4] = pack(d[t][0], d[t][1]), news[t * kDim * 4 + 32] = pack(d[t][2], d[t][3]);
      writes[t / 2][t % 2 * 2] = pack(d[t][0] * left.x, d[t][1] * left.y), writes[t / 2][t % 2 * 2 + 1] = pack(d[t][2] * left.x, d[t][3] * left.y);
    }
    give(exchange.writes[2 * half], writes[0]), give(exchange.writes[2 * half + 1], writes[1]);
    const float decay = gate[kRows - 1 - 32 * half - 2 * c];
#pragma unroll
    for (int t = 0; t < 8; t++)
#pragma unroll
      for (int e = 0; e < 4; e++) s[t][e] *= decay;
    write_state(s, writes, keys, 32 * half, 64 * half);
    meet(met + 2);
    take(writes[0], exchange.writes[2 * (1 - half)]), take(writes[1], exchange.writes[2 * (1 - half) + 1]);
    write_state(s, writes, keys, 32 * (1 - half), 64 * half);
  }
#pragma unroll
  for (int t = 0; t < 8; t++)
#pragma unroll
    for (int e = 0; e < 4; e += 2) *reinterpret_cast<float2*>(state + (g + 4 * e) * kDim + 8 * t) = {s[t][e], s[t][e + 1]};
}

}  // namespace

const void* scan_kernel() { return reinterpret_cast<const void*>(scan); }

}  // namespace cuda::chunk
