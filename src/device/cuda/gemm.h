// gemm: products of many rows: what the host tells their kernels, which kernel serves a matrix, and how it is launched.
//
// y[row][out] = factor * W x (+ bias) (+ residual), for up to four matrices of one kind over the same rows, or for all experts over rows sorted by expert. A block
// takes some strips of outputs and up to tile_rows rows; inputs run through a ring of stages in shared memory, 64 at a time. The order in which the products
// of a result are added up depends on nothing but the number of inputs: a row has the same result in whatever tile and company it is computed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include "device/cuda/strips.h"
#include "device/device.h"

namespace cuda {

inline constexpr int kGemmMatrices = 4, kGemmStages = 24, kGemmRows = 128, kGemmDepth = 4;  // most matrices, stages, rows of a tile, blocks of a stage
inline constexpr int kHopperGroups = 4, kMmaStrips = 8, kMmaThreads = 256;   // warpgroups of 64 outputs of a block with wgmma; strips and threads with mma.sync

struct GemmMatrix {
  const uint8_t* data;
  int64_t strip_bytes, expert_bytes;
  float scale, unit;              // of the sums; of the scales, see strips.h
  int32_t rows, first_strip;      // outputs; strips of the matrices before
  int32_t stride;                 // of y and residual, in elements
  const float *bias, *residual;   // null: none
  float* y;
};
// Up to tile_rows of the sorted rows, all of one expert.
struct GemmTile { int32_t expert, first, count, unused; };

// Rows of halves one behind another, `stride` (a multiple of 8) elements each, of which `cols` and zeros up to a multiple of 64 are read.
struct RowsOfHalves { const uint16_t* data; int32_t stride; };

struct GemmArgs {
  GemmMatrix matrices[kGemmMatrices];  // a pair: gate and up
  Halves x, hidden;                    // hidden: what a pair writes, act(gate) * up
  RowsOfHalves gathered;               // instead of x: row source[i] / top_k of these is sorted row i
  const int32_t* source;
  uint16_t* halves;                    // instead of y of the only matrix: [row][stride] of halves
  const GemmTile* tiles;               // of sorted rows; null: all rows of x, tile_rows at a time
  const int32_t* n_tiles;
  int32_t n_matrices, strips, blocks, offset, tile_rows, out_tiles;
  int32_t top_k;
  int32_t stages, stage_bytes, depth;  // depth: blocks of 64 inputs of a stage
  Activation activation;
};

struct GemmLaunch {
  const void* kernel = nullptr;  // null: no kernel for this kind
  uint32_t blocks = 0, threads = 0, shared_bytes = 0;
};

// What the planner has to know of the GPU: 10 * major + minor, multiprocessors, most bytes of shared memory of a block.
struct GemmDevice { int32_t capability, processors, shared_bytes; };

// y has a stride of `stride` elements; the residual, where there is one, the same.
GemmMatrix gemm_matrix(const Strips& w, float* y, int32_t stride, const float* bias = nullptr, const float* residual = nullptr);
// Each sets everything of `args` but matrices (rows first, strips of all before), x, hidden, halves, tiles, n_tiles and activation; rows: those of x, or entries that were sorted.
GemmLaunch plan_gemm(const GemmDevice& device, std::span<const Strips> w, bool pair, int32_t rows, GemmArgs& args);
GemmLaunch plan_grouped_gemm(const GemmDevice& device, const Strips& w, bool pair, int32_t entries, int32_t n_experts, GemmArgs& args);

// Sorting by expert. Each expert's run begins at a multiple of 8: sorted_rows() is the most rows there can be, padding included.
struct Sorted {
  int32_t *source;    // [sorted rows] entry (row * top_k + choice), or -1 for padding
  int32_t *position;  // [entries] where an entry lies among the sorted rows
  GemmTile* tiles;
  int32_t* n_tiles;
};
struct SortArgs {
  const int32_t* experts;  // [entries]
  int32_t* counts;         // scratch: [chunks][n_experts]
  Sorted to;
  int32_t entries, n_experts, chunks, tile_rows, sorted_rows;
};
inline constexpr int kSortThreads = 256, kSortChunk = 1024, kSortExperts = 1024;  // entries of a block; most experts
constexpr int32_t sort_chunks(int32_t entries) { return (entries + kSortChunk - 1) / kSortChunk; }  // grid of both kernels
constexpr int32_t sorted_rows(int32_t entries, int32_t n_experts) { return (entries + 7 * (n_experts < entries ? n_experts : entries) + 7) / 8 * 8; }
int32_t grouped_tile_rows(int32_t entries, int32_t n_experts);
constexpr int32_t most_tiles(int32_t entries, int32_t n_experts, int32_t tile_rows) { return entries / tile_rows + (n_experts < entries ? n_experts : entries); }
const void* sort_count_kernel();  // both: grid sort_chunks(entries), kSortThreads, no dynamic shared memory
const void* sort_place_kernel();

// Rows of halves in sorted order: grid sorted_rows / 8, kGatherThreads.
struct GatherArgs { Halves x, to; const int32_t* source; int32_t top_k; };
inline constexpr int kGatherThreads = 256;
const void* gather_kernel();

const void* gemm_kernel(const StripLayout& layout, bool pair, bool hopper);

}  // namespace cuda
