// float: plain floating-point elements, each a block of one weight.
#include "format/codes.h"

namespace {
using codes::load;

void f32(const std::byte* b, float* out) { *out = load<float>(b); }
void f64(const std::byte* b, float* out) { *out = static_cast<float>(load<double>(b)); }
void f16(const std::byte* b, float* out) { *out = codes::half(b); }
void bf16(const std::byte* b, float* out) { *out = bf16_to_float(load<uint16_t>(b)); }
void e4m3(const std::byte* b, float* out) { *out = e4m3_to_float(load<uint8_t>(b)); }
void e5m2(const std::byte* b, float* out) { *out = f16_to_float(static_cast<uint16_t>(load<uint8_t>(b) << 8)); }  // a half without its low byte
void e8m0(const std::byte* b, float* out) { *out = e8m0_to_float(load<uint8_t>(b)); }
void f4(const std::byte* b, float* out) {
  for (int i = 0; i < 2; i++) out[i] = codes::e2m1[static_cast<size_t>(codes::paired_nibble(b, i))];
}
}  // namespace

extern const std::array<Format, 8> float_formats;
const std::array<Format, 8> float_formats = {{
    {"F32", Codes::f32, Scales::none, 1, 1, 4, 0, f32},
    {"F16", Codes::f16, Scales::none, 1, 1, 2, 1, f16},
    {"BF16", Codes::bf16, Scales::none, 1, 1, 2, 30, bf16},
    {"F64", Codes::f64, Scales::none, 1, 1, 8, 28, f64},
    {"F8_E4M3", Codes::e4m3, Scales::none, 1, 1, 1, -1, e4m3},
    {"F8_E5M2", Codes::e5m2, Scales::none, 1, 1, 1, -1, e5m2},
    {"F8_E8M0", Codes::e8m0, Scales::none, 1, 1, 1, -1, e8m0},
    {"F4", Codes::e2m1, Scales::none, 1, 2, 1, -1, f4},
}};
