// split: one function per family of block layouts (spec/model.md 4.1 and 4.5); bits are moved, never rounded.
#include "device/cpu/split.h"

#include <cstring>
#include "core/half.h"

namespace cpu {
namespace {

const uint8_t* block_at(const StoredMatrix& m, int64_t row, int64_t k) {
  const size_t at = static_cast<size_t>(row) * row_bytes(*m.format, m.shape.back()) + row_bytes(*m.format, k);
  return reinterpret_cast<const uint8_t*>(m.codes.data()) + at;
}
uint16_t u16(const uint8_t* p) {
  uint16_t v;
  std::memcpy(&v, p, 2);
  return v;
}

// Sixteen bytes of nibbles: element e is the low nibble of byte e, or the high nibble of byte e - 16.
void half_nibbles(const uint8_t* q, uint8_t* codes) {
  for (int i = 0; i < 16; i++) {
    codes[i] = q[i] & 15;
    codes[i + 16] = q[i] >> 4;
  }
}
void fifth_bits(const uint8_t* q, uint8_t* codes) {
  uint32_t bits;
  std::memcpy(&bits, q, 4);
  for (int e = 0; e < 32; e++) codes[e] = static_cast<uint8_t>(codes[e] | ((bits >> e) & 1) << 4);
}

// The 32-weight blocks of GGUF. Header: d, then m when HasMin, then the fifth bits when Five, then codes.
template <bool HasMin, bool Five> void split_q4q5(const StoredMatrix& m, int64_t row, int64_t k, int inputs, RowBlock& out) {
  const uint8_t* b = block_at(m, row, k);
  for (int g = 0; g < inputs / 32; g++, b += m.format->block_bytes) {
    constexpr int kCodes = 2 + (HasMin ? 2 : 0) + (Five ? 4 : 0);
    out.scale16[g] = u16(b);
    if (HasMin) out.min16[g] = u16(b + 2);
    half_nibbles(b + kCodes, out.codes + 32 * g);
    if (Five) fifth_bits(b + kCodes - 4, out.codes + 32 * g);
  }
}
void split_q8_0(const StoredMatrix& m, int64_t row, int64_t k, int inputs, RowBlock& out) {
  const uint8_t* b = block_at(m, row, k);
  for (int g = 0; g < inputs / 32; g++, b += 34) {
    out.scale16[g] = u16(b);
    std::memcpy(out.codes + 32 * g, b + 2, 32);
  }
}
// E2M1 codes are packed as twice their value, so their scales are halved: one less in an exponent, exact.
uint8_t halved_exponent(uint8_t e) { return e > 0 ? static_cast<uint8_t>(e - 1) : e; }
void split_mxfp4(const StoredMatrix& m, int64_t row, int64_t k, int inputs, RowBlock& out) {
  const uint8_t* b = block_at(m, row, k);
  for (int g = 0; g < inputs / 32; g++, b += 17) {
    out.sub_scale[g] = halved_exponent(b[0]);
    half_nibbles(b + 1, out.codes + 32 * g);
  }
}
// GGUF NVFP4: 64 weights, four E4M3 scales whose codes 0 and 0x7f mean 0.
void split_nvfp4(const StoredMatrix& m, int64_t row, int64_t k, int inputs, RowBlock& out) {
  const uint8_t* b = block_at(m, row, k);
  for (int g = 0; g < inputs / 16; g++) {
    const uint8_t* block = b + 36 * (g / 4);
    const int s = g % 4;
    const uint8_t code = block[s] & 0x7f;
    out.scale16[g] = float_to_f16(code == 0 || code == 0x7f ? 0.0f : e4m3_to_float(code) * 0.5f);
    for (int i = 0; i < 8; i++) {
      out.codes[16 * g + i] = block[4 + 8 * s + i] & 15;
      out.codes[16 * g + 8 + i] = block[4 + 8 * s + i] >> 4;
    }
  }
}

void split_q2_k(const StoredMatrix& m, int64_t row, int64_t k, int, RowBlock& out) {
  const uint8_t* b = block_at(m, row, k);
  out.d = u16(b + 80);
  out.dmin = u16(b + 82);
  for (int j = 0; j < 16; j++) {
    out.sub_scale[j] = b[j] & 15;
    out.sub_min[j] = b[j] >> 4;
  }
  for (int e = 0; e < 256; e++) out.codes[e] = (b[16 + 32 * (e / 128) + e % 32] >> (2 * (e % 128 / 32))) & 3;
}
void split_q3_k(const StoredMatrix& m, int64_t row, int64_t k, int, RowBlock& out) {
  const uint8_t *b = block_at(m, row, k), *s = b + 96;
  out.d = u16(b + 108);
  for (int j = 0; j < 16; j++) {
    const int low = j < 8 ? s[j] & 15 : s[j - 8] >> 4, high = (s[8 + j % 4] >> (2 * (j / 4))) & 3;
    out.sub_scale[j] = static_cast<uint8_t>((low | high << 4) - 32);
  }
  for (int e = 0; e < 256; e++) {
    const int n = e / 128, g = e % 128 / 32, l = e % 32;
    out.codes[e] = static_cast<uint8_t>(((b[32 + 32 * n + l] >> (2 * g)) & 3) | ((b[l] >> (4 * n + g)) & 1) << 2);  // offset 4
  }
}
template <bool Five> void split_q4_k(const StoredMatrix& m, int64_t row, int64_t k, int, RowBlock& out) {
  const uint8_t *b = block_at(m, row, k), *s = b + 4, *q = b + (Five ? 48 : 16);
  out.d = u16(b);
  out.dmin = u16(b + 2);
  for (int j = 0; j < 4; j++) {
    out.sub_scale[j] = s[j] & 63;
    out.sub_min[j] = s[j + 4] & 63;
    out.sub_scale[j + 4] = static_cast<uint8_t>((s[j + 8] & 15) | (s[j] >> 6) << 4);
    out.sub_min[j + 4] = static_cast<uint8_t>((s[j + 8] >> 4) | (s[j + 4] >> 6) << 4);
  }
  for (int j = 0; j < 8; j += 2)
    for (int l = 0; l < 32; l++) {
      out.codes[32 * j + l] = q[16 * j + l] & 15;
      out.codes[32 * j + 32 + l] = q[16 * j + l] >> 4;
    }
  if (Five)
    for (int j = 0; j < 8; j++)
      for (int l = 0; l < 32; l++) out.codes[32 * j + l] = static_cast<uint8_t>(out.codes[32 * j + l] | ((b[16 + l] >> j) & 1) << 4);
}
void split_q6_k(const StoredMatrix& m, int64_t row, int64_t k, int, RowBlock& out) {
  const uint8_t* b = block_at(m, row, k);
  out.d = u16(b + 208);
  std::memcpy(out.sub_scale, b + 192, 16);
  for (int n = 0; n < 2; n++)
    for (int g = 0; g < 4; g++)
      for (int l = 0; l < 32; l++) {
        const int low = b[64 * n + 32 * (g & 1) + l], high = (b[128 + 32 * n + l] >> (2 * g)) & 3;
        out.codes[128 * n + 32 * g + l] = static_cast<uint8_t>((g < 2 ? low & 15 : low >> 4) | high << 4);
      }
}
void split_iq4_xs(const StoredMatrix& m, int64_t row, int64_t k, int, RowBlock& out) {
  const uint8_t* b = block_at(m, row, k);
  out.d = u16(b);
  for (int i = 0; i < 8; i++) {
    const int low = (b[4 + i / 2] >> (4 * (i & 1))) & 15, high = (u16(b + 2) >> (2 * i)) & 3;
    out.sub_scale[i] = static_cast<uint8_t>((low | high << 4) - 32);
    half_nibbles(b + 8 + 16 * i, out.codes + 32 * i);
  }
}

// MLX: one little-endian bit stream per row; eight values are `Bits` bytes.
template <int Bits> void stream_codes(const uint8_t* p, int inputs, uint8_t* codes) {
  for (int i = 0; i < inputs; i += 8, p += Bits, codes += 8) {
    uint64_t word = 0;
    std::memcpy(&word, p, Bits);
    for (int j = 0; j < 8; j++) codes[j] = static_cast<uint8_t>((word >> (Bits * j)) & ((1u << Bits) - 1));
  }
}
template <int Bits> void split_affine(const StoredMatrix& m, int64_t row, int64_t k, int inputs, RowBlock& out) {
  const uint8_t* p = reinterpret_cast<const uint8_t*>(m.codes.data()) + (row * m.shape.back() + k) * Bits / 8;
  stream_codes<Bits>(p, inputs, out.codes);
  if (Bits == 8)
    for (int i = 0; i < inputs; i++) out.codes[i] ^= 0x80;  // stored as code - 128; the layout's offset gives it back
  const int64_t group = m.format->group, at = (row * m.shape.back() + k) / group;
  const int groups = inputs < group ? 1 : static_cast<int>(inputs / group);
  for (int g = 0; g < groups; g++) {
    const size_t i = static_cast<size_t>(at + g);
    if (m.scale_type == DType::f32) {
      std::memcpy(&out.scale32[g], m.scale.data() + 4 * i, 4);
      std::memcpy(&out.min32[g], m.bias.data() + 4 * i, 4);
      continue;
    }
    std::memcpy(&out.scale16[g], m.scale.data() + 2 * i, 2);
    std::memcpy(&out.min16[g], m.bias.data() + 2 * i, 2);
    if (m.scale_type == DType::f16) {
      out.scale32[g] = f16_to_float(out.scale16[g]);
      out.min32[g] = f16_to_float(out.min16[g]);
    }
  }
}
template <bool Nv> void split_mlx_fp4(const StoredMatrix& m, int64_t row, int64_t k, int inputs, RowBlock& out) {
  stream_codes<4>(reinterpret_cast<const uint8_t*>(m.codes.data()) + (row * m.shape.back() + k) / 2, inputs, out.codes);
  constexpr int kGroup = Nv ? 16 : 32;
  const uint8_t* scale = reinterpret_cast<const uint8_t*>(m.scale.data()) + (row * m.shape.back() + k) / kGroup;
  for (int g = 0; g < inputs / kGroup; g++) {
    if (Nv) out.scale16[g] = float_to_f16(e4m3_to_float(scale[g]) * 0.5f);
    else out.sub_scale[g] = halved_exponent(scale[g]);
  }
}

struct Entry { const char* format; PackLayout layout; SplitFn split; };
using enum PackCodes;
using S = PackScales;
constexpr Entry kEntries[] = {
    {"Q4_0", {u4, S::f16, 32, 32, 64, 8, false}, split_q4q5<false, false>},
    {"Q4_1", {u4, S::f16_min, 32, 32, 64, 0, false}, split_q4q5<true, false>},
    {"Q5_0", {u5, S::f16, 32, 32, 64, 16, false}, split_q4q5<false, true>},
    {"Q5_1", {u5, S::f16_min, 32, 32, 64, 0, false}, split_q4q5<true, true>},
    {"Q8_0", {s8, S::f16, 32, 32, 64, 0, false}, split_q8_0},
    {"IQ4_NL", {iq4, S::f16, 32, 32, 64, 0, false}, split_q4q5<false, false>},
    {"MXFP4", {e2m1, S::e8m0, 32, 32, 64, 0, false}, split_mxfp4},
    {"NVFP4", {e2m1, S::f16, 16, 16, 64, 0, false}, split_nvfp4},
    {"Q2_K", {u2, S::super_min, 16, 16, 256, 0, false}, split_q2_k},
    {"Q3_K", {u3, S::super, 16, 16, 256, 4, true}, split_q3_k},
    {"Q4_K", {u4, S::super_min, 32, 32, 256, 0, false}, split_q4_k<false>},
    {"Q5_K", {u5, S::super_min, 32, 32, 256, 0, false}, split_q4_k<true>},
    {"Q6_K", {u6, S::super, 16, 16, 256, 32, true}, split_q6_k},
    {"IQ4_XS", {iq4, S::super, 32, 32, 256, 0, true}, split_iq4_xs},
    {"mlx_mxfp4", {e2m1, S::e8m0, 32, 32, 64, 0, false}, split_mlx_fp4<false>},
    {"mlx_nvfp4", {e2m1, S::f16, 16, 16, 64, 0, false}, split_mlx_fp4<true>},
};

PackPlan plan_affine(const StoredMatrix& m) {
  const int group = m.format->group, bits = m.format->block_bytes * 8 / m.format->block_weights;
  PackPlan plan;
  plan.layout.scales = m.scale_type == DType::bf16 ? S::bf16_min : S::f32_min;
  plan.layout.group = group == 32 ? 32 : 64;
  plan.layout.scale_group = group;
  plan.layout.block = group == 128 ? 128 : 64;
  switch (bits) {
    case 2: plan.layout.codes = u2; plan.split = split_affine<2>; break;
    case 3: plan.layout.codes = u3; plan.split = split_affine<3>; break;
    case 4: plan.layout.codes = u4; plan.split = split_affine<4>; break;
    case 5: plan.layout.codes = u5; plan.split = split_affine<5>; break;
    case 6: plan.layout.codes = u6; plan.split = split_affine<6>; break;
    default: plan.layout.codes = s8; plan.layout.offset = -128; plan.split = split_affine<8>;
  }
  return plan;
}

}  // namespace

PackPlan plan_packing(const StoredMatrix& m) {
  const std::string_view name = m.format->name;
  PackPlan floats;
  floats.layout.codes = name == "F16" ? f16 : name == "BF16" || name == "mlx_mxfp8" ? bf16 : f32;
  if (m.shape.back() % 32 != 0) return floats;
  if (m.format->scales == Scales::affine) return plan_affine(m);
  for (const Entry& e : kEntries)
    if (name == e.format) return {e.layout, e.split};
  return floats;  // every other format is widened; mxfp8 fits bfloat16 exactly, the rest becomes float32
}

}  // namespace cpu
