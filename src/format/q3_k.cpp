// q3_k: 256 weights as 3-bit codes around 4 in groups of 16 with 6-bit signed scales under one half.
#include "format/codes.h"

namespace {
// Scale j of 16: its low four bits are a nibble of bytes 0..7, its high two bits a pair of bytes 8..11.
int scale6(const std::byte* s, int j) {
  const int low = j < 8 ? codes::u8(s, j) & 15 : codes::u8(s, j - 8) >> 4;
  const int high = (codes::u8(s, 8 + j % 4) >> (2 * (j / 4))) & 3;
  return (low | high << 4) - 32;
}

// hmask [0..31], qs [32..95], scales [96..107], d f16 [108]
void decode(const std::byte* b, float* out) {
  const float d = codes::half(b + 108);
  for (int e = 0; e < 256; e++) {
    const int n = e / 128, g = e % 128 / 32, l = e % 32;
    const int low = (codes::u8(b + 32, 32 * n + l) >> (2 * g)) & 3;
    const int high = (codes::u8(b, l) >> (4 * n + g)) & 1;
    const float scale = d * static_cast<float>(scale6(b + 96, e / 16));
    out[e] = scale * static_cast<float>((low | high << 2) - 4);
  }
}
}  // namespace

extern const std::array<Format, 1> q3_k_formats;
const std::array<Format, 1> q3_k_formats = {{{"Q3_K", Codes::u3, Scales::super6, 16, 256, 110, 11, decode}}};
