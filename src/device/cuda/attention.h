// attention: what the host tells the kernels of attention in fast precision: rows that come one a sequence go through splits of their contexts, which clusters of blocks or a merge fold,
// longer runs of rows through prepared queries and flash attention; both read pages of halves or of 8-bit integers.
#pragma once
#include "device/cuda/kernels.h"
#include "device/cuda/strips.h"

namespace cuda {

// A page is [token][kv head][dim]; one of int8 is followed by a float scale [token][kv head] and ends on a border of 16 bytes.
CALLA_BOTH constexpr int64_t page_stride(KvType type, int64_t page_tokens, int64_t n_kv_heads, int64_t dim) {
  const int64_t rows = page_tokens * n_kv_heads;
  return type == KvType::half ? rows * dim * 2 : (rows * (dim + 4) + 15) / 16 * 16;
}

// Queries and keys before they meet: rms norm (a null gain is 1), then rotation of the first 2 * half dims. Values may be normed too, without gain.
struct HeadPreparation {
  const float *q_gain, *k_gain, *inverse_frequencies;
  float eps, magnitude;
  int32_t half;
  bool norm_q, norm_k, norm_v, adjacent;
};

// Sequences of one row each; those of more rows in the same step are passed over. Projections are [rows, heads, dim] with a stride between rows.
struct SplitAttentionArgs {
  CacheOnDevice cache;
  StepTables step;
  HeadPreparation prepare;
  const float *q, *k, *v;  // k null: another layer has appended this step's keys
  float* partials;         // [sequences, heads, max_splits, dim + 4]: peak, sum, 2 unused, weighted values; clusters need kClusters in place of max_splits
  int32_t q_stride, k_stride, v_stride, n_heads, window, min_tiles, max_splits;
  float scale;
  bool early;              // tables, and cached keys of earlier steps, may be read before the kernel before this one has ended
  // Of clusters, which need no merge.
  uint32_t* turns;         // [sequences, heads], 0 before and after
  const float* gate;       // [rows, heads * dim] or null: results are multiplied by its sigmoid
  float* y;                // [rows, heads * dim] or null
  Halves halves;           // the same, or without data
  int32_t gate_stride;
};
struct MergeSplitsArgs {
  StepTables step;
  const float* partials;
  const float* gate;       // [rows, heads * dim] or null: results are multiplied by its sigmoid
  float* y;                // [rows, heads * dim] or null
  Halves halves;           // the same, or without data
  int32_t gate_stride, n_heads, dim, window, min_tiles, max_splits;
  bool early;
};

// Sequences of several rows. Queries as halves [rows, heads, dim].
struct PrepareArgs {
  CacheOnDevice cache;
  StepTables step;
  HeadPreparation prepare;
  const float *q, *k, *v;  // k null: nothing is appended
  uint16_t* to;
  int32_t q_stride, k_stride, v_stride, n_heads;
};
struct FlashAttentionArgs {
  CacheOnDevice cache;
  StepTables step;
  const uint16_t* q;
  const float* gate;
  float* y;
  Halves halves;
  int32_t gate_stride, n_heads, n_sequences, window;
  float scale;
  bool causal;
};

constexpr int kSplitTile = 64;      // keys that a block takes at once
constexpr int kMaxSplits = 64;
constexpr int kGroupHeads = 8;      // query heads of one kv head that a block serves
constexpr int kCluster = kGroupHeads;  // blocks, one a split; each folds one head
constexpr int kClusters = 16;       // of one sequence and kv head, at most
// Splits whose clusters, for each of `groups` kv heads (or groups of kGroupHeads), run at once: two blocks a multiprocessor, and some of those are left over.
constexpr int32_t cluster_splits(int multiprocessors, int32_t groups) {
  const int32_t clusters = 2 * (multiprocessors / kCluster - 1) / groups;
  return kCluster * (clusters < 1 ? 1 : clusters > kClusters ? kClusters : clusters);
}
constexpr int kFlashRows = 128;     // positions times query heads of one kv head in a block

// Keys [begin, end) that a row sees, cut by their number alone: split s takes [first + s * keys, first + (s + 1) * keys) of them. One cluster's worth of splits
// while those have no more than min_tiles each.
struct Splits { int32_t first, keys, count; };
CALLA_BOTH constexpr Splits splits_of(int32_t past, int32_t window, int32_t min_tiles, int32_t max_splits) {
  const int32_t end = past + 1, first = window > 0 && end > window ? (end - window) / 16 * 16 : 0;
  const int32_t tiles = (end - first + kSplitTile - 1) / kSplitTile, few = (tiles + kCluster - 1) / kCluster, each = few <= min_tiles ? few : (tiles + max_splits - 1) / max_splits;
  return {first, each * kSplitTile, (tiles + each - 1) / each};
}
// The most splits that any context up to `past` has; longer ones may have fewer. Steps 16 tokens apart at most (in the same 16) have the same.
constexpr int32_t most_splits(int32_t past, int32_t window, int32_t min_tiles, int32_t max_splits) {
  const int32_t end = past + 1, seen = window > 0 && end > window + 15 ? window + 15 : end, tiles = (seen + kSplitTile - 1) / kSplitTile;
  const int32_t most = tiles <= kCluster * min_tiles ? kCluster : max_splits;
  return tiles < most ? tiles : most;
}
constexpr int64_t partial_floats(int64_t sequences, int64_t n_heads, int64_t max_splits, int64_t dim) { return sequences * n_heads * max_splits * (dim + 4); }

// A kernel and how it is launched; no kernel where none serves. More than 48 KiB of shared memory must be allowed first, once a kernel.
struct AttentionKernel {
  const void* kernel = nullptr;
  int threads = 0, shared_bytes = 0;
};
constexpr bool attends_fast(const CacheOnDevice& c, KvType type) {
  const bool fits = type == KvType::half ? c.key_dim >= 16 && c.key_dim <= 512 && c.key_dim % 8 == 0 : c.key_dim <= 256 && c.key_dim % 16 == 0;
  return fits && c.key_dim == c.value_dim && c.page_tokens % 16 == 0;
}
// Folds: for capability 9.0 and later, in clusters. Grid (max_splits, kv heads * ceil(query heads of one / kGroupHeads), sequences).
// `shared_limit`: bytes of shared memory that a block of this device may have.
AttentionKernel split_attention_kernel(const CacheOnDevice& cache, KvType type, int shared_limit, bool folds);
// Grid (heads, sequences).
AttentionKernel merge_splits_kernel(int32_t dim);
// Grid (rows).
AttentionKernel prepare_kernel(const CacheOnDevice& cache, KvType type);
// Grid (kv heads, sum over sequences of flash_tiles, or more). None for more than kFlashRows query heads of one kv head or dims beyond 256.
AttentionKernel flash_attention_kernel(const CacheOnDevice& cache, KvType type, int32_t n_heads, int compute_capability);  // 90: Hopper's own
constexpr int32_t flash_tiles(int32_t n_rows, int32_t heads_per_kv) {
  const int32_t positions = kFlashRows / heads_per_kv;
  return n_rows > 1 ? (n_rows + positions - 1) / positions : 0;
}

}  // namespace cuda
