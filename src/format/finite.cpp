// finite: whether the scales of stored rows are numbers.
#include <cmath>
#include <cstring>
#include "format/format.h"

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
    case DType::f32: return all_finite32(plane.data(), plane.size() / 4);
    case DType::f16: return all_finite16(plane.data(), plane.size() / 2, 2, 0x7c00);
    case DType::bf16: return all_finite16(plane.data(), plane.size() / 2, 2, 0x7f80);
    case DType::u8: return scales == Scales::e8m0 ? no_byte(plane.data(), plane.size(), 1, 0xff, 0xff) : no_byte(plane.data(), plane.size(), 1, 0x7f, 0x7f);
    case DType::i32: return true;
  }
  return true;
}

bool blocks_are_finite(const StoredMatrix& m, int64_t first_row, int64_t rows) {
  const size_t row = row_bytes(*m.format, m.shape.back()), stride = static_cast<size_t>(m.format->block_bytes), count = static_cast<size_t>(rows) * row / stride;
  const std::byte* at = m.codes.data() + static_cast<size_t>(first_row) * row;
  if (m.format->ggml_type == mxfp4_type) return no_byte(at, count, stride, 0xff, 0xff);
  for (const BlockScales& scales : block_scales) {
    if (scales.ggml_type != m.format->ggml_type) continue;
    if (!all_finite16(at + scales.first, count, stride, 0x7c00)) return false;
    return scales.second < 0 || all_finite16(at + scales.second, count, stride, 0x7c00);
  }
  return true;
}

}  // namespace

bool scales_are_finite(const StoredMatrix& m, int64_t first_row, int64_t rows) {
  if (!m.format->decode_planar) return blocks_are_finite(m, first_row, rows);
  if (!std::isfinite(m.global_scale)) return false;
  const auto share = [&](std::span<const std::byte> plane) {  // one row of scales per row, but for square blocks: there all of them, which are few
    const size_t row = m.format->scales == Scales::block || m.shape.rows() == 0 ? 0 : plane.size() / static_cast<size_t>(m.shape.rows());
    return row == 0 ? plane : plane.subspan(static_cast<size_t>(first_row) * row, static_cast<size_t>(rows) * row);
  };
  return plane_is_finite(share(m.scale), m.scale_type, m.format->scales) && plane_is_finite(share(m.bias), m.scale_type, m.format->scales);
}

Status check_scales(const StoredMatrix& m) {
  if (scales_are_finite(m, 0, m.shape.rows())) return ok_status();
  return Error{Code::corrupt_file, "finite scales expected, NaN or infinity found"};
}
