// split: one function per family of block layouts (spec/model.md 4.1 and 4.5); bits are moved, never rounded.
#include "device/cpu/split.h"

#include "core/half.h"
#include "device/cpu/tile.h"

namespace cpu {
namespace {

uint16_t u16(const uint8_t* p) { return load<uint16_t>(p); }

// Sixteen bytes of nibbles: element e is the low nibble of byte e, or the high nibble of byte e - 16.
void half_nibbles(const uint8_t* q, uint8_t* codes) {
  const auto both = load<U8x16>(q);
  store(codes, both & 15);
  store(codes + 16, both >> 4);
}
void fifth_bits(const uint8_t* q, uint8_t* codes) {
  for (int j = 0; j < 4; j++) {  // bit i of a byte to bit 4 of byte i: no copy of the byte meets another's bits
    const uint64_t low = (q[j] & 0x7fu) * 0x0002040810204081u & 0x0101010101010101u, high = static_cast<uint64_t>(q[j] >> 7) << 56;
    store(codes + 8 * j, load<uint64_t>(codes + 8 * j) | (low | high) << 4);
  }
}

// The 32-weight blocks of GGUF. Header: d, then m when HasMin, then the fifth bits when Five, then codes.
template <bool HasMin, bool Five> void split_q4q5(const Row& row, int64_t k, int inputs, int, RowBlock& out) {
  constexpr int kCodes = 2 + (HasMin ? 2 : 0) + (Five ? 4 : 0), kBytes = kCodes + 16;
  const uint8_t* b = row.codes + k / 32 * kBytes;
  for (int g = 0; g < inputs / 32; g++, b += kBytes) {
    out.scale16[g] = u16(b);
    if (HasMin) out.min16[g] = u16(b + 2);
    half_nibbles(b + kCodes, out.codes + 32 * g);
    if (Five) fifth_bits(b + kCodes - 4, out.codes + 32 * g);
  }
}
void split_q8_0(const Row& row, int64_t k, int inputs, int, RowBlock& out) {
  const uint8_t* b = row.codes + k / 32 * 34;
  for (int g = 0; g < inputs / 32; g++, b += 34) {
    out.scale16[g] = u16(b);
    std::memcpy(out.codes + 32 * g, b + 2, 32);
  }
}
// E2M1 codes are packed as twice their value, so their scales are halved: one less in an exponent, exact.
uint8_t halved_exponent(uint8_t e) { return e > 0 ? static_cast<uint8_t>(e - 1) : e; }
void split_mxfp4(const Row& row, int64_t k, int inputs, int, RowBlock& out) {
  const uint8_t* b = row.codes + k / 32 * 17;
  for (int g = 0; g < inputs / 32; g++, b += 17) {
    out.sub_scale[g] = halved_exponent(b[0]);
    half_nibbles(b + 1, out.codes + 32 * g);
  }
}
// GGUF NVFP4: 64 weights, four E4M3 scales whose codes 0 and 0x7f mean 0.
void split_nvfp4(const Row& row, int64_t k, int inputs, int, RowBlock& out) {
  const uint8_t* b = row.codes + k / 64 * 36;
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

void split_q2_k(const Row& row, int64_t k, int, int, RowBlock& out) {
  const uint8_t* b = row.codes + k / 256 * 84;
  out.d = u16(b + 80);
  out.dmin = u16(b + 82);
  for (int j = 0; j < 16; j++) {
    out.sub_scale[j] = b[j] & 15;
    out.sub_min[j] = b[j] >> 4;
  }
  for (int n = 0; n < 2; n++)
    for (int l = 0; l < 32; l += 16) {
      const auto pairs = load<U8x16>(b + 16 + 32 * n + l);
      for (int g = 0; g < 4; g++) store(out.codes + 128 * n + 32 * g + l, pairs >> (2 * g) & 3);
    }
}
void split_q3_k(const Row& row, int64_t k, int, int, RowBlock& out) {
  const uint8_t *b = row.codes + k / 256 * 110, *s = b + 96;
  out.d = u16(b + 108);
  for (int j = 0; j < 16; j++) {
    const int low = j < 8 ? s[j] & 15 : s[j - 8] >> 4, high = (s[8 + j % 4] >> (2 * (j / 4))) & 3;
    out.sub_scale[j] = static_cast<uint8_t>((low | high << 4) - 32);
  }
  for (int n = 0; n < 2; n++)
    for (int l = 0; l < 32; l += 16) {
      const auto pairs = load<U8x16>(b + 32 + 32 * n + l), high = load<U8x16>(b + l) >> (4 * n);
      for (int g = 0; g < 4; g++) store(out.codes + 128 * n + 32 * g + l, (pairs >> (2 * g) & 3) | (high >> g & 1) << 2);  // offset 4
    }
}
template <bool Five> void split_q4_k(const Row& row, int64_t k, int, int, RowBlock& out) {
  constexpr int kBytes = Five ? 176 : 144;
  const uint8_t *b = row.codes + k / 256 * kBytes, *s = b + 4, *q = b + (Five ? 48 : 16);
  out.d = u16(b);
  out.dmin = u16(b + 2);
  for (int j = 0; j < 4; j++) {
    out.sub_scale[j] = s[j] & 63;
    out.sub_min[j] = s[j + 4] & 63;
    out.sub_scale[j + 4] = static_cast<uint8_t>((s[j + 8] & 15) | (s[j] >> 6) << 4);
    out.sub_min[j + 4] = static_cast<uint8_t>((s[j + 8] >> 4) | (s[j + 4] >> 6) << 4);
  }
  for (int l = 0; l < 32; l += 16) {
    const U8x16 fifths = Five ? load<U8x16>(b + 16 + l) : U8x16{};
    for (int j = 0; j < 8; j += 2) {
      const auto both = load<U8x16>(q + 16 * j + l);
      store(out.codes + 32 * j + l, (both & 15) | (fifths >> j & 1) << 4);
      store(out.codes + 32 * j + 32 + l, both >> 4 | (fifths >> (j + 1) & 1) << 4);
    }
  }
}
void split_q6_k(const Row& row, int64_t k, int, int, RowBlock& out) {
  const uint8_t* b = row.codes + k / 256 * 210;
  out.d = u16(b + 208);
  std::memcpy(out.sub_scale, b + 192, 16);
  for (int n = 0; n < 2; n++)
    for (int l = 0; l < 32; l += 16) {
      const auto a = load<U8x16>(b + 64 * n + l), c = load<U8x16>(b + 64 * n + 32 + l), pairs = load<U8x16>(b + 128 + 32 * n + l);
      const U8x16 low[4] = {a & 15, c & 15, a >> 4, c >> 4};
      for (int g = 0; g < 4; g++) store(out.codes + 128 * n + 32 * g + l, low[g] | (pairs >> (2 * g) & 3) << 4);
    }
}
void split_iq4_xs(const Row& row, int64_t k, int, int, RowBlock& out) {
  const uint8_t* b = row.codes + k / 256 * 136;
  out.d = u16(b);
  for (int i = 0; i < 8; i++) {
    const int low = (b[4 + i / 2] >> (4 * (i & 1))) & 15, high = (u16(b + 2) >> (2 * i)) & 3;
    out.sub_scale[i] = static_cast<uint8_t>((low | high << 4) - 32);
    half_nibbles(b + 8 + 16 * i, out.codes + 32 * i);
  }
}

// MLX: one little-endian bit stream per row; eight values are `Bits` bytes. Halves, quarters and eighths of their bits move apart.
template <int Bits> uint64_t spread(uint64_t w) {
  constexpr auto kFirst = [](int bits, uint64_t every) { return ((uint64_t{1} << bits) - 1) * every; };
  constexpr uint64_t kHalf = kFirst(4 * Bits, 1), kQuarter = kFirst(2 * Bits, 0x0000000100000001u), kEighth = kFirst(Bits, 0x0001000100010001u);
  if constexpr (Bits == 8) return w;
  w = (w & kHalf) | (w >> (4 * Bits) & kHalf) << 32;
  w = (w & kQuarter) | (w >> (2 * Bits) & kQuarter) << 16;
  return (w & kEighth) | (w >> Bits & kEighth) << 8;
}
template <int Bits> void stream_codes(const uint8_t* p, int inputs, uint8_t* codes) {
  for (int i = 0; i < inputs; i += 32, p += 4 * Bits, codes += 32) {
    if constexpr (Bits == 4) {
      const auto both = load<U8x16>(p), low = both & 15, high = both >> 4;
      store(codes, __builtin_shufflevector(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
      store(codes + 16, __builtin_shufflevector(low, high, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31));
      continue;
    }
    for (int j = 0; j < 4; j++) {
      const int at = std::min(Bits * j, 4 * Bits - 8);  // eight bytes, all of them inside these 32 codes
      const uint64_t word = load<uint64_t>(p + at) >> (8 * (Bits * j - at));
      store(codes + 8 * j, spread<Bits>(word) ^ (Bits == 8 ? 0x8080808080808080u : 0));  // 8 bits become code - 128; the layout's offset gives it back
    }
  }
}
template <int Bits, DType Type> void split_affine(const Row& row, int64_t k, int inputs, int group, RowBlock& out) {
  stream_codes<Bits>(row.codes + k * Bits / 8, inputs, out.codes);
  const int groups = inputs < group ? 1 : inputs / group;
  const auto put = [&](const uint8_t* plane, uint16_t* halves, float* floats) {
    for (int g = 0; g < groups; g++) {
      const uint8_t* at = plane + (k / group + g) * (Type == DType::f32 ? 4 : 2);
      if constexpr (Type == DType::bf16) halves[g] = u16(at);
      else floats[g] = Type == DType::f32 ? load<float>(at) : f16_to_float(u16(at));
    }
  };
  put(row.scale, out.scale16, out.scale32);
  put(row.min, out.min16, out.min32);
}
template <bool Nv> void split_mlx_fp4(const Row& row, int64_t k, int inputs, int, RowBlock& out) {
  constexpr int kGroup = Nv ? 16 : 32;
  stream_codes<4>(row.codes + k / 2, inputs, out.codes);
  for (int g = 0; g < inputs / kGroup; g++) {
    const uint8_t scale = row.scale[k / kGroup + g];
    if (Nv) out.scale16[g] = float_to_f16(e4m3_to_float(scale) * 0.5f);
    else out.sub_scale[g] = halved_exponent(scale);
  }
}

struct Entry { const char* format; PackPlan plan; };
using enum PackCodes;
using S = PackScales;
template <PackCodes C, PackScales Scale, auto Split>
constexpr Entry entry(const char* format, int group, int block, int offset = 0, bool signed_scales = false) {
  return {format, {{C, Scale, group, group, block, offset, signed_scales}, pack_tile<C, Scale, Split>}};
}
constexpr Entry kEntries[] = {
    entry<u4, S::f16, split_q4q5<false, false>>("Q4_0", 32, 64, 8),
    entry<u4, S::f16_min, split_q4q5<true, false>>("Q4_1", 32, 64),
    entry<u5, S::f16, split_q4q5<false, true>>("Q5_0", 32, 64, 16),
    entry<u5, S::f16_min, split_q4q5<true, true>>("Q5_1", 32, 64),
    entry<s8, S::f16, split_q8_0>("Q8_0", 32, 64),
    entry<iq4, S::f16, split_q4q5<false, false>>("IQ4_NL", 32, 64),
    entry<e2m1, S::e8m0, split_mxfp4>("MXFP4", 32, 64),
    entry<e2m1, S::f16, split_nvfp4>("NVFP4", 16, 64),
    entry<u2, S::super_min, split_q2_k>("Q2_K", 16, 256),
    entry<u3, S::super, split_q3_k>("Q3_K", 16, 256, 4, true),
    entry<u4, S::super_min, split_q4_k<false>>("Q4_K", 32, 256),
    entry<u5, S::super_min, split_q4_k<true>>("Q5_K", 32, 256),
    entry<u6, S::super, split_q6_k>("Q6_K", 16, 256, 32, true),
    entry<iq4, S::super, split_iq4_xs>("IQ4_XS", 32, 256, 0, true),
    entry<e2m1, S::e8m0, split_mlx_fp4<false>>("mlx_mxfp4", 32, 64),
    entry<e2m1, S::f16, split_mlx_fp4<true>>("mlx_nvfp4", 16, 64),
};

template <int Bits, PackCodes C> PackPlan plan_bits(DType type, PackLayout l) {
  l.codes = C;
  l.offset = Bits == 8 ? -128 : 0;
  l.scales = type == DType::bf16 ? S::bf16_min : S::f32_min;
  if (type == DType::bf16) return {l, pack_tile<C, S::bf16_min, split_affine<Bits, DType::bf16>>};
  return {l, type == DType::f16 ? pack_tile<C, S::f32_min, split_affine<Bits, DType::f16>> : pack_tile<C, S::f32_min, split_affine<Bits, DType::f32>>};
}
PackPlan plan_affine(const StoredMatrix& m) {
  const int group = m.format->group;
  PackLayout l;
  l.group = group == 32 ? 32 : 64;
  l.scale_group = group;
  l.block = group == 128 ? 128 : 64;
  switch (m.format->block_bytes * 8 / m.format->block_weights) {
    case 2: return plan_bits<2, u2>(m.scale_type, l);
    case 3: return plan_bits<3, u3>(m.scale_type, l);
    case 4: return plan_bits<4, u4>(m.scale_type, l);
    case 5: return plan_bits<5, u5>(m.scale_type, l);
    case 6: return plan_bits<6, u6>(m.scale_type, l);
    default: return plan_bits<8, s8>(m.scale_type, l);
  }
}

}  // namespace

Row row_of(const StoredMatrix& m, int64_t row) {
  const auto at = [&](std::span<const std::byte> plane) {
    return reinterpret_cast<const uint8_t*>(plane.data()) + plane.size() / static_cast<size_t>(m.shape.rows()) * static_cast<size_t>(row);
  };
  return {at(m.codes), at(m.scale), at(m.bias)};
}

PackPlan plan_packing(const StoredMatrix& m) {
  const std::string_view name = m.format->name;
  PackPlan floats;
  floats.layout.codes = name == "F16" ? f16 : name == "BF16" || name == "mlx_mxfp8" ? bf16 : f32;
  if (name == "F16" || name == "BF16") floats.tile = pack_elements<U16x8>;
  if (name == "F32") floats.tile = pack_elements<U32x4>;
  if (m.shape.back() % 32 != 0) return floats;
  if (m.format->scales == Scales::affine) return plan_affine(m);
  for (const Entry& e : kEntries)
    if (name == e.format) return e.plan;
  return floats;  // every other format is widened; mxfp8 fits bfloat16 exactly, the rest becomes float32
}

}  // namespace cpu
