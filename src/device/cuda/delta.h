// delta: how the host runs the gated delta rule: which kernels serve a shape, their grids, and the scratch memory of prompts.
//
// What a sequence remembers (its slot of a layer): the state [value heads][value_dim][key_dim], a row for each column of S, and the last inputs of
// the convolution as a ring [kernel][channels]: position p lies at p % kernel. A step reads the kernel - 1 positions before its own and writes into
// places that hold older ones, so that no block overwrites what another one still reads. Both were written a whole step ago: kernels read them
// before they wait for the kernel before them. The tables of a step must be complete before its first kernel starts.
#pragma once
#include "device/cuda/kernels.h"
#include "device/cuda/strips.h"

namespace cuda {

inline constexpr int kChunkRows = 64, kMaxKeyShares = 8;  // value heads that share a key head

// One row of each sequence that has one row (others are left alone); writes args.y before the norm, or all but the norm and its squares. Grid (value heads, value_dim / columns, sequences).
struct DeltaStep {
  const void* kernel = nullptr;  // null: the shape has no fast kernel
  int32_t columns = 32, threads = 128;
};
DeltaStep delta_step(int32_t key_dim, int32_t kernel);

// Prompts: sequences of two rows and more, in chunks of kChunkRows counted from the sequence's first row of the step. Arrays hold, for each chunk of the
// step, what delta_chunk_bytes counts.
struct DeltaScratch {
  uint16_t *queries, *keys;      // [chunk][key head][64 * key_dim] halves
  uint16_t *values;              // [chunk][value head][64 * value_dim] halves: beta v, then what is written into the state
  uint16_t *inverses, *weights;  // [chunk][value head][64 * 64] halves: (1 + A)^-1 and q k
  uint16_t *states;              // [chunk][value head][key_dim * value_dim] halves: the state before the chunk
  float* gates;                  // [chunk][value head][3][64]
};
struct DeltaChunkArgs {
  DeltaArgs delta;  // y: null where only halves are wanted; mixed is not used
  DeltaScratch scratch;
  Halves halves;    // data null: not wanted
};
bool has_delta_chunks(const DeltaArgs& a);
constexpr int32_t delta_chunks(int32_t rows) { return rows > 1 ? (rows + kChunkRows - 1) / kChunkRows : 0; }  // of one sequence; the step's are their sum

struct DeltaLaunch { const void* kernel; int32_t grid[3], threads, shared_bytes; };
struct DeltaChunkLaunches { DeltaLaunch prepare, scan, finish; };  // in this order
DeltaChunkLaunches delta_chunk_launches(const DeltaArgs& a, int32_t chunks);

// Divides `memory` (256-byte aligned, delta_chunk_bytes * chunks) among the arrays.
int64_t delta_chunk_bytes(const DeltaArgs& a);
DeltaScratch delta_scratch(const DeltaArgs& a, int32_t chunks, void* memory);

// rms_norm(y) * gain * silu(z) for sequences of one row, from and to args.delta.y and into args.halves where wanted. Grid (rows, value heads), 128 threads.
const void* delta_row_finish_kernel();

}  // namespace cuda
