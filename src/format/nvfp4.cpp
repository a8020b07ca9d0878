// nvfp4: GGUF's NVFP4, 64 weights as 4-bit floats in groups of 16 under unsigned 8-bit float scales.
#include "format/codes.h"

namespace {
// E4M3 without a sign; ggml reads 0x7f as 0 and ignores the top bit otherwise.
float scale_of(int code) {
  if (code == 0x7f) return 0;
  const int exponent = (code >> 3) & 15, mantissa = code & 7;
  return exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9) : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
}

// scales [0..3], qs [4..35]: eight bytes a group, its first eight weights in the low nibbles
void decode(const std::byte* b, float* out) {
  for (int e = 0; e < 64; e++) {
    const int s = e / 16, l = e % 16;
    const int q = (codes::u8(b + 4, 8 * s + l % 8) >> (l < 8 ? 0 : 4)) & 15;
    out[e] = codes::e2m1[static_cast<size_t>(q)] * scale_of(codes::u8(b, s));
  }
}
}  // namespace

extern const std::array<Format, 1> nvfp4_formats;
const std::array<Format, 1> nvfp4_formats = {{{"NVFP4", Codes::e2m1, Scales::e4m3, 16, 64, 36, 40, decode}}};
