// q8_0: 32 weights as a half scale and signed bytes.
#include "format/codes.h"

namespace {
// d f16 [0], qs i8 [2..33]
void decode(const std::byte* b, float* out) {
  const float d = codes::half(b);
  for (int e = 0; e < 32; e++) out[e] = static_cast<float>(codes::s8(b + 2, e)) * d;
}
}  // namespace

extern const std::array<Format, 1> q8_0_formats;
const std::array<Format, 1> q8_0_formats = {{{"Q8_0", Codes::s8, Scales::f16, 32, 32, 34, 8, decode}}};
