// q5_k: Q4_K with a fifth bit of each code in a plane of its own.
#include "format/codes.h"

namespace {
// d f16 [0], dmin f16 [2], scales [4..15], qh [16..47], qs [48..175]
void decode(const std::byte* b, float* out) {
  const float d = codes::half(b), dmin = codes::half(b + 2);
  for (int j = 0; j < 8; j++) {
    const auto [sc, m] = codes::scale_min6(b + 4, j);
    const float scale = d * static_cast<float>(sc), min = dmin * static_cast<float>(m);
    for (int l = 0; l < 32; l++) {
      const int low = (codes::u8(b + 48, 32 * (j / 2) + l) >> (j % 2 * 4)) & 15, high = (codes::u8(b + 16, l) >> j) & 1;
      out[32 * j + l] = scale * static_cast<float>(low | high << 4) - min;
    }
  }
}
}  // namespace

extern const std::array<Format, 1> q5_k_formats;
const std::array<Format, 1> q5_k_formats = {{{"Q5_K", Codes::u5, Scales::super6_min, 32, 256, 176, 13, decode}}};
