// q2_k: 256 weights as 2-bit codes in groups of 16 with 4-bit scales and mins under two halves.
#include "format/codes.h"

namespace {
// scales [0..15], qs [16..79], d f16 [80], dmin f16 [82]
void decode(const std::byte* b, float* out) {
  const float d = codes::half(b + 80), dmin = codes::half(b + 82);
  for (int e = 0; e < 256; e++) {
    const int n = e / 128, g = e % 128 / 32, l = e % 32, s = codes::u8(b, e / 16);
    const int q = (codes::u8(b + 16, 32 * n + l) >> (2 * g)) & 3;
    const float scale = d * static_cast<float>(s & 15), min = dmin * static_cast<float>(s >> 4);
    out[e] = scale * static_cast<float>(q) - min;
  }
}
}  // namespace

extern const std::array<Format, 1> q2_k_formats;
const std::array<Format, 1> q2_k_formats = {{{"Q2_K", Codes::u2, Scales::super4_min, 16, 256, 84, 10, decode}}};
