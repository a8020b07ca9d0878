// tile: puts 16 split rows side by side, 32 inputs at a time. Plain 16-byte vectors and 64-bit words: every processor that runs Calla has them,
// and they move bytes about as fast as memory delivers them.
#pragma once
#include <algorithm>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#include "device/cpu/split.h"

namespace cpu {

using U8x16 = uint8_t __attribute__((vector_size(16)));
using U32x4 = uint32_t __attribute__((vector_size(16)));
using U16x8 = uint16_t __attribute__((vector_size(16)));

template <class T> T load(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T> void store(void* p, const T& v) { std::memcpy(p, &v, sizeof v); }

// As many vectors as each has elements: a matrix, transposed by as many perfect shuffles as its side has bits.
inline void transpose(U32x4 (&v)[4]) {
  for (int stage = 0; stage < 2; stage++) {
    const U32x4 a = v[0], b = v[1], c = v[2], d = v[3];
    v[0] = __builtin_shufflevector(a, c, 0, 4, 1, 5);
    v[1] = __builtin_shufflevector(a, c, 2, 6, 3, 7);
    v[2] = __builtin_shufflevector(b, d, 0, 4, 1, 5);
    v[3] = __builtin_shufflevector(b, d, 2, 6, 3, 7);
  }
}
inline void transpose(U16x8 (&v)[8]) {
  for (int stage = 0; stage < 3; stage++) {
    U16x8 w[8];
    for (int i = 0; i < 4; i++) {
      w[2 * i] = __builtin_shufflevector(v[i], v[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      w[2 * i + 1] = __builtin_shufflevector(v[i], v[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    std::memcpy(v, w, sizeof v);
  }
}

// Word j of lane i becomes word i of register j, for four words of each of 16 lanes.
template <class Words> void put_words(uint8_t* registers, Words&& words_of) {
  for (int lane = 0; lane < kTileRows; lane += 4) {
    U32x4 v[4] = {words_of(lane), words_of(lane + 1), words_of(lane + 2), words_of(lane + 3)};
    transpose(v);
    for (int j = 0; j < 4; j++) store(registers + 64 * j + 4 * lane, v[j]);
  }
}
inline void put_nibbles(const RowBlock* b, int k, uint8_t* chunk) {
  put_words(chunk, [&](int lane) {
    const auto low = load<U32x4>(b[lane].codes + k), high = load<U32x4>(b[lane].codes + k + 16);
    return (__builtin_shufflevector(low, high, 0, 2, 4, 6) & 0x0f0f0f0fu) | (__builtin_shufflevector(low, high, 1, 3, 5, 7) & 0x0f0f0f0fu) << 4;
  });
}
inline void put_pairs(const RowBlock* b, int k, uint8_t* chunk) {
  for (int lane = 0; lane < kTileRows; lane++)
    for (int j = 0; j < 2; j++) {
      uint32_t word = 0;
      for (int q = 0; q < 4; q++) word |= (load<uint32_t>(b[lane].codes + k + 16 * j + 4 * q) & 0x03030303u) << (2 * q);
      store(chunk + 64 * j + 4 * lane, word);
    }
}
inline void put_bytes(const RowBlock* b, int k, uint8_t* chunk) {
  for (int half = 0; half < 2; half++) put_words(chunk + 256 * half, [&](int lane) { return load<U32x4>(b[lane].codes + k + 16 * half); });
}
// One bit of 32 codes: bit e of the result is that of code e.
inline uint32_t bits_of(const uint8_t* codes, int bit) {
#if defined(__SSE2__)
  const auto sixteen = [bit](const uint8_t* at) { return static_cast<uint32_t>(_mm_movemask_epi8(_mm_slli_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)), 7 - bit))); };
  return sixteen(codes) | sixteen(codes + 16) << 16;
#else
  uint32_t bits = 0;
  for (int j = 0; j < 4; j++) {
    const uint64_t ones = (load<uint64_t>(codes + 8 * j) >> bit) & 0x0101010101010101u;
    bits |= static_cast<uint32_t>(ones * 0x0102040810204080u >> 56) << (8 * j);
  }
  return bits;
#endif
}
inline void put_plane(const RowBlock* b, int k, int bit, uint8_t* plane) {
  for (int pair = 0; pair < kTileRows / 2; pair++) {
    const uint32_t x = bits_of(b[2 * pair].codes + k, bit), y = bits_of(b[2 * pair + 1].codes + k, bit);
    const uint32_t even = (x & 0x0f0f0f0fu) | (y & 0x0f0f0f0fu) << 4, odd = (x >> 4 & 0x0f0f0f0fu) | (y & 0xf0f0f0f0u);
    for (int i = 0; i < 4; i++) {
      plane[16 * i + pair] = static_cast<uint8_t>(even >> (8 * i));
      plane[16 * i + 8 + pair] = static_cast<uint8_t>(odd >> (8 * i));
    }
  }
}
template <PackCodes C> void put_chunk(const RowBlock* b, int k, uint8_t* chunk) {
  if constexpr (C == PackCodes::s8) return put_bytes(b, k, chunk);
  if constexpr (C == PackCodes::u2 || C == PackCodes::u3) put_pairs(b, k, chunk);
  else put_nibbles(b, k, chunk);
  if constexpr (C == PackCodes::u3) put_plane(b, k, 2, chunk + 128);
  if constexpr (C == PackCodes::u5 || C == PackCodes::u6) put_plane(b, k, 4, chunk + 256);
  if constexpr (C == PackCodes::u6) put_plane(b, k, 5, chunk + 320);
}

template <class T, class Field> void put_lanes(uint8_t* p, Field&& field) {
  for (int lane = 0; lane < kTileRows; lane++) store<T>(p + static_cast<int>(sizeof(T)) * lane, field(lane));
}
template <PackScales S> void put_scales(const RowBlock* b, int groups, uint8_t* p) {
  using enum PackScales;
  if constexpr (S == super || S == super_min) put_lanes<uint16_t>(p, [&](int i) { return b[i].d; });
  if constexpr (S == super_min) put_lanes<uint16_t>(p + 32, [&](int i) { return b[i].dmin; });
  for (int g = 0; g < groups; g++) {
    if constexpr (S == f16) put_lanes<uint16_t>(p + 32 * g, [&](int i) { return b[i].scale16[g]; });
    if constexpr (S == f16_min || S == bf16_min) {
      put_lanes<uint16_t>(p + 64 * g, [&](int i) { return b[i].scale16[g]; });
      put_lanes<uint16_t>(p + 64 * g + 32, [&](int i) { return b[i].min16[g]; });
    }
    if constexpr (S == f32_min) {
      put_lanes<float>(p + 128 * g, [&](int i) { return b[i].scale32[g]; });
      put_lanes<float>(p + 128 * g + 64, [&](int i) { return b[i].min32[g]; });
    }
    if constexpr (S == e8m0) put_lanes<uint8_t>(p + 16 * g, [&](int i) { return b[i].sub_scale[g]; });
    if constexpr (S == super || S == super_min) put_lanes<uint8_t>(p + 64 + 16 * g, [&](int i) { return b[i].sub_scale[g]; });
    if constexpr (S == super_min) put_lanes<uint8_t>(p + 64 + 16 * (groups + g), [&](int i) { return b[i].sub_min[g]; });
  }
}

// Split(row, k, inputs, group, block) fills a block with inputs [k, k + inputs) of a row.
template <PackCodes C, PackScales S, auto Split> void pack_tile(const PackLayout& l, std::span<const Row> rows, int64_t cols, uint8_t* p) {
  RowBlock blocks[kTileRows];
  if (rows.size() < kTileRows) std::memset(static_cast<void*>(blocks), 0, sizeof blocks);
  for (int64_t k = 0; k < cols; k += l.block) {
    const int inputs = static_cast<int>(std::min<int64_t>(l.block, cols - k)), groups = (inputs + l.scale_group - 1) / l.scale_group;
    for (size_t lane = 0; lane < rows.size(); lane++) Split(rows[lane], k, inputs, l.scale_group, blocks[lane]);
    put_scales<S>(blocks, groups, p);
    p += scale_bytes(l, inputs);
    for (int i = 0; i < inputs; i += 32, p += chunk_bytes(C)) put_chunk<C>(blocks, i, p);
  }
}

// Rows of elements of their own: 16 of an input become adjacent.
template <class Vector> void pack_elements(const PackLayout&, std::span<const Row> rows, int64_t cols, uint8_t* p) {
  constexpr int kSize = sizeof(Vector{}[0]), kSide = 16 / kSize;
  const auto square = [&](int first, int64_t k, auto read, int n) {
    Vector v[kSide] = {};
    for (int i = 0; i < kSide && first + i < static_cast<int>(rows.size()); i++) read(v[i], rows[static_cast<size_t>(first + i)].codes + k * kSize);
    transpose(v);
    for (int i = 0; i < n; i++) store(p + (k + i) * kSize * kTileRows + first * kSize, v[i]);
  };
  for (int first = 0; first < kTileRows; first += kSide) {
    int64_t k = 0;
    for (; k + kSide <= cols; k += kSide) square(first, k, [](Vector& v, const uint8_t* at) { v = load<Vector>(at); }, kSide);
    const int rest = static_cast<int>(cols - k);
    if (rest > 0) square(first, k, [rest](Vector& v, const uint8_t* at) { std::memcpy(&v, at, static_cast<size_t>(rest * kSize)); }, rest);
  }
}

}  // namespace cpu
