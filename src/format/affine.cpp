// affine: MLX's quantisation, unsigned codes of 2 to 8 bits with a scale and a bias per group in planes of their own.
#include "format/codes.h"

namespace {
// A row's codes are one little-endian bit stream: value i occupies bits [i * bits, (i + 1) * bits).
int code_at(const std::byte* row, int64_t i, int bits) {
  const int64_t bit = i * bits;
  int word = codes::u8(row, bit / 8);
  if (bit % 8 + bits > 8) word |= codes::u8(row, bit / 8 + 1) << 8;
  return (word >> (bit % 8)) & ((1 << bits) - 1);
}

void decode_planar(const StoredMatrix& m, int64_t row, float* out) {
  const int group = m.format->group, bits = m.format->block_bytes * 8 / m.format->block_weights;
  const int64_t cols = m.shape.back(), groups = cols / group;
  const std::byte* packed = m.codes.data() + static_cast<size_t>(row) * row_bytes(*m.format, cols);
  for (int64_t g = 0; g < groups; g++) {
    const float scale = codes::plane_value(m.scale, m.scale_type, row * groups + g);
    const float bias = codes::plane_value(m.bias, m.scale_type, row * groups + g);
    for (int64_t i = g * group; i < (g + 1) * group; i++) out[i] = scale * static_cast<float>(code_at(packed, i, bits)) + bias;
  }
}

constexpr Format affine(const char* name, Codes code, int bits, int group) {
  const auto size = static_cast<int16_t>(group);
  return {name, code, Scales::affine, size, size, static_cast<int16_t>(group * bits / 8), -1, nullptr, decode_planar};
}
}  // namespace

extern const std::array<Format, 18> affine_formats;
const std::array<Format, 18> affine_formats = {{
    affine("affine2g32", Codes::u2, 2, 32), affine("affine2g64", Codes::u2, 2, 64), affine("affine2g128", Codes::u2, 2, 128),
    affine("affine3g32", Codes::u3, 3, 32), affine("affine3g64", Codes::u3, 3, 64), affine("affine3g128", Codes::u3, 3, 128),
    affine("affine4g32", Codes::u4, 4, 32), affine("affine4g64", Codes::u4, 4, 64), affine("affine4g128", Codes::u4, 4, 128),
    affine("affine5g32", Codes::u5, 5, 32), affine("affine5g64", Codes::u5, 5, 64), affine("affine5g128", Codes::u5, 5, 128),
    affine("affine6g32", Codes::u6, 6, 32), affine("affine6g64", Codes::u6, 6, 64), affine("affine6g128", Codes::u6, 6, 128),
    affine("affine8g32", Codes::u8, 8, 32), affine("affine8g64", Codes::u8, 8, 64), affine("affine8g128", Codes::u8, 8, 128),
}};
