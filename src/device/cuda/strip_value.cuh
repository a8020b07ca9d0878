// strip_value: one stored number out of strips, whatever they hold: for looking rows up, where speed does not matter.
#pragma once
#include "device/cuda/common.cuh"
#include "device/cuda/strips.h"

namespace cuda {

// As the matrix means it: with factor.
__device__ inline float strip_value(const Strips& m, int row, int k) {
  const StripLayout& l = m.layout;
  const int scales = scale_bytes(l.scales, l.groups), in_block = k % kBlockInputs, slab = in_block / 16, e = in_block % 16;
  const uint8_t* block = m.data + static_cast<int64_t>(row / kStripRows) * m.strip_bytes + static_cast<int64_t>(k / kBlockInputs) * (scales + code_bytes(l.codes));
  const uint8_t* codes = block + scales;
  const int r = row % 8, high = row % kStripRows / 8, c = e % 8 / 2, i = 2 * (e / 8) + e % 2, lane = 4 * r + c;  // i: 0 to 3 are inputs 2c, 2c + 1, 2c + 8, 2c + 9
  if (l.codes == Codes::f16) return half_value(reinterpret_cast<const uint16_t*>(codes + 512 * slab + 16 * lane)[2 * (high + 2 * (i / 2)) + i % 2]) * m.factor;
  int code;
  if (l.codes == Codes::s8) {
    code = static_cast<int8_t>(codes[512 * (slab / 2) + 16 * lane + 4 * (2 * (slab % 2) + high) + i]);
  } else {
    constexpr int at[4] = {0, 16, 8, 24};
    const int word = 2 * (slab / 2) + high, pair = 4 * word + 2 * (slab % 2) + i / 2;
    code = static_cast<int>(reinterpret_cast<const uint32_t*>(codes + 16 * lane)[word] >> (at[i] + 4 * (slab % 2)) & 15);
    if (l.codes != Codes::u4) code |= static_cast<int>(reinterpret_cast<const uint32_t*>(codes + 512)[lane] >> (pair + 16 * (i % 2)) & 1) << 4;
    if (l.codes == Codes::u6) code |= static_cast<int>(reinterpret_cast<const uint32_t*>(codes + 640)[lane] >> (pair + 16 * (i % 2)) & 1) << 5;
  }
  const int g = slab * l.groups / kSlabs;
  const auto bits = [&](int offset, int place) { return reinterpret_cast<const uint16_t*>(block + offset)[place]; };
  float scale = 1, min = 0;
  if (l.scales == Scales::f16) scale = half_value(bits(32 * g + 4 * r, high));
  if (l.scales == Scales::f16_min) scale = half_value(bits(64 * g + 8 * r, high)), min = half_value(bits(64 * g + 8 * r, 2 + high));
  if (l.scales == Scales::bf16_min) scale = bf16_value(bits(64 * g + 8 * r, high)), min = bf16_value(bits(64 * g + 8 * r, 2 + high));
  if (l.scales == Scales::f32_min) scale = reinterpret_cast<const float*>(block + 128 * g + 16 * r)[high], min = reinterpret_cast<const float*>(block + 128 * g + 16 * r)[2 + high];
  if (l.scales == Scales::super) scale = half_value(bits(4 * r, high)) * static_cast<float>(static_cast<int8_t>(block[32 + 16 * g + 2 * r + high]));
  if (l.scales == Scales::super_min) scale = half_value(bits(8 * r, high)) * static_cast<float>(block[64 + 32 * g + 4 * r + high]), min = -half_value(bits(8 * r, 2 + high)) * static_cast<float>(block[64 + 32 * g + 4 * r + 2 + high]);
  return m.factor * (scale * static_cast<float>(code - l.offset) + min);
}

}  // namespace cuda
