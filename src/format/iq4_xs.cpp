// iq4_xs: 256 weights as IQ4_NL's indices in groups of 32 with 6-bit signed scales under one half.
#include "format/codes.h"

namespace {
// d f16 [0], scales_h u16 [2], scales_l [4..7], qs [8..135]
void decode(const std::byte* b, float* out) {
  const float d = codes::half(b);
  const int scales_h = codes::load<uint16_t>(b + 2);
  for (int i = 0; i < 8; i++) {
    const int s = ((codes::u8(b + 4, i / 2) >> (i % 2 * 4)) & 15) | ((scales_h >> (2 * i)) & 3) << 4;
    const float scale = d * static_cast<float>(s - 32);
    const std::byte* qs = b + 8 + 16 * i;
    for (int l = 0; l < 32; l++) out[32 * i + l] = scale * static_cast<float>(codes::iq4[static_cast<size_t>(codes::split_nibble(qs, l))]);
  }
}
}  // namespace

extern const std::array<Format, 1> iq4_xs_formats;
const std::array<Format, 1> iq4_xs_formats = {{{"IQ4_XS", Codes::iq4, Scales::super6, 32, 256, 136, 23, decode}}};
