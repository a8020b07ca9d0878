// delta_chunk: what the three kernels of the chunked delta rule share: which chunk a block has, matrix instructions, and how tiles lie in memory.
//
// With rows of a chunk as i and j, c the running sum of log decays, G = exp(c_i - c_j), and S the state before the chunk (spec 1.5.1):
//   A = beta_i k_i k_j G (j < i),  T = (1 + A)^-1,  P = q_i k_j G (j <= i)             prepare: block (chunk, key head), and (chunk, value head) for beta v
//   N = T (beta v - beta exp(c) K S),  S <- exp(c_end) S + (exp(c_end - c) N)^T K      scan: block (32 columns of S, value head, sequence)
//   o = exp(c) Q S + P N                                                              finish: block (value head, chunk)
// Operands are halves, sums and the state float32. T takes N apart rather than K and V, so that k is rounded once and the recurrence of the rounded
// keys is exact.
//
// Tiles: rows of 256 B (keys) or 128 B (T) with their 16-byte pieces permuted, piece p of row r at p ^ (r & 7), for ldmatrix. Q, P and S lie as registers
// hold them: 16 B a lane, 512 B for a 16 x 16 piece. values: [8 rows of the chunk][column][8 rows].
#pragma once
#include "device/cuda/delta.h"
#include "device/cuda/delta_gates.cuh"

namespace cuda::chunk {

constexpr int kRows = kChunkRows, kDim = 128, kTaps = 4;

struct Place { SequenceOnDevice sequence; int first, rows; };  // first: row of the step; rows of the chunk, 0 where there is no such chunk

// Chunks of the sequences before `sequence`. All lanes of a warp call it and get it.
__device__ __forceinline__ int chunks_before(const DeltaArgs& a, int sequence) {
  int sum = 0;
  for (int i = threadIdx.x & 31; i < sequence; i += 32) sum += delta_chunks(a.step.sequences[i].n_rows);
#pragma unroll
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
  return sum;
}

// Where chunk number `chunk` of the step is.
__device__ __forceinline__ Place place_of(const DeltaArgs& a, int chunk) {
  const int lane = threadIdx.x & 31;
  for (int i = 0; i < a.n_sequences; i += 32) {
    const int own = i + lane < a.n_sequences ? delta_chunks(a.step.sequences[i + lane].n_rows) : 0;
    int end = own;
#pragma unroll
    for (int o = 1; o < 32; o <<= 1) {
      const int before = __shfl_up_sync(~0u, end, o);
      end += lane >= o ? before : 0;
    }
    const unsigned behind = __ballot_sync(~0u, end > chunk);
    if (behind) {
      const int which = __ffs(behind) - 1, nth = chunk - __shfl_sync(~0u, end - own, which);
      const SequenceOnDevice s = a.step.sequences[i + which];
      return {s, s.first_row + nth * kRows, min(kRows, s.n_rows - nth * kRows)};
    }
    chunk -= __shfl_sync(~0u, end, 31);
  }
  return {{}, 0, 0};
}

__device__ __forceinline__ int value_head(const DeltaArgs& a, int key_head, int nth) { return a.tiled ? key_head + nth * a.n_key_heads : key_head * (a.n_value_heads / a.n_key_heads) + nth; }

__device__ __forceinline__ uint32_t pack(float low, float high) {  // saturating
  uint32_t r;
  asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
__device__ __forceinline__ float2 unpack(uint32_t v) { return __half22float2(reinterpret_cast<const __half2&>(v)); }

// D += A B: 16 x 8 += 16 x 16 times 16 x 8. With lane = 4 g + c: a0 (row g, columns 2c, 2c + 1), a1 (g + 8), a2 (g, columns + 8), a3 (g + 8, + 8); b0 (rows 2c,
// 2c + 1, column g), b1 (rows + 8); d0, d1 (row g, columns 2c, 2c + 1), d2, d3 (row g + 8).
__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], uint32_t shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared));
}
__device__ __forceinline__ void load_transposed(uint32_t (&r)[4], uint32_t shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared));
}
__device__ __forceinline__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// Byte of piece `piece` of a row in a permuted tile.
template <int RowBytes> __device__ __forceinline__ int piece_at(int row, int piece) { return row * RowBytes + (piece ^ (row & 7)) * 16; }

// The 16 x 16 part of a tile at (row, column) as registers a0 to a3 of an A operand.
template <int RowBytes> __device__ __forceinline__ void load_a(uint32_t (&r)[4], uint32_t tile, int row, int column) {
  const int lane = threadIdx.x & 31;
  load_matrices(r, tile + piece_at<RowBytes>(row + lane % 16, column / 8 + lane / 16));
}
// The part at (row, column) as B operand whose columns are the tile's rows: r0, r1 of the tile's rows 0 to 7, r2, r3 of rows 8 to 15.
template <int RowBytes> __device__ __forceinline__ void load_b(uint32_t (&r)[4], uint32_t tile, int row, int column) {
  const int lane = threadIdx.x & 31;
  load_matrices(r, tile + piece_at<RowBytes>(row + lane % 8 + lane / 16 * 8, column / 8 + lane / 8 % 2));
}
// The part at (row, column) as B operand whose rows are the tile's rows: r0, r1 of the tile's columns 0 to 7, r2, r3 of columns 8 to 15.
template <int RowBytes> __device__ __forceinline__ void load_b_rows(uint32_t (&r)[4], uint32_t tile, int row, int column) {
  const int lane = threadIdx.x & 31;
  load_transposed(r, tile + piece_at<RowBytes>(row + lane % 16, column / 8 + lane / 16));
}

// Arrays of one chunk and head.
__device__ __forceinline__ uint16_t* queries_at(const DeltaChunkArgs& a, int chunk, int key_head) { return a.scratch.queries + (static_cast<int64_t>(chunk) * a.delta.n_key_heads + key_head) * kRows * kDim; }
__device__ __forceinline__ uint16_t* keys_at(const DeltaChunkArgs& a, int chunk, int key_head) { return a.scratch.keys + (static_cast<int64_t>(chunk) * a.delta.n_key_heads + key_head) * kRows * kDim; }
__device__ __forceinline__ int64_t head_at(const DeltaChunkArgs& a, int chunk, int head) { return static_cast<int64_t>(chunk) * a.delta.n_value_heads + head; }
__device__ __forceinline__ uint16_t* values_at(const DeltaChunkArgs& a, int chunk, int head) { return a.scratch.values + head_at(a, chunk, head) * kRows * kDim; }
__device__ __forceinline__ uint16_t* states_at(const DeltaChunkArgs& a, int chunk, int head) { return a.scratch.states + head_at(a, chunk, head) * kDim * kDim; }
__device__ __forceinline__ uint16_t* inverses_at(const DeltaChunkArgs& a, int chunk, int head) { return a.scratch.inverses + head_at(a, chunk, head) * kRows * kRows; }
__device__ __forceinline__ uint16_t* weights_at(const DeltaChunkArgs& a, int chunk, int head) { return a.scratch.weights + head_at(a, chunk, head) * kRows * kRows; }
// exp(c), exp(c_end - c), beta exp(c)
__device__ __forceinline__ float* gates_at(const DeltaChunkArgs& a, int chunk, int head) { return a.scratch.gates + head_at(a, chunk, head) * 3 * kRows; }

const void* prepare_kernel();
const void* scan_kernel();
const void* finish_kernel();
constexpr int kScanColumns = 32, kScanThreads = 160, kScanStages = 3, kScanExchangeBytes = 2 * 16 * 512, kScanStageBytes = kRows * kDim * 2 + kRows * kRows * 2 + 3 * kRows * 4;
constexpr int kPrepareBytes = kRows * kDim * 2 + 2 * (kRows + kTaps - 1) * kDim * 4, kFinishBytes = (2 * kRows * kDim + kRows * kRows + kDim * kDim) * 2;

}  // namespace cuda::chunk
