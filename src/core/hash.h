// hash: XXH64, a checksum at about the speed of memory. Not for secrets: whoever can write a file can write its checksum.
#pragma once
#include <bit>
#include <cstring>
#include "core/core.h"

namespace xxh64_words {
inline constexpr uint64_t p1 = 0x9e3779b185ebca87u, p2 = 0xc2b2ae3d27d4eb4fu, p3 = 0x165667b19e3779f9u, p4 = 0x85ebca77c2b2ae63u, p5 = 0x27d4eb2f165667c5u;
template <class T> T load(const std::byte* at) {
  T v;
  std::memcpy(&v, at, sizeof v);
  return v;
}
inline uint64_t round(uint64_t sum, uint64_t word) { return std::rotl(sum + word * p2, 31) * p1; }
}  // namespace xxh64_words

inline uint64_t xxh64(std::span<const std::byte> bytes, uint64_t seed = 0) {
  using namespace xxh64_words;
  const std::byte *at = bytes.data(), *const end = at + bytes.size();
  uint64_t h = seed + p5;
  if (bytes.size() >= 32) {
    uint64_t a = seed + p1 + p2, b = seed + p2, c = seed, d = seed - p1;
    for (; end - at >= 32; at += 32) a = round(a, load<uint64_t>(at)), b = round(b, load<uint64_t>(at + 8)), c = round(c, load<uint64_t>(at + 16)), d = round(d, load<uint64_t>(at + 24));
    h = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
    for (const uint64_t sum : {a, b, c, d}) h = (h ^ round(0, sum)) * p1 + p4;
  }
  h += bytes.size();
  for (; end - at >= 8; at += 8) h = std::rotl(h ^ round(0, load<uint64_t>(at)), 27) * p1 + p4;
  if (end - at >= 4) h = std::rotl(h ^ load<uint32_t>(at) * p1, 23) * p2 + p3, at += 4;
  for (; at < end; at++) h = std::rotl(h ^ std::to_integer<uint64_t>(*at) * p5, 11) * p1;
  h = (h ^ h >> 33) * p2;
  h = (h ^ h >> 29) * p3;
  return h ^ h >> 32;
}
