// delta_finish: results of the gated delta rule and their gated norm: of prompts from the states before their chunks, of single rows from their sums; and
// how the host launches prompts. Block of a prompt: (value head, chunk), a warp for 32 columns.
#include <utility>
#include "device/cuda/delta_chunk.cuh"

namespace cuda::chunk {
namespace {

constexpr int kWarps = 4, kColumns = kDim / kWarps;

struct Shared { uint16_t queries[kRows * kDim], states[kDim * kDim], weights[kRows * kRows], values[kRows * kDim]; };
static_assert(sizeof(Shared) == kFinishBytes);

template <int N> __device__ __forceinline__ void fetch(uint16_t (&to)[N], const uint16_t* from) {
  for (int i = threadIdx.x * 8; i < N; i += 32 * kWarps * 8) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to + i)), "l"(from + i));
}
// A stored 16 x 16 piece.
__device__ __forceinline__ void load_piece(uint32_t (&r)[4], const uint16_t* pieces, int nth) {
  const uint4 v = reinterpret_cast<const uint4*>(pieces)[nth * 32 + (threadIdx.x & 31)];
  r[0] = v.x, r[1] = v.y, r[2] = v.z, r[3] = v.w;
}

__global__ void __launch_bounds__(32 * kWarps, 3) finish(const DeltaChunkArgs a) {
  extern __shared__ __align__(128) uint8_t memory[];
  __shared__ float squares[kWarps][kRows];
  Shared& s = *reinterpret_cast<Shared*>(memory);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane / 4, c = lane % 4, head = blockIdx.x, chunk = blockIdx.y;
  const int key_head = a.delta.tiled ? head % a.delta.n_key_heads : head / (a.delta.n_value_heads / a.delta.n_key_heads);
  let_next_start();
  const Place at = place_of(a.delta, chunk);
  wait_for_input();
  if (at.rows == 0) return;
  fetch(s.queries, queries_at(a, chunk, key_head)), fetch(s.states, states_at(a, chunk, head));
  asm volatile("cp.async.commit_group;");
  fetch(s.weights, weights_at(a, chunk, head)), fetch(s.values, values_at(a, chunk, head));
  asm volatile("cp.async.commit_group;");
  const int64_t width = static_cast<int64_t>(a.delta.n_value_heads) * kDim;
  for (int i = threadIdx.x; i < at.rows * 4; i += 32 * kWarps) asm volatile("prefetch.global.L2 [%0];" ::"l"(a.delta.z + (at.first + i / 4) * width + head * kDim + i % 4 * 32));
  asm volatile("cp.async.wait_group 1;");
  __syncthreads();
  float o[4][4][4] = {};  // 16 rows, 8 columns
#pragma unroll
  for (int k = 0; k < kDim / 16; k++) {
    uint32_t state[2][4];
#pragma unroll
    for (int n = 0; n < 2; n++) load_piece(state[n], s.states, (2 * warp + n) * (kDim / 16) + k);
#pragma unroll
    for (int m = 0; m < 4; m++) {
      uint32_t q[4];
      load_piece(q, s.queries, m * (kDim / 16) + k);
#pragma unroll
      for (int n = 0; n < 2; n++) multiply(o[m][2 * n], q, state[n][0], state[n][2]), multiply(o[m][2 * n + 1], q, state[n][1], state[n][3]);
    }
  }
  const float* gate = gates_at(a, chunk, head);
#pragma unroll
  for (int m = 0; m < 4; m++) {
    const float left[2] = {gate[16 * m + g], gate[16 * m + g + 8]};
#pragma unroll
    for (int n = 0; n < 4; n++)
#pragma unroll
      for (int e = 0; e < 4; e++) o[m][n][e] *= left[e / 2];
  }
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  const uint32_t* news = reinterpret_cast<const uint32_t*>(s.values) + (kColumns * warp + g) * 4 + c;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    uint32_t b[4][2];
#pragma unroll
    for (int n = 0; n < 4; n++)
#pragma unroll
      for (int h = 0; h < 2; h++) b[n][h] = news[(2 * k + h) * kDim * 4 + n * 32];
#pragma unroll
    for (int m = k; m < 4; m++) {
      uint32_t p[4];
      load_piece(p, s.weights, m * 4 + k);
#pragma unroll
      for (int n = 0; n < 4; n++) multiply(o[m][n], p, b[n][0], b[n][1]);
    }
  }
  const float scale = rsqrtf(static_cast<float>(kDim));
#pragma unroll
  for (int m = 0; m < 4; m++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float sum = 0;
#pragma unroll
      for (int n = 0; n < 4; n++)
#pragma unroll
        for (int e = 2 * h; e < 2 * h + 2; e++) o[m][n][e] *= scale, sum += o[m][n][e] * o[m][n][e];
      sum += __shfl_xor_sync(~0u, sum, 1), sum += __shfl_xor_sync(~0u, sum, 2);
      if (c == 0) squares[warp][16 * m + 8 * h + g] = sum;
    }
#pragma unroll
  for (int n = 0; n < 4; n++) {
    const float2 gain = *reinterpret_cast<const float2*>(a.delta.gain + kColumns * warp + 8 * n + 2 * c);
#pragma unroll
    for (int m = 0; m < 4; m++) o[m][n][0] *= gain.x, o[m][n][1] *= gain.y, o[m][n][2] *= gain.x, o[m][n][3] *= gain.y;
  }
  const int column = head * kDim + kColumns * warp + 2 * c;
  float2 z[4][2][4];  // all on their way before anything is stored
#pragma unroll
  for (int m = 0; m < 4; m++)
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
      for (int n = 0; n < 4; n++) {
        const int r = 16 * m + 8 * h + g;
        z[m][h][n] = r < at.rows ? __ldcs(reinterpret_cast<const float2*>(a.delta.z + (at.first + r) * width + column + 8 * n)) : float2{};
      }
  __syncthreads();
#pragma unroll
  for (int m = 0; m < 4; m++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int r = 16 * m + 8 * h + g;
      if (r >= at.rows) continue;
      const float norm = rsqrtf((squares[0][r] + squares[1][r] + squares[2][r] + squares[3][r]) / kDim + a.delta.eps);
      const int row = at.first + r;
      const int64_t from = row * width + column;
#pragma unroll
      for (int n = 0; n < 4; n++) {
        const float2 y = {o[m][n][2 * h] * norm * quick_silu(z[m][h][n].x), o[m][n][2 * h + 1] * norm * quick_silu(z[m][h][n].y)};
        if (a.delta.y) *reinterpret_cast<float2*>(a.delta.y + from + 8 * n) = y;
        if (a.halves.data) *reinterpret_cast<uint32_t*>(a.halves.data + half_at(a.halves.padded_rows, row, column + 8 * n)) = pack(y.x, y.y);
      }
    }
}

// Block (row, value head).
__global__ void finish_row(const DeltaChunkArgs a) {
  __shared__ float shared[32];
  let_next_start();
  wait_for_input();
  const int row = blockIdx.x, head = blockIdx.y, dim = a.delta.value_dim;
  if (a.delta.step.sequences[a.delta.step.row_sequence[row]].n_rows != 1) return;
  const int64_t at = (static_cast<int64_t>(row) * a.delta.n_value_heads + head) * dim;
  float sum = 0;
  for (int i = threadIdx.x; i < dim; i += blockDim.x) sum += a.delta.y[at + i] * a.delta.y[at + i];
  const float norm = rsqrtf(block_sum(sum, shared) / dim + a.delta.eps);
  for (int i = threadIdx.x; i < dim; i += blockDim.x) {
    const float y = a.delta.y[at + i] * norm * a.delta.gain[i] * quick_silu(a.delta.z[at + i]);
    a.delta.y[at + i] = y;
    if (a.halves.data) a.halves.data[half_at(a.halves.padded_rows, row, head * dim + i)] = static_cast<uint16_t>(pack(y, 0));
  }
}

constexpr int64_t kKeyHeadBytes = 2 * kRows * kDim * 2, kValueHeadBytes = (kRows * kDim + 2 * kRows * kRows + kDim * kDim) * 2 + 3 * kRows * 4;

}  // namespace

const void* finish_kernel() { return reinterpret_cast<const void*>(finish); }

}  // namespace cuda::chunk

namespace cuda {

const void* delta_row_finish_kernel() { return reinterpret_cast<const void*>(chunk::finish_row); }

bool has_delta_chunks(const DeltaArgs& a) { return a.key_dim == chunk::kDim && a.value_dim == chunk::kDim && a.kernel == chunk::kTaps && a.n_value_heads % a.n_key_heads == 0 && a.n_value_heads / a.n_key_heads <= kMaxKeyShares; }

int64_t delta_chunk_bytes(const DeltaArgs& a) { return a.n_key_heads * chunk::kKeyHeadBytes + a.n_value_heads * chunk::kValueHeadBytes; }

DeltaScratch delta_scratch(const DeltaArgs& a, int32_t chunks, void* memory) {
  auto* at = static_cast<uint16_t*>(memory);
  const auto take = [&](int64_t heads, int64_t each) { return std::exchange(at, at + chunks * heads * each); };
  DeltaScratch s{};
  s.queries = take(a.n_key_heads, kChunkRows * chunk::kDim), s.keys = take(a.n_key_heads, kChunkRows * chunk::kDim);
  s.values = take(a.n_value_heads, kChunkRows * chunk::kDim);
  s.inverses = take(a.n_value_heads, kChunkRows * kChunkRows), s.weights = take(a.n_value_heads, kChunkRows * kChunkRows);
  s.states = take(a.n_value_heads, chunk::kDim * chunk::kDim);
  s.gates = reinterpret_cast<float*>(at);
  return s;
}

DeltaChunkLaunches delta_chunk_launches(const DeltaArgs& a, int32_t chunks) {
  return {{chunk::prepare_kernel(), {chunks, a.n_key_heads + a.n_value_heads, 1}, 256, chunk::kPrepareBytes},
          {chunk::scan_kernel(), {chunk::kDim / chunk::kScanColumns, a.n_value_heads, a.n_sequences}, chunk::kScanThreads, chunk::kScanStages * chunk::kScanStageBytes + chunk::kScanExchangeBytes},
          {chunk::finish_kernel(), {a.n_value_heads, chunks, 1}, 128, chunk::kFinishBytes}};
}

}  // namespace cuda
