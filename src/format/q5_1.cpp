// q5_1: 32 weights as a half scale, a half min and 5-bit codes, their top bits in a word of their own.
#include "format/codes.h"

namespace {
// d f16 [0], m f16 [2], qh u32 [4], qs [8..23]
void decode(const std::byte* b, float* out) {
  const float d = codes::half(b), m = codes::half(b + 2);
  const auto qh = codes::load<uint32_t>(b + 4);
  for (int e = 0; e < 32; e++) {
    const int q = codes::split_nibble(b + 8, e) | static_cast<int>((qh >> e) & 1u) << 4;
    out[e] = static_cast<float>(q) * d + m;
  }
}
}  // namespace

extern const std::array<Format, 1> q5_1_formats;
const std::array<Format, 1> q5_1_formats = {{{"Q5_1", Codes::u5, Scales::f16_min, 32, 32, 24, 7, decode}}};
