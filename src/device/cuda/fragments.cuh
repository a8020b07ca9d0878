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
// Two floats as halves; what is too large becomes the largest half.
__device__ __forceinline__ uint32_t saturated(float low, float high) {
  const __half2 most = __floats2half2_rn(65504.0f, 65504.0f);
  return bits_of(__hmin2_nan(__hmax2_nan(__floats2half2_rn(low, high), __hneg2(most)), most));
}
template <uint32_t Mask> __device__ __forceinline__ uint32_t or_masked(uint32_t to, uint32_t v) {  // to | (v & Mask)
  uint32_t r;
  asm("lop3.b32 %0, %1, %2, %3, 0xf8;" : "=r"(r) : "r"(to), "r"(v), "n"(Mask));
  return r;
}

// Of rows r and r + 8, as pairs of halves: a number of a matrix is code * 2^-24 * scale + zero, where the integer code is read as a half: a denormal.
struct RowScales { uint32_t scale, zero; };

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
// What scales and mins are multiplied with: floats for rows r and r + 8; as halves, scales take the rest, 2^15, in a second step.
struct Units {
  float unit, unit8;
  uint32_t halves, min_halves, offset;  // (unit, unit8), the same * 2^-9, -2^-24 * the code that means zero
  __device__ __forceinline__ Units(Codes c, float u, float u8, int code) : unit(u), unit8(u8) {
    const float zero = -static_cast<float>(code + (c == Codes::s8 ? 128 : 0)) / (1 << 24);
    halves = bits_of(__floats2half2_rn(u, u8)), min_halves = bits_of(__floats2half2_rn(u / 512, u8 / 512)), offset = bits_of(__floats2half2_rn(zero, zero));
  }
};
template <Scales S> __device__ __forceinline__ RowScales finish(const StoredScales<S>& s, const Units& u) {
  const auto product = [](uint32_t a, uint32_t b) { return __hmul2(pair_of_halves(a), pair_of_halves(b)); };
  const __half2 more = __floats2half2_rn(32768.0f, 32768.0f);
  __half2 scale{}, min{};
  if constexpr (S == Scales::f16 || S == Scales::f16_min) scale = __hmul2(product(s.word[0], u.halves), more);
  if constexpr (S == Scales::f16_min) min = product(s.word[1], u.min_halves);
  if constexpr (S == Scales::bf16_min) {
    scale = __hmul2(__floats2half2_rn(__uint_as_float(s.word[0] << 16) * u.unit, __uint_as_float(s.word[0] & 0xffff0000u) * u.unit8), more);
    min = __floats2half2_rn(__uint_as_float(s.word[1] << 16) * u.unit * (1.0f / 512), __uint_as_float(s.word[1] & 0xffff0000u) * u.unit8 * (1.0f / 512));
  }
  if constexpr (S == Scales::f32_min) {
    scale = __hmul2(__floats2half2_rn(__uint_as_float(s.word[0]) * u.unit, __uint_as_float(s.word[1]) * u.unit8), more);
    min = __floats2half2_rn(__uint_as_float(s.word[2]) * u.unit * (1.0f / 512), __uint_as_float(s.word[3]) * u.unit8 * (1.0f / 512));
  }
  if constexpr (S == Scales::super) {
    const __half2 sub = __floats2half2_rn(static_cast<float>(static_cast<int8_t>(s.sub)), static_cast<float>(static_cast<int8_t>(s.sub >> 8)));
    scale = __hmul2(__hmul2(product(s.word[0], u.halves), sub), more);
  }
  if constexpr (S == Scales::super_min) {
    const __half2 bias = __floats2half2_rn(1024.0f, 1024.0f);  // a byte under 0x64 is 1024 + the byte
    const __half2 sub = __hsub2(pair_of_halves(__byte_perm(s.sub, 0x64646464u, 0x4140)), bias), sub_min = __hsub2(bias, pair_of_halves(__byte_perm(s.sub, 0x64646464u, 0x4342)));
    scale = __hmul2(__hmul2(product(s.word[0], u.halves), sub), more);
    min = __hmul2(product(s.word[1], u.min_halves), sub_min);
  }
  const __half2 zero = kHasMin<S> ? __hfma2(scale, pair_of_halves(u.offset), min) : __hmul2(scale, pair_of_halves(u.offset));
  return {bits_of(scale), bits_of(zero)};
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
// `gate` becomes row r + 8 * half of both strips.
template <Codes C> __device__ __forceinline__ void join(StoredCodes<C>& gate, const StoredCodes<C>& up, int half) {
#pragma unroll
  for (int i = 0; i < (C == Codes::f16 ? 8 : 4); i += 2) gate.word[i] = half ? gate.word[i + 1] : gate.word[i], gate.word[i + 1] = half ? up.word[i + 1] : up.word[i];
#pragma unroll
  for (int i = 0; i < (C == Codes::u6 ? 2 : C == Codes::u5 ? 1 : 0); i++)  // four bits of a plane are one word's pairs
    gate.plane[i] = ((half ? gate.plane[i] >> 4 : gate.plane[i]) & 0x0f0f0f0fu) | ((half ? up.plane[i] : up.plane[i] << 4) & 0xf0f0f0f0u);
}

// Bits 4 and 5 of pair T from the planes, into codes as they are, or where High times 16.
template <Codes C, int T, bool High> __device__ __forceinline__ uint32_t with_planes(uint32_t v, const StoredCodes<C>& s) {
  constexpr int at = High ? 8 : 4;
  const auto shifted = [](uint32_t plane, int to) { return to >= T ? plane << (to - T) : plane >> (T - to); };
  if constexpr (C == Codes::u5 || C == Codes::u6) v = or_masked<0x00010001u << at>(v, shifted(s.plane[0], at));
  if constexpr (C == Codes::u6) v = or_masked<0x00020002u << at>(v, shifted(s.plane[1], at + 1));
  return v;
}

// One lane's blocks of a strip; or of a pair of strips, whose rows r + 8 * half become rows r (gate) and r + 8 (up) of a fragment.
template <Codes C, Scales S, int G, bool Pair> class Fragments {
  static constexpr bool kNibbles = C == Codes::u4 || C == Codes::u5 || C == Codes::u6;
  static constexpr int kGroups = G == 4 ? 2 : 1;  // of two slabs

 public:
  __device__ __forceinline__ Fragments(int lane, int half, float unit, float unit8, int offset) : lane_(lane), half_(half), units_(C, unit, unit8, offset) {}

  // Slabs 2 P and 2 P + 1 of the blocks (`up` only of a pair): what is stored; P = 0 comes first.
  template <int P> __device__ __forceinline__ void load(const uint8_t* block, const uint8_t* up) {
    if constexpr (P == 0 || !kNibbles) {
      load_codes<C>(block + kScaleBytes<S, G>, P, lane_, codes_);
      if constexpr (Pair) {
        StoredCodes<C> second{};
        load_codes<C>(up + kScaleBytes<S, G>, P, lane_, second);
        join<C>(codes_, second, half_);
      }
    }
    if constexpr (G > 0 && (P == 0 || G > 1)) {
#pragma unroll
      for (int g = 0; g < kGroups; g++) {
        const int group = G == 4 ? 2 * P + g : P;
        stored_[g] = load_scales<S, G>(block, group, lane_ / 4);
        if constexpr (Pair) stored_[g] = join(stored_[g], load_scales<S, G>(up, group, lane_ / 4), half_);
      }
    }
  }
  // The same as halves: a[slab][register].
  template <int P> __device__ __forceinline__ void make(uint32_t (&a)[2][4]) {
    if constexpr (C == Codes::f16) {
#pragma unroll
      for (int i = 0; i < 8; i++) a[i / 4][i % 4] = codes_.word[i];
    } else {
      if constexpr (P == 0 || G > 1) {
#pragma unroll
        for (int g = 0; g < kGroups; g++) scales_[g] = finish(stored_[g], units_);
      }
      rows<P, 0>(a), rows<P, 1>(a);
    }
  }

 private:
  template <int P, int Row> __device__ __forceinline__ void rows(uint32_t (&a)[2][4]) const {
    if constexpr (C == Codes::s8) {
#pragma unroll
      for (int slab = 0; slab < 2; slab++) {
        const uint32_t w = codes_.word[2 * slab + Row] ^ 0x80808080u;
        a[slab][Row] = value<Row, false>(__byte_perm(w, 0, 0x4140), slab), a[slab][2 + Row] = value<Row, false>(__byte_perm(w, 0, 0x4342), slab);
      }
    } else {
      constexpr int word = 2 * P + Row;
      const uint32_t w = codes_.word[word], eights = w >> 8;
      a[0][Row] = value<Row, false>(with_planes<C, 4 * word, false>(w & 0x000f000fu, codes_), 0);
      a[0][2 + Row] = value<Row, false>(with_planes<C, 4 * word + 1, false>(eights & 0x000f000fu, codes_), 0);
      a[1][Row] = value<Row, true>(with_planes<C, 4 * word + 2, true>(w & 0x00f000f0u, codes_), 1);
      a[1][2 + Row] = value<Row, true>(with_planes<C, 4 * word + 3, true>(eights & 0x00f000f0u, codes_), 1);
    }
  }
  template <int Row, bool Sixteenth> __device__ __forceinline__ uint32_t value(uint32_t codes, int slab) const {
    const RowScales& s = scales_[G == 4 ? slab : 0];
    const __half2 pair = pair_of_halves(s.scale), scale = Sixteenth ? __hmul2(pair, __floats2half2_rn(0.0625f, 0.0625f)) : pair, zero = pair_of_halves(s.zero);
    return bits_of(__hfma2(pair_of_halves(codes), Row ? __high2half2(scale) : __low2half2(scale), Row ? __high2half2(zero) : __low2half2(zero)));
  }

  const int lane_, half_;
  const Units units_;
  StoredCodes<C> codes_;
  StoredScales<S> stored_[kGroups];
  RowScales scales_[kGroups];
};

}  // namespace cuda
