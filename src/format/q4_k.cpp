// q4_k: 256 weights as 4-bit codes in groups of 32 with 6-bit scales and mins under two halves.
#include "format/codes.h"

namespace {
// d f16 [0], dmin f16 [2], scales [4..15], qs [16..143]
void decode(const std::byte* b, float* out) {
  const float d = codes::half(b), dmin = codes::half(b + 2);
  for (int j = 0; j < 8; j++) {
    const auto [sc, m] = codes::scale_min6(b + 4, j);
    const float scale = d * static_cast<float>(sc), min = dmin * static_cast<float>(m);
    for (int l = 0; l < 32; l++) {
      const int q = (codes::u8(b + 16, 32 * (j / 2) + l) >> (j % 2 * 4)) & 15;
      out[32 * j + l] = scale * static_cast<float>(q) - min;
    }
  }
}
}  // namespace

extern const std::array<Format, 1> q4_k_formats;
const std::array<Format, 1> q4_k_formats = {{{"Q4_K", Codes::u4, Scales::super6_min, 32, 256, 144, 12, decode}}};
