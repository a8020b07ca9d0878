// q6_k: 256 weights as 6-bit codes around 32 in groups of 16 with 8-bit signed scales under one half.
#include "format/codes.h"

namespace {
// ql [0..127], qh [128..191], scales i8 [192..207], d f16 [208]
void decode(const std::byte* b, float* out) {
  const float d = codes::half(b + 208);
  for (int e = 0; e < 256; e++) {
    const int n = e / 128, g = e % 128 / 32, l = e % 32;
    const int low = (codes::u8(b, 64 * n + 32 * (g & 1) + l) >> (g < 2 ? 0 : 4)) & 15;
    const int high = (codes::u8(b + 128, 32 * n + l) >> (2 * g)) & 3;
    out[e] = d * static_cast<float>(codes::s8(b + 192, e / 16)) * static_cast<float>((low | high << 4) - 32);
  }
}
}  // namespace

extern const std::array<Format, 1> q6_k_formats;
const std::array<Format, 1> q6_k_formats = {{{"Q6_K", Codes::u6, Scales::super8, 16, 256, 210, 14, decode}}};
