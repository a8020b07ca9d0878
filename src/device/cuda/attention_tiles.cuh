// attention_tiles: keys and values of one split of a context: how they come into shared memory, and what query heads score against them.
#pragma once
#include "device/cuda/attention.cuh"

namespace cuda::attention {

// W warps take tiles of 16 * Slabs keys. For scores a warp has 16 keys and its part of the dims, for sums all keys and D / W dims: only scores change hands.
// R tiles of keys and of values lie in shared memory.
template <int Dims, bool Integers, int Warps, int KeySlabs, int Ring> struct Shape {
  static constexpr int D = Dims, W = Warps, Slabs = KeySlabs, R = Ring;
  static constexpr bool Int8 = Integers;
  static constexpr int kKeys = 16 * Slabs, kParts = W / Slabs, kPartDims = D / kParts, kWarpDims = D / W, kThreads = 32 * W;
  static constexpr int kCodeBytes = CacheRows<Int8>::kBytes, kRowBytes = D * kCodeBytes + 16;  // odd pieces of 16 bytes: no bank conflicts
  static constexpr int kQueryBytes = 2 * D + 16, kScoreRow = kKeys + 4, kWeightRow = kKeys + 8;
  static constexpr int kHelpers = 2;  // warps that prepare the row's own key and value
  static constexpr int kAllThreads = kThreads + 32 * kHelpers;
  static_assert(W % Slabs == 0 && kPartDims % 32 == 0 && kWarpDims % 16 == 0 && Slabs % 2 == 0 && 2 * kKeys / W <= 32);
};

template <class S> struct Shared {
  alignas(16) uint8_t keys[S::R][S::kKeys][S::kRowBytes], values[S::R][S::kKeys][S::kRowBytes];
  alignas(16) float key_scale[S::R][S::kKeys], value_scale[S::R][S::kKeys];
  alignas(16) uint8_t queries[kGroupHeads][S::kQueryBytes];
  alignas(16) float scores[S::kParts][kGroupHeads][S::kScoreRow];
  alignas(16) float angles[S::D];
  union {
    alignas(16) float scratch[S::W + 1][S::D];  // while heads are prepared
    alignas(16) float sums[kCluster][S::D];     // then what blocks of the cluster have of this block's head, see attention_fold.cuh
  };
  alignas(16) float2 stats[kCluster];           // peak and sum of each
  alignas(16) __half weights[kGroupHeads][S::kWeightRow];  // of the tile at hand, for integers times the scales of values
  alignas(16) float keep[kGroupHeads];
  float gate[S::kThreads];
  float2 of_head[kGroupHeads];  // peak and sum of this block's keys
  uint64_t keys_here[S::R], values_here[S::R], sums_here;
  bool last;
};

// Byte of a query where its dims d to d + 3 begin. Against integers a lane's four neighbouring dims are inputs 2c, 2c + 1, 2c + 8 and 2c + 9 of a step.
template <class S> __device__ __forceinline__ int query_at(int d) { return S::Int8 ? d / 16 * 32 + d % 16 : 2 * d; }

// R tiles of keys and of values are on their way at first, and one more of each as tiles are used up. A warp brings the same rows of every tile, which
// lie in one page. The row's own key and value are put into a tile that was brought before they were there, and read from the cache for later ones.
template <class S> struct Tiles {
  static constexpr int kRows = S::kKeys / S::W, kPieces = S::D * S::kCodeBytes / 16, kSteps = kRows * kPieces / 32, kStepRows = kPieces < 32 ? 32 / kPieces : 1;
  static_assert(16 % kRows == 0 && kRows * kPieces % 32 == 0);
  Shared<S>& shared;
  const CacheRows<S::Int8> rows;
  uint8_t *const keys, *const values;
  const int32_t* const pages;
  const int32_t first, end, own, row, piece;  // own: index of the row's own key or -1; row, piece: what this lane brings first
  int32_t next_page = 0;                      // of the next tile to bring

  __device__ Tiles(Shared<S>& to, const CacheOnDevice& c, int32_t kv_head, const int32_t* of, int32_t lo, int32_t hi, int32_t own_key)
      : shared(to), rows(c, kv_head), keys(static_cast<uint8_t*>(c.keys)), values(static_cast<uint8_t*>(c.values)), pages(of), first(lo), end(hi), own(own_key),
        row(static_cast<int>(threadIdx.x >> 5) * kRows + static_cast<int>(threadIdx.x & 31) % (kStepRows * kPieces) / kPieces), piece(static_cast<int>(threadIdx.x & 31) % kPieces) {}
  __device__ int32_t page_of(int32_t tile) const {
    const int32_t key = first + tile * S::kKeys;
    return key < end ? pages[min(key + row, end - 1) / rows.page_tokens] : 0;
  }
  static __device__ void init(Shared<S>& shared) {
    for (int i = 0; i < S::R; i++) init_barrier(shared_address(&shared.keys_here[i]), S::kThreads), init_barrier(shared_address(&shared.values_here[i]), S::kThreads);
  }
  __device__ __forceinline__ void begin() {
    int32_t page[S::R + 1];
#pragma unroll
    for (int i = 0; i <= S::R; i++) page[i] = page_of(i);
#pragma unroll
    for (int i = 0; i < S::R; i++) bring<false, true>(i, page[i]), bring<true, true>(i, page[i]);
    next_page = page[S::R];
  }
  // Where the row's own key or value belongs in shared memory, null where its tile is yet to be brought: its codes and, for integers, its scale.
  __device__ uint8_t* own_codes(bool of_values) const {
    const int32_t slot = (own - first) / S::kKeys, at = (own - first) % S::kKeys;
    return slot < S::R ? (of_values ? shared.values : shared.keys)[slot][at] : nullptr;
  }
  __device__ float* own_scale(bool of_values) const { return (of_values ? shared.value_scale : shared.key_scale)[(own - first) / S::kKeys % S::R] + (own - first) % S::kKeys; }
  // All have scored `tile`; all have added it.
  __device__ __forceinline__ void bring_keys_behind(int32_t tile) { bring<false, false>(tile + S::R, next_page); }
  __device__ __forceinline__ void bring_values_behind(int32_t tile) {
    bring<true, false>(tile + S::R, next_page);
    next_page = page_of(tile + S::R + 1);
  }
  __device__ void wait_keys(int32_t tile) const { wait_for(shared_address(&shared.keys_here[tile % S::R]), tile / S::R & 1); }
  __device__ void wait_values(int32_t tile) const { wait_for(shared_address(&shared.values_here[tile % S::R]), tile / S::R & 1); }

 private:
  // Zeros behind the last key and the last dim.
  template <bool Values, bool First> __device__ __forceinline__ void bring(int32_t tile, int32_t page) {
    const int32_t key = first + tile * S::kKeys, slot = tile % S::R;
    if (key >= end) return;
    uint8_t* data = Values ? values : keys;
    const int32_t token = (key + row) % rows.page_tokens, step = kStepRows * rows.token_bytes();
    const uint8_t* from = rows.row(data, page, token) + 16 * piece;
    const uint32_t to = shared_address((Values ? shared.values[slot] : shared.keys[slot])[row] + 16 * piece), barrier = shared_address(Values ? &shared.values_here[slot] : &shared.keys_here[slot]);
    const int32_t left = end - key - row, dims = rows.dim * S::kCodeBytes, before_own = own - key - row;
#pragma unroll
    for (int i = 0; i < kSteps; i++) {
      constexpr int pieces = kPieces > 32 ? kPieces / 32 : 1;  // steps of one row
      const int down = i / pieces * kStepRows, along = i % pieces * 512;
      if (!First || down != before_own) copy16(to + down * S::kRowBytes + along, from + i / pieces * step + along, down < left && 16 * piece + along < dims);
    }
    if constexpr (S::Int8)
      if (piece == 0)
#pragma unroll
        for (int i = 0; i < kSteps; i++)
          if (!First || i * kStepRows != before_own)
            copy4(shared_address((Values ? shared.value_scale[slot] : shared.key_scale[slot]) + row + i * kStepRows), rows.scale(data, page, token + i * kStepRows), i * kStepRows < left);
    arrive_when_copied(barrier);
  }
};

// A warp's part of the dims of all query heads, as the right operand of its steps.
template <class S> struct Queries {
  Shared<S>& shared;
  uint32_t queries, keys, scores;  // where this lane reads and writes
  uint32_t held[S::kPartDims / 32][4];
  __device__ __forceinline__ explicit Queries(Shared<S>& of) : shared(of) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, slab = warp % S::Slabs, part = warp / S::Slabs % S::kParts;
    queries = shared_address(shared.queries[lane & 7] + part * S::kPartDims * 2 + lane / 8 * 16), settle(queries);
    keys = shared_address(shared.keys[0][16 * slab + lane % 16] + part * S::kPartDims * S::kCodeBytes + lane / 16 * 16), settle(keys);
    scores = shared_address(&shared.scores[part][lane % 4 * 2][16 * slab + lane / 4]), settle(scores);
  }
  __device__ __forceinline__ void load() {
#pragma unroll
    for (int s = 0; s < S::kPartDims / 32; s++) load_matrices(held[s], queries + 64 * s);
  }
  // Against 16 keys of a tile. Four chains of sums, so that steps need not wait for each other.
  __device__ __forceinline__ void score(int32_t tile) const {
    const int slot = tile % S::R, lane = threadIdx.x & 31, key = static_cast<int>(threadIdx.x >> 5) % S::Slabs * 16 + lane / 4;
    const uint32_t at = keys + slot * static_cast<uint32_t>(sizeof shared.keys[0]);
    float c[4][4] = {};
#pragma unroll
    for (int s = 0; s < S::kPartDims / 32; s++) {
      if constexpr (S::Int8) {
        uint32_t r[4];
        load_matrices(r, at + 32 * s);
#pragma unroll
        for (int i = 0; i < 4; i++) r[i] ^= 0x80808080u;
#pragma unroll
        for (int h = 0; h < 2; h++)
          multiply(c[(2 * s + h) % 4], two_codes<0x4140>(r[2 * h]), two_codes<0x4140>(r[2 * h + 1]), two_codes<0x4342>(r[2 * h]), two_codes<0x4342>(r[2 * h + 1]), held[s][2 * h], held[s][2 * h + 1]);
      } else {
#pragma unroll
        for (int h = 0; h < 2; h++) {
          uint32_t r[4];
          load_matrices(r, at + 64 * s + 32 * h);
          multiply(c[(2 * s + h) % 4], r[0], r[1], r[2], r[3], held[s][2 * h], held[s][2 * h + 1]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float unit = S::Int8 ? shared.key_scale[slot][key + i / 2 * 8] : 1.0f;
      asm volatile("st.shared.f32 [%0], %1;" ::"r"(scores + i % 2 * S::kScoreRow * 4 + i / 2 * 32), "f"(((c[0][i] + c[1][i]) + (c[2][i] + c[3][i])) * unit) : "memory");
    }
  }
};

}  // namespace cuda::attention
