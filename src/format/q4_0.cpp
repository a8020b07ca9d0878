// q4_0: 32 weights as a half scale and 4-bit codes around 8.
#include "format/codes.h"

namespace {
// d f16 [0], qs [2..17]
void decode(const std::byte* b, float* out) {
  const float d = codes::half(b);
  for (int e = 0; e < 32; e++) out[e] = static_cast<float>(codes::split_nibble(b + 2, e) - 8) * d;
}
}  // namespace

extern const std::array<Format, 1> q4_0_formats;
const std::array<Format, 1> q4_0_formats = {{{"Q4_0", Codes::u4, Scales::f16, 32, 32, 18, 2, decode}}};
