// mlx_float: MLX's mxfp4, mxfp8 and nvfp4, small floats with one-byte scales in a plane of their own.
#include "format/codes.h"

namespace {
float scale_at(const StoredMatrix& m, int64_t i) {
  const auto code = codes::load<uint8_t>(m.scale.data() + i);
  return m.format->scales == Scales::e8m0 ? e8m0_to_float(code) : e4m3_to_float(code) * m.global_scale;
}

float code_at(const StoredMatrix& m, const std::byte* row, int64_t i) {
  if (m.format->codes == Codes::e4m3) return e4m3_to_float(codes::load<uint8_t>(row + i));
  return codes::e2m1[static_cast<size_t>(codes::paired_nibble(row, i))];
}

void decode_planar(const StoredMatrix& m, int64_t row, float* out) {
  const int64_t cols = m.shape.back(), group = m.format->group, groups = cols / group;
  const std::byte* packed = m.codes.data() + static_cast<size_t>(row) * row_bytes(*m.format, cols);
  for (int64_t g = 0; g < groups; g++) {
    const float scale = scale_at(m, row * groups + g);
    for (int64_t i = g * group; i < (g + 1) * group; i++) out[i] = code_at(m, packed, i) * scale;
  }
}
}  // namespace

extern const std::array<Format, 3> mlx_float_formats;
const std::array<Format, 3> mlx_float_formats = {{
    {"mlx_mxfp4", Codes::e2m1, Scales::e8m0, 32, 32, 16, -1, nullptr, decode_planar},
    {"mlx_mxfp8", Codes::e4m3, Scales::e8m0, 32, 32, 32, -1, nullptr, decode_planar},
    {"mlx_nvfp4", Codes::e2m1, Scales::e4m3, 16, 16, 8, -1, nullptr, decode_planar},
}};
