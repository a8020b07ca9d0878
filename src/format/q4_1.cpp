// q4_1: 32 weights as a half scale, a half min and 4-bit codes.
#include "format/codes.h"

namespace {
// d f16 [0], m f16 [2], qs [4..19]
void decode(const std::byte* b, float* out) {
  const float d = codes::half(b), m = codes::half(b + 2);
  for (int e = 0; e < 32; e++) out[e] = static_cast<float>(codes::split_nibble(b + 4, e)) * d + m;
}
}  // namespace

extern const std::array<Format, 1> q4_1_formats;
const std::array<Format, 1> q4_1_formats = {{{"Q4_1", Codes::u4, Scales::f16_min, 32, 32, 20, 3, decode}}};
