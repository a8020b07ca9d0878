// fragments: a lane's part of a block of strips in shared memory, dequantised into the A operands of tensor cores.
#pragma once
#include "device/cuda/common.cuh"
#include "device/cuda/strips.h"

namespace cuda {

template <Codes C, Scales S, int G> inline constexpr int kBlockBytes = block_bytes(C, S, G);
template <Scales S, int G> inline constexpr int kScaleBytes = scale_bytes(S, G);
template <Scales S> inline constexpr bool kHasMin = has_min(S);

__device__ __forceinline__ uint32_t bits_of(__half2 v) { return reinterpret_cast<const uint32_t&>(v); }
__device__ __forceinline__ __half2 pair_of_halves(uint32_t v) { return reinterpret_cast<const __half2&>(v); }
__device__ __forceinline__ uint32_t both(uint16_t half) { return 0x10001u * half; }
// Two floats as halves; what is too large becomes the largest half.
__device__ __forceinline__ uint32_t saturated(float low, float high) {
  constexpr float most = 65504.0f;
  return bits_of(__floats2half2_rn(fminf(fmaxf(low, -most), most), fminf(fmaxf(high, -most), most)));
}
template <uint32_t Mask, uint32_t Or> __device__ __forceinline__ uint32_t mask_or(uint32_t v) {  // (v & Mask) | Or
  uint32_t r;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(r) : "r"(v), "n"(Mask), "n"(Or));
  return r;
}
template <uint32_t Mask> __device__ __forceinline__ uint32_t or_masked(uint32_t to, uint32_t v) {  // to | (v & Mask)
  uint32_t r;
  asm("lop3.b32 %0, %1, %2, %3, 0xf8;" : "=r"(r) : "r"(to), "r"(v), "n"(Mask));
  return r;
}

// Scales of rows r and r + 8 (pairs of halves, times unit), and their mins.
struct RowScales { uint32_t scale, min; };

template <Scales S> struct StoredScales {  // as stored, of rows r and r + 8
  uint32_t word[S == Scales::f32_min ? 4 : 2];  // super: d, sub; super_min: d, dmin, sub in word[1] of `sub`
  uint32_t sub;
};
template <Scales S, int G> __device__ __forceinline__ StoredScales<S> load_scales(const uint8_t* block, int group, int r) {
  StoredScales<S> s{};
  if constexpr (S == Scales::f16) s.word[0] = *reinterpret_cast<const uint32_t*>(block + 32 * group + 4 * r);
  if constexpr (S == Scales::f16_min || S == Scales::bf16_min) {
    const uint2 v = *reinterpret_cast<const uint2*>(block + 64 * group + 8 * r);
    s.word[0] = v.x, s.word[1] = v.y;
  }
  if constexpr (S == Scales::f32_min) {
    const uint4 v = *reinterpret_cast<const uint4*>(block + 128 * group + 16 * r);
    s.word[0] = v.x, s.word[1] = v.y, s.word[2] = v.z, s.word[3] = v.w;
  }
  if constexpr (S == Scales::super) {
    s.word[0] = *reinterpret_cast<const uint32_t*>(block + 4 * r);
    s.sub = *reinterpret_cast<const uint16_t*>(block + 32 + 16 * group + 2 * r);
  }
  if constexpr (S == Scales::super_min) {
    const uint2 v = *reinterpret_cast<const uint2*>(block + 8 * r);
    s.word[0] = v.x, s.word[1] = v.y;
    s.sub = *reinterpret_cast<const uint32_t*>(block + 64 + 32 * group + 4 * r);
  }
  return s;
}
// Row r + 8 * half of two strips, as rows r and r + 8 of one.
template <Scales S> __device__ __forceinline__ StoredScales<S> join(const StoredScales<S>& gate, const StoredScales<S>& up, int half) {
  StoredScales<S> s{};
  if constexpr (S == Scales::f32_min) {
    s.word[0] = half ? gate.word[1] : gate.word[0], s.word[1] = half ? up.word[1] : up.word[0];
    s.word[2] = half ? gate.word[3] : gate.word[2], s.word[3] = half ? up.word[3] : up.word[2];
  } else {
#pragma unroll
    for (int i = 0; i < 2; i++) s.word[i] = __byte_perm(gate.word[i], up.word[i], half ? 0x7632 : 0x5410);
    if constexpr (S == Scales::super) s.sub = __byte_perm(gate.sub, up.sub, half ? 0x7751 : 0x7740);
    if constexpr (S == Scales::super_min) s.sub = __byte_perm(gate.sub, up.sub, half ? 0x7351 : 0x6240);
  }
  return s;
}
// unit: of rows r and r + 8.
template <Scales S> __device__ __forceinline__ RowScales finish(const StoredScales<S>& s, float unit, float unit8) {
  const auto halves = [](float a, float b) { return bits_of(__floats2half2_rn(a, b)); };
  RowScales out{};
  const __half2 units = __floats2half2_rn(unit, unit8);
  if constexpr (S == Scales::f16 || S == Scales::f16_min) out.scale = bits_of(__hmul2(pair_of_halves(s.word[0]), units));
  if constexpr (S == Scales::f16_min) out.min = bits_of(__hmul2(pair_of_halves(s.word[1]), units));
  if constexpr (S == Scales::bf16_min) {
    out.scale = halves(__uint_as_float(s.word[0] << 16) * unit, __uint_as_float(s.word[0] & 0xffff0000u) * unit8);
    out.min = halves(__uint_as_float(s.word[1] << 16) * unit, __uint_as_float(s.word[1] & 0xffff0000u) * unit8);
  }
  if constexpr (S == Scales::f32_min) {
    out.scale = halves(__uint_as_float(s.word[0]) * unit, __uint_as_float(s.word[1]) * unit8);
    out.min = halves(__uint_as_float(s.word[2]) * unit, __uint_as_float(s.word[3]) * unit8);
  }
  if constexpr (S == Scales::super) {
    const __half2 sub = __floats2half2_rn(static_cast<float>(static_cast<int8_t>(s.sub)), static_cast<float>(static_cast<int8_t>(s.sub >> 8)));
    out.scale = bits_of(__hmul2(__hmul2(pair_of_halves(s.word[0]), units), sub));
  }
  if constexpr (S == Scales::super_min) {
    const __half2 one = __floats2half2_rn(1024.0f, 1024.0f);  // a byte under 0x64 is 1024 + the byte
    const __half2 sub = __hsub2(pair_of_halves(__byte_perm(s.sub, 0x64646464u, 0x4140)), one), sub_min = __hsub2(pair_of_halves(__byte_perm(s.sub, 0x64646464u, 0x4342)), one);
    out.scale = bits_of(__hmul2(__hmul2(pair_of_halves(s.word[0]), units), sub));
    out.min = bits_of(__hneg2(__hmul2(__hmul2(pair_of_halves(s.word[1]), units), sub_min)));
  }
  return out;
}

// Codes of slabs 2p and 2p + 1, rows r (even words) and r + 8 (odd words); u4 to u6: of all four slabs at once.
template <Codes C> struct StoredCodes {
  uint32_t word[C == Codes::f16 ? 8 : 4];
  uint32_t plane[2];
};
template <Codes C> __device__ __forceinline__ void load_codes(const uint8_t* codes, int p, int lane, StoredCodes<C>& s) {
  constexpr bool nibbles = C == Codes::u4 || C == Codes::u5 || C == Codes::u6;
  if (nibbles && p) return;
#pragma unroll
  for (int i = 0; i < (C == Codes::f16 ? 2 : 1); i++) {
    const uint4 v = *reinterpret_cast<const uint4*>(codes + (nibbles ? 0 : C == Codes::f16 ? 1024 * p + 512 * i : 512 * p) + 16 * lane);
    s.word[4 * i] = v.x, s.word[4 * i + 1] = v.y, s.word[4 * i + 2] = v.z, s.word[4 * i + 3] = v.w;
  }
  if constexpr (C == Codes::u5 || C == Codes::u6) s.plane[0] = *reinterpret_cast<const uint32_t*>(codes + 512 + 4 * lane);
  if constexpr (C == Codes::u6) s.plane[1] = *reinterpret_cast<const uint32_t*>(codes + 640 + 4 * lane);
}
template <Codes C> __device__ __forceinline__ void join(const StoredCodes<C>& gate, const StoredCodes<C>& up, int half, StoredCodes<C>& s) {
#pragma unroll
  for (int i = 0; i < (C == Codes::f16 ? 8 : 4); i += 2) s.word[i] = half ? gate.word[i + 1] : gate.word[i], s.word[i + 1] = half ? up.word[i + 1] : up.word[i];
#pragma unroll
  for (int i = 0; i < (C == Codes::u6 ? 2 : C == Codes::u5 ? 1 : 0); i++)  // four bits of a plane are one word's pairs
    s.plane[i] = ((half ? gate.plane[i] >> 4 : gate.plane[i]) & 0x0f0f0f0fu) | ((half ? up.plane[i] : up.plane[i] << 4) & 0xf0f0f0f0u);
}

// Bits 4 and 5 of pair T from the planes: 1024 + code, or where High 1024 + 16 * code.
template <Codes C, int T, bool High> __device__ __forceinline__ uint32_t with_planes(uint32_t v, const StoredCodes<C>& s) {
  constexpr int at = High ? 8 : 4;
  const auto shifted = [](uint32_t plane, int to) { return to >= T ? plane << (to - T) : plane >> (T - to); };
  if constexpr (C == Codes::u5 || C == Codes::u6) v = or_masked<0x00010001u << at>(v, shifted(s.plane[0], at));
  if constexpr (C == Codes::u6) v = or_masked<0x00020002u << at>(v, shifted(s.plane[1], at + 1));
  return v;
}

// What turns codes into numbers: 1024 + code - zero is exact in halves, and so is (1024 + 16 * code) / 16 - sixteenth.
struct Zero { uint32_t zero, sixteenth; };
__device__ __forceinline__ Zero zero_of(Codes c, int offset) {
  const float at = 1024.0f + static_cast<float>(offset) + (c == Codes::s8 ? 128.0f : 0.0f);
  return {bits_of(__floats2half2_rn(-at, -at)), bits_of(__floats2half2_rn(-(64.0f + static_cast<float>(offset)), -(64.0f + static_cast<float>(offset))))};
}

// One lane's blocks of a strip; or of a pair of strips, whose rows r + 8 * half become rows r (gate) and r + 8 (up) of a fragment.
template <Codes C, Scales S, int G, bool Pair> class Fragments {
  static constexpr bool kNibbles = C == Codes::u4 || C == Codes::u5 || C == Codes::u6;

 public:
  __device__ __forceinline__ Fragments(int lane, int half, float unit, float unit8, int offset) : lane_(lane), half_(half), unit_(unit), unit8_(unit8), zero_(zero_of(C, offset)) {}

  // Slabs 2 P and 2 P + 1 of the blocks (`up` only of a pair) as a[slab][register]; P = 0 comes first.
  template <int P> __device__ __forceinline__ void make(const uint8_t* block, const uint8_t* up, uint32_t (&a)[2][4]) {
    if constexpr (!Pair) {
      load_codes<C>(block + kScaleBytes<S, G>, P, lane_, codes_);
    } else if (P == 0 || !kNibbles) {
      StoredCodes<C> first{}, second{};
      load_codes<C>(block + kScaleBytes<S, G>, P, lane_, first), load_codes<C>(up + kScaleBytes<S, G>, P, lane_, second);
      join<C>(first, second, half_, codes_);
    }
    if constexpr (C == Codes::f16) {
#pragma unroll
      for (int i = 0; i < 8; i++) a[i / 4][i % 4] = codes_.word[i];
    } else {
      if (G > 1 || P == 0) scales_[0] = scales_of(block, up, G == 4 ? 2 * P : G == 2 ? P : 0);
      if constexpr (G == 4) scales_[1] = scales_of(block, up, 2 * P + 1);
      rows<P, 0>(a), rows<P, 1>(a);
    }
  }

 private:
  __device__ __forceinline__ RowScales scales_of(const uint8_t* block, const uint8_t* up, int group) const {
    const StoredScales<S> s = load_scales<S, G>(block, group, lane_ / 4);
    if constexpr (Pair) return finish(join(s, load_scales<S, G>(up, group, lane_ / 4), half_), unit_, unit8_);
    return finish(s, unit_, unit8_);
  }
  template <int P, int Row> __device__ __forceinline__ void rows(uint32_t (&a)[2][4]) const {
    if constexpr (C == Codes::s8) {
#pragma unroll
      for (int slab = 0; slab < 2; slab++) {
        const uint32_t w = codes_.word[2 * slab + Row] ^ 0x80808080u;
        a[slab][Row] = scaled<Row>(exact(__byte_perm(w, 0x64646464u, 0x4140)), slab), a[slab][2 + Row] = scaled<Row>(exact(__byte_perm(w, 0x64646464u, 0x4342)), slab);
      }
    } else {
      constexpr int word = 2 * P + Row;
      const uint32_t w = codes_.word[word], eights = w >> 8;
      a[0][Row] = scaled<Row>(exact(with_planes<C, 4 * word, false>(mask_or<0x000f000fu, 0x64006400u>(w), codes_)), 0);
      a[0][2 + Row] = scaled<Row>(exact(with_planes<C, 4 * word + 1, false>(mask_or<0x000f000fu, 0x64006400u>(eights), codes_)), 0);
      a[1][Row] = scaled<Row>(exact16(with_planes<C, 4 * word + 2, true>(mask_or<0x00f000f0u, 0x64006400u>(w), codes_)), 1);
      a[1][2 + Row] = scaled<Row>(exact16(with_planes<C, 4 * word + 3, true>(mask_or<0x00f000f0u, 0x64006400u>(eights), codes_)), 1);
    }
  }
  __device__ __forceinline__ __half2 exact(uint32_t v) const { return __hadd2(pair_of_halves(v), pair_of_halves(zero_.zero)); }
  __device__ __forceinline__ __half2 exact16(uint32_t v) const { return __hfma2(pair_of_halves(v), __floats2half2_rn(0.0625f, 0.0625f), pair_of_halves(zero_.sixteenth)); }
  template <int Row> __device__ __forceinline__ uint32_t scaled(__half2 q, int slab) const {
    constexpr unsigned both = Row ? 0x3232 : 0x1010;
    const RowScales& s = scales_[G == 4 ? slab : 0];
    if constexpr (kHasMin<S>) return bits_of(__hfma2(q, pair_of_halves(__byte_perm(s.scale, 0, both)), pair_of_halves(__byte_perm(s.min, 0, both))));
    return bits_of(__hmul2(q, pair_of_halves(__byte_perm(s.scale, 0, both))));
  }

  const int lane_, half_;
  const float unit_, unit8_;
  const Zero zero_;
  StoredCodes<C> codes_;
  RowScales scales_[G == 4 ? 2 : 1];
};

}  // namespace cuda
