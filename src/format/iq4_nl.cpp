// iq4_nl: 32 weights as a half scale and 4-bit indices into a table of sixteen unevenly spaced integers.
#include "format/codes.h"

namespace {
// d f16 [0], qs [2..17]
void decode(const std::byte* b, float* out) {
  const float d = codes::half(b);
  for (int e = 0; e < 32; e++) out[e] = static_cast<float>(codes::iq4[static_cast<size_t>(codes::split_nibble(b + 2, e))]) * d;
}
}  // namespace

extern const std::array<Format, 1> iq4_nl_formats;
const std::array<Format, 1> iq4_nl_formats = {{{"IQ4_NL", Codes::iq4, Scales::f16, 32, 32, 18, 20, decode}}};
