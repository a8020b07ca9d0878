// q5_0: 32 weights as a half scale and 5-bit codes around 16, their top bits in a word of their own.
#include "format/codes.h"

namespace {
// d f16 [0], qh u32 [2], qs [6..21]
void decode(const std::byte* b, float* out) {
  const float d = codes::half(b);
  const auto qh = codes::load<uint32_t>(b + 2);
  for (int e = 0; e < 32; e++) {
    const int q = codes::split_nibble(b + 6, e) | static_cast<int>((qh >> e) & 1u) << 4;
    out[e] = static_cast<float>(q - 16) * d;
  }
}
}  // namespace

extern const std::array<Format, 1> q5_0_formats;
const std::array<Format, 1> q5_0_formats = {{{"Q5_0", Codes::u5, Scales::f16, 32, 32, 22, 6, decode}}};
