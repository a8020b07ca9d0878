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
  static constexpr int kQueryBytes = 2 * D + 16, kScoreRow = kKeys + 4;
  static_assert(W % Slabs == 0 && kPartDims % 32 == 0 && kWarpDims % 16 == 0 && Slabs % 2 == 0 && 2 * kKeys / W <= 32);
};

template <class S> struct Shared {
  alignas(16) uint8_t keys[S::R][S::kKeys][S::kRowBytes], values[S::R][S::kKeys][S::kRowBytes];
  alignas(16) float key_scale[S::R][S::kKeys], value_scale[S::R][S::kKeys];
  alignas(16) uint8_t queries[kGroupHeads][S::kQueryBytes];
  alignas(16) float key[S::D], value[S::D];  // the row's own
  alignas(16) float scores[2][S::kParts][kGroupHeads][S::kScoreRow];
  float scratch[S::W][S::D], angles[S::D];
  float own[kGroupHeads];
  uint64_t keys_here[S::R], values_here[S::R];
};

// Byte of a query where its dims d to d + 3 begin. Against integers a lane's four neighbouring dims are inputs 2c, 2c + 1, 2c + 8 and 2c + 9 of a step.
template <class S> __device__ __forceinline__ int query_at(int d) { return S::Int8 ? d / 16 * 32 + d % 16 : 2 * d; }

// By bulk copies of whole rows where there are such, else by pieces of 16 bytes. In the order keys 0, values 0, keys 1, ...: R tiles of keys and R - 1
// of values are on their way at first, and one more of each once a tile has been scored.
template <class S> struct Tiles {
#if __CUDA_ARCH__ >= 900
  static constexpr bool kBulk = true;
#else
  static constexpr bool kBulk = false;
#endif
  static constexpr int kRows = S::kKeys / S::W;  // of keys, and of values, that a warp brings
  Shared<S>& shared;
  const CacheRows<S::Int8> rows;
  void *const keys, *const values;
  const int32_t* const pages;
  const int32_t first, end;
  int32_t keys_page = 0, values_page = 0;  // of this lane's row of the next tile of each

  __device__ Tiles(Shared<S>& to, const CacheOnDevice& c, int32_t kv_head, const int32_t* of, int32_t lo, int32_t hi) : shared(to), rows(c, kv_head), keys(c.keys), values(c.values), pages(of), first(lo), end(hi) {}
  __device__ int my_row() const { return (threadIdx.x >> 5) * kRows + (threadIdx.x & 31) % kRows; }
  __device__ int32_t page_of(int32_t tile) const { return kBulk && first + tile * S::kKeys < end ? pages[min(first + tile * S::kKeys + my_row(), end - 1) / rows.page_tokens] : 0; }

  __device__ __forceinline__ void begin() {
    int32_t page[S::R + 1];
#pragma unroll
    for (int i = 0; i <= S::R; i++) page[i] = page_of(i);
    if constexpr (kBulk) {
      if (threadIdx.x == 0) {
        for (int i = 0; i < S::R; i++) init_barrier(shared_address(&shared.keys_here[i]), 1 + (S::Int8 ? S::kKeys : 0)), init_barrier(shared_address(&shared.values_here[i]), 1 + (S::Int8 ? S::kKeys : 0));
        publish_barriers();
      }
      if (rows.dim < S::D) {  // what rows do not fill
        for (int i = threadIdx.x; i < static_cast<int>(sizeof shared.keys + sizeof shared.values) / 16; i += S::kThreads) reinterpret_cast<uint4*>(&shared)[i] = uint4{};
        make_visible();
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < S::R; i++) {
      bring<false>(i, page[i]);
      if (i + 1 < S::R) bring<true>(i, page[i]);
    }
    values_page = page[S::R - 1], keys_page = page[S::R];
  }
  // All have scored `tile`, and so are done with the values of the one before.
  __device__ __forceinline__ void bring_next(int32_t tile) {
    bring<true>(tile + S::R - 1, values_page);
    bring<false>(tile + S::R, keys_page);
    values_page = keys_page, keys_page = page_of(tile + S::R + 1);
  }
  __device__ void wait_keys(int32_t tile) const {
    if constexpr (kBulk) wait_for(shared_address(&shared.keys_here[tile % S::R]), tile / S::R & 1);
    else wait_copies<2 * S::R - 2>(), __syncthreads();
  }
  __device__ void wait_values(int32_t tile) const {
    if constexpr (kBulk) wait_for(shared_address(&shared.values_here[tile % S::R]), tile / S::R & 1);
    else wait_copies<2 * S::R - 1>(), __syncthreads();
  }

 private:
  template <bool Values> __device__ __forceinline__ void bring(int32_t tile, int32_t page) {
    const int32_t key = first + tile * S::kKeys, slot = tile % S::R;
    if (key < end) {
      if constexpr (kBulk) bring_rows<Values>(key, page, Values ? shared.values[slot] : shared.keys[slot], Values ? shared.value_scale[slot] : shared.key_scale[slot], shared_address(Values ? &shared.values_here[slot] : &shared.keys_here[slot]));
      else bring_pieces(key, Values ? values : keys, Values ? shared.values[slot] : shared.keys[slot], Values ? shared.value_scale[slot] : shared.key_scale[slot]);
    }
    if constexpr (!kBulk) commit_copies();
  }
  template <bool Values> __device__ __forceinline__ void bring_rows(int32_t key, int32_t page, uint8_t (*to)[S::kRowBytes], float* scales, uint32_t barrier) {
    const int lane = threadIdx.x & 31, row = my_row();
    const uint32_t bytes = rows.dim * S::kCodeBytes;
    const bool valid = key + row < end;
    void* data = Values ? values : keys;
    if (threadIdx.x == 0) expect_bytes(barrier, bytes * min(S::kKeys, end - key));
    if (lane < kRows) {
      const int32_t token = (key + row) % rows.page_tokens;
      if (valid) copy_bulk(shared_address(to[row]), rows.row(data, page, token), bytes, barrier);
      if constexpr (S::Int8) copy4(shared_address(scales + row), rows.scale(data, page, token), valid), arrive_when_copied(barrier);
    }
    if constexpr (Values) {  // keys behind the last are masked, values must be numbers
      if (key + S::kKeys <= end) return;
      for (int r = (threadIdx.x >> 5) * kRows; r < (static_cast<int>(threadIdx.x >> 5) + 1) * kRows; r++)
        if (key + r >= end)
          for (int i = lane; i < S::kRowBytes / 16; i += 32) reinterpret_cast<uint4*>(to[r])[i] = uint4{};
    }
  }
  __device__ __forceinline__ void bring_pieces(int32_t key, void* data, uint8_t (*to)[S::kRowBytes], float* scales) {
    constexpr int pieces = S::D * S::kCodeBytes / 16;
#pragma unroll
    for (int t = threadIdx.x; t < S::kKeys * pieces; t += S::kThreads) {
      const int row = t / pieces, piece = t % pieces;
      const int32_t at = min(key + row, end - 1);
      copy16(shared_address(to[row] + 16 * piece), rows.row(data, pages[at / rows.page_tokens], at % rows.page_tokens) + 16 * piece, key + row < end && 16 * piece < rows.dim * S::kCodeBytes);
    }
    if (const int32_t row = threadIdx.x, at = min(key + row, end - 1); S::Int8 && row < S::kKeys) copy4(shared_address(scales + row), rows.scale(data, pages[at / rows.page_tokens], at % rows.page_tokens), key + row < end);
  }
};

// A warp's part of the dims of all query heads, as the right operand of its steps.
template <class S> struct Queries {
  uint32_t held[S::kPartDims / 32][4];
  __device__ __forceinline__ explicit Queries(const Shared<S>& shared) {
    const int lane = threadIdx.x & 31, part = (threadIdx.x >> 5) / S::Slabs;
    const uint32_t at = shared_address(shared.queries[lane & 7] + part * S::kPartDims * 2 + lane / 8 * 16);
#pragma unroll
    for (int s = 0; s < S::kPartDims / 32; s++) load_matrices(held[s], at + 64 * s);
  }
  // Against 16 keys of a tile. Four chains of sums, so that steps need not wait for each other.
  __device__ __forceinline__ void score(Shared<S>& shared, int32_t tile) const {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, slab = warp % S::Slabs, part = warp / S::Slabs;
    const uint32_t at = shared_address(shared.keys[tile % S::R][16 * slab + lane % 16] + part * S::kPartDims * S::kCodeBytes + lane / 16 * 16);
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
    float(*to)[S::kScoreRow] = shared.scores[tile % 2][part];
    const int head = lane % 4 * 2, key = 16 * slab + lane / 4;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float unit = S::Int8 ? shared.key_scale[tile % S::R][key + i / 2 * 8] : 1.0f;
      to[head + i % 2][key + i / 2 * 8] = ((c[0][i] + c[1][i]) + (c[2][i] + c[3][i])) * unit;
    }
  }
};

}  // namespace cuda::attention
