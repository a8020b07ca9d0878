// scales: refusing weights whose scales, or vectors whose elements, are NaN or infinite.
#include <cmath>
#include <cstring>
#include "model/weights.h"

namespace {

// Byte offsets of the half-precision scales in one block, by GGUF type. -1: none. [spec 4.5]
struct BlockScales {
  int16_t ggml_type, first, second;
};
constexpr BlockScales block_scales[] = {{2, 0, -1},    {3, 0, 2},  {6, 0, -1}, {7, 0, 2},     {8, 0, -1},  {10, 80, 82},
                                        {11, 108, -1}, {12, 0, 2}, {13, 0, 2}, {14, 208, -1}, {20, 0, -1}, {23, 0, -1}};
constexpr int16_t mxfp4_type = 39;  // one E8M0 byte in front of each block

// Whether every 16-bit element with these exponent bits, `stride` bytes apart, is finite. Branch-free inside, so that it vectorises.
bool all_finite16(const std::byte* at, size_t count, size_t stride, uint16_t exponent) {
  unsigned bad = 0;
  for (size_t i = 0; i < count; i++) {
    uint16_t bits;
    std::memcpy(&bits, at + i * stride, sizeof bits);
    bad |= static_cast<unsigned>((bits & exponent) == exponent);
  }
  return bad == 0;
}

bool all_finite32(const std::byte* at, size_t count) {
  unsigned bad = 0;
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    std::memcpy(&bits, at + i * 4, sizeof bits);
    bad |= static_cast<unsigned>((bits & 0x7f800000u) == 0x7f800000u);
  }
  return bad == 0;
}

bool no_byte(const std::byte* at, size_t count, size_t stride, unsigned mask, unsigned value) {
  unsigned bad = 0;
  for (size_t i = 0; i < count; i++) bad |= static_cast<unsigned>((std::to_integer<unsigned>(at[i * stride]) & mask) == value);
  return bad == 0;
}

bool plane_is_finite(std::span<const std::byte> plane, DType type, Scales scales) {
  switch (type) {
    case DType::f32:
      return all_finite32(plane.data(), plane.size() / 4);
    case DType::f16:
      return all_finite16(plane.data(), plane.size() / 2, 2, 0x7c00);
    case DType::bf16:
      return all_finite16(plane.data(), plane.size() / 2, 2, 0x7f80);
    case DType::u8:
      return scales == Scales::e8m0 ? no_byte(plane.data(), plane.size(), 1, 0xff, 0xff) : no_byte(plane.data(), plane.size(), 1, 0x7f, 0x7f);
    case DType::i32:
      return true;
  }
  return true;
}

bool blocks_are_finite(const StoredMatrix& m) {
  const auto stride = static_cast<size_t>(m.format->block_bytes);
  const size_t count = m.codes.size() / stride;
  if (m.format->ggml_type == mxfp4_type) return no_byte(m.codes.data(), count, stride, 0xff, 0xff);
  for (const BlockScales& scales : block_scales) {
    if (scales.ggml_type != m.format->ggml_type) continue;
    if (!all_finite16(m.codes.data() + scales.first, count, stride, 0x7c00)) return false;
    if (scales.second >= 0 && !all_finite16(m.codes.data() + scales.second, count, stride, 0x7c00)) return false;
  }
  return true;
}

}  // namespace

Status check_scales(const std::string& path, const std::string& name, const StoredMatrix& m) {
  const bool good = m.format->decode_planar ? plane_is_finite(m.scale, m.scale_type, m.format->scales) &&
                                                  plane_is_finite(m.bias, m.scale_type, m.format->scales) && std::isfinite(m.global_scale)
                                            : blocks_are_finite(m);
  if (good) return ok_status();
  return Error{Code::corrupt_file, "cannot load " + path + ": tensor " + name + ": finite scales expected, NaN or infinity found"};
}

Status check_finite(const std::string& path, const std::string& name, std::span<const float> values) {
  for (const float v : values)
    if (!std::isfinite(v))
      return Error{Code::corrupt_file, "cannot load " + path + ": tensor " + name + ": finite numbers expected, NaN or infinity found"};
  return ok_status();
}
