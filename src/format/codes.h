// codes: what the reference decoders of this room share: unaligned little-endian loads, nibbles and the tables behind 4-bit codes.
#pragma once
#include <array>
#include <cstring>
#include "core/half.h"
#include "format/format.h"

namespace codes {

// Loads at any alignment: rows in a file may begin anywhere.
template <class T> T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
inline int u8(const std::byte* at, int64_t i) { return std::to_integer<int>(at[i]); }
inline int s8(const std::byte* at, int64_t i) { return static_cast<int8_t>(at[i]); }
inline float half(const std::byte* at) { return f16_to_float(load<uint16_t>(at)); }

// GGUF's 32-weight blocks keep weight e in the low nibble of byte e, weight e + 16 in its high nibble.
inline int split_nibble(const std::byte* qs, int e) { return e < 16 ? u8(qs, e) & 15 : u8(qs, e - 16) >> 4; }
// MLX packs neighbours together, low nibble first.
inline int paired_nibble(const std::byte* qs, int64_t i) { return (u8(qs, i / 2) >> (i % 2 * 4)) & 15; }

inline constexpr std::array<float, 16> e2m1 = {0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.f, -.5f, -1, -1.5f, -2, -3, -4, -6};
inline constexpr std::array<int8_t, 16> iq4 = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// Q4_K and Q5_K: eight 6-bit scales and eight 6-bit mins in twelve bytes; those of j >= 4 are scattered over the top bits.
struct ScaleMin {
  int scale, min;
};
inline ScaleMin scale_min6(const std::byte* s, int j) {
  if (j < 4) return {u8(s, j) & 63, u8(s, j + 4) & 63};
  return {(u8(s, j + 4) & 15) | (u8(s, j - 4) >> 6 << 4), (u8(s, j + 4) >> 4) | (u8(s, j) >> 6 << 4)};
}

// Element `i` of a scale or bias plane.
float plane_value(std::span<const std::byte> plane, DType type, int64_t i);

}  // namespace codes
