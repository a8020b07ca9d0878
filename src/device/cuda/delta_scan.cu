// delta_scan: the recurrence over the chunks of a sequence. A warp keeps 16 columns of S in registers as S^T, so that every result is the next product's
// operand where it lies. Block (32 columns, value head, sequence).
#include "device/cuda/delta_chunk.cuh"

namespace cuda::chunk {
namespace {

constexpr int kThreads = kScanThreads, kCarriers = kScanColumns / 16, kKeyBytes = kRows * kDim * 2, kInverseBytes = kRows * kRows * 2, kGateBytes = 3 * kRows * 4;
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

__global__ void __launch_bounds__(kThreads, 1) scan(const DeltaChunkArgs a) {
  extern __shared__ __align__(128) uint8_t memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane / 4, c = lane % 4, head = blockIdx.y;
  const int key_head = a.delta.tiled ? head % a.delta.n_key_heads : head / (a.delta.n_value_heads / a.delta.n_key_heads);
  let_next_start();
  const SequenceOnDevice sequence = a.delta.step.sequences[blockIdx.z];
  const int first = chunks_before(a.delta, blockIdx.z), n = delta_chunks(sequence.n_rows), column = blockIdx.x * kScanColumns + 16 * warp;
  float* const state = a.delta.state + ((static_cast<int64_t>(sequence.slot) * a.delta.n_value_heads + head) * kDim + column) * kDim;
  float s[kDim / 8][4];  // S^T: rows are 16 columns of S, 8 keys each
#pragma unroll
  for (int t = 0; t < kDim / 8; t++)
#pragma unroll
    for (int e = 0; e < 4; e += 2) {
      const float2 v = n && warp < kCarriers ? __ldcg(reinterpret_cast<const float2*>(state + (g + 4 * e) * kDim + 8 * t + 2 * c)) : float2{};
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
  uint32_t values[8][2];  // beta v: 8 rows of the chunk, columns g and g + 8
  const auto load_values = [&](int chunk) {
    const uint32_t* from = reinterpret_cast<const uint32_t*>(values_at(a, chunk, head)) + (column + g) * 4 + c;
#pragma unroll
    for (int t = 0; t < 8; t++) values[t][0] = __ldcg(from + t * kDim * 4), values[t][1] = __ldcg(from + t * kDim * 4 + 32);
  };
  load_values(first);
  for (int i = 0; i < n; i++) {
    const int chunk = first + i;
    const uint32_t keys = stages + i % kScanStages * kScanStageBytes, inverse = keys + kKeyBytes;
    const float* const gate = reinterpret_cast<const float*>(memory + i % kScanStages * kScanStageBytes + kKeyBytes + kInverseBytes);
    __syncthreads();

    uint32_t before[kDim / 16][4];
    uint4* const kept = reinterpret_cast<uint4*>(states_at(a, chunk, head)) + column / 16 * (kDim / 16) * 32 + lane;
#pragma unroll
    for (int k = 0; k < kDim / 16; k++) {
      before[k][0] = pack(s[2 * k][0], s[2 * k][1]), before[k][1] = pack(s[2 * k][2], s[2 * k][3]);
      before[k][2] = pack(s[2 * k + 1][0], s[2 * k + 1][1]), before[k][3] = pack(s[2 * k + 1][2], s[2 * k + 1][3]);
      kept[k * 32] = {before[k][0], before[k][1], before[k][2], before[k][3]};
    }
    float x[kRows / 8][4] = {};  // (K S)^T
    uint32_t b[2][4][4];         // operands of the next products are loaded ahead of these
    const auto load_keys = [&](int k) {
#pragma unroll
      for (int r = 0; r < kRows / 16; r++) load_b<kDim * 2>(b[k & 1][r], keys, 16 * r, 16 * k);
    };
    load_keys(0);
#pragma unroll
    for (int k = 0; k < kDim / 16; k++) {
      if (k + 1 < kDim / 16) load_keys(k + 1);
#pragma unroll
      for (int r = 0; r < kRows / 16; r++) multiply(x[2 * r], before[k], b[k & 1][r][0], b[k & 1][r][1]), multiply(x[2 * r + 1], before[k], b[k & 1][r][2], b[k & 1][r][3]);
    }
    const auto load_inverse = [&](int k) {
#pragma unroll
      for (int r = k; r < kRows / 16; r++) load_b<kRows * 2>(b[k & 1][r], inverse, 16 * r, 16 * k);
    };
    load_inverse(0);
    uint32_t y[kRows / 16][4];  // (beta v - beta exp(c) K S)^T
#pragma unroll
    for (int t = 0; t < kRows / 8; t++) {
      const float2 share = *reinterpret_cast<const float2*>(gate + 2 * kRows + 8 * t + 2 * c), v = unpack(values[t][0]), w = unpack(values[t][1]);
      y[t / 2][t % 2 * 2] = pack(v.x - share.x * x[t][0], v.y - share.y * x[t][1]);
      y[t / 2][t % 2 * 2 + 1] = pack(w.x - share.x * x[t][2], w.y - share.y * x[t][3]);
    }
    if (i + 1 < n) load_values(chunk + 1);
    uint32_t writes[kRows / 16][4];  // (exp(c_end - c) N)^T
    uint32_t* const news = reinterpret_cast<uint32_t*>(values_at(a, chunk, head)) + (column + g) * 4 + c;
    float d[kRows / 8][4] = {};      // N^T
#pragma unroll
    for (int k = 0; k < kRows / 16; k++) {
      if (k + 1 < kRows / 16) load_inverse(k + 1);
#pragma unroll
      for (int r = k; r < kRows / 16; r++) multiply(d[2 * r], y[k], b[k & 1][r][0], b[k & 1][r][1]), multiply(d[2 * r + 1], y[k], b[k & 1][r][2], b[k & 1][r][3]);
    }
    const auto load_update = [&](int n) {  // 16 rows of the chunk, 64 keys
#pragma unroll
      for (int k = 0; k < 4; k++) load_b_rows<kDim * 2>(b[n & 1][k], keys, 16 * (n / 2), 64 * (n % 2) + 16 * k);
    };
    load_update(0);
#pragma unroll
    for (int t = 0; t < kRows / 8; t++) {
      const float2 left = *reinterpret_cast<const float2*>(gate + kRows + 8 * t + 2 * c);
      news[t * kDim * 4] = pack(d[t][0], d[t][1]), news[t * kDim * 4 + 32] = pack(d[t][2], d[t][3]);
      writes[t / 2][t % 2 * 2] = pack(d[t][0] * left.x, d[t][1] * left.y), writes[t / 2][t % 2 * 2 + 1] = pack(d[t][2] * left.x, d[t][3] * left.y);
    }
    const float decay = gate[kRows - 1];
#pragma unroll
    for (int t = 0; t < kDim / 8; t++)
#pragma unroll
      for (int e = 0; e < 4; e++) s[t][e] *= decay;
#pragma unroll
    for (int n = 0; n < 2 * kRows / 16; n++) {
      if (n + 1 < 2 * kRows / 16) load_update(n + 1);
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const int t = 8 * (n % 2) + 2 * k;
        multiply(s[t], writes[n / 2], b[n & 1][k][0], b[n & 1][k][1]), multiply(s[t + 1], writes[n / 2], b[n & 1][k][2], b[n & 1][k][3]);
      }
    }
  }
#pragma unroll
  for (int t = 0; t < kDim / 8; t++)
#pragma unroll
    for (int e = 0; e < 4; e += 2) *reinterpret_cast<float2*>(state + (g + 4 * e) * kDim + 8 * t + 2 * c) = {s[t][e], s[t][e + 1]};
}

}  // namespace

const void* scan_kernel() { return reinterpret_cast<const void*>(scan); }

}  // namespace cuda::chunk
