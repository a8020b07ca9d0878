// mxfp4: GGUF's MXFP4, 32 weights as 4-bit floats under one power-of-two scale.
#include "format/codes.h"

namespace {
// e8m0 [0], qs [1..16]
void decode(const std::byte* b, float* out) {
  const float scale = e8m0_to_float(codes::load<uint8_t>(b));
  for (int e = 0; e < 32; e++) out[e] = codes::e2m1[static_cast<size_t>(codes::split_nibble(b + 1, e))] * scale;
}
}  // namespace

extern const std::array<Format, 1> mxfp4_formats;
const std::array<Format, 1> mxfp4_formats = {{{"MXFP4", Codes::e2m1, Scales::e8m0, 32, 32, 17, 39, decode}}};
