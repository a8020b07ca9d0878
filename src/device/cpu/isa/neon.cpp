// neon: lane words in AArch64 NEON with the dot-product instructions; sixteen lanes are four registers.
// So far only run under emulation (qemu-user): results are proven there, speed is not.
#include "device/cpu/isa/common.h"
#include <arm_neon.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif

namespace cpu::neon {
namespace {
constexpr int kBlockTiles = 1, kBlockRows = 4, kDirectRows = 4, kPanelRows = 8, kDotChains = 1, kWideExactTokens = 4, kSignedBias = 0, kPrefetchBytes = kAheadBytes;
constexpr int kDots = 4, kTileQueries = 6, kTileVectors = 1, kDeltaVectors = 1;
struct F { float32x4_t v[4]; };
struct I { int32x4_t v[4]; };
struct B { uint8x16_t v[4]; };
template <class T, class Op> INLINE T map(Op&& op) { return {{op(0), op(1), op(2), op(3)}}; }
#define EACH(T, expression) map<T>([&](int i) INLINE_LAMBDA { return expression; })

INLINE void prefetch(const void* p) { __builtin_prefetch(p); }
INLINE F set1(float x) { return EACH(F, (static_cast<void>(i), vdupq_n_f32(x))); }
INLINE F zero() { return set1(0); }
INLINE F load(const float* p) { return EACH(F, vld1q_f32(p + 4 * i)); }
INLINE F load_n(const float* p, int n) { float t[16] = {}; std::memcpy(t, p, static_cast<size_t>(n) * 4); return load(t); }
INLINE void store(float* p, F x) { for (int i = 0; i < 4; i++) vst1q_f32(p + 4 * i, x.v[i]); }
INLINE void store_n(float* p, int n, F x) { float t[16]; store(t, x); std::memcpy(p, t, static_cast<size_t>(n) * 4); }
INLINE uint16x4_t load_halves(const uint8_t* p) { return vreinterpret_u16_u8(vld1_u8(p)); }
INLINE F load_f16(const uint8_t* p) { return EACH(F, vcvt_f32_f16(vreinterpret_f16_u16(load_halves(p + 8 * i)))); }
INLINE F load_bf16(const uint8_t* p) { return EACH(F, vreinterpretq_f32_u32(vshll_n_u16(load_halves(p + 8 * i), 16))); }
struct Words { uint32x4_t v[4]; };
INLINE Words widen_u8(const uint8_t* p) {
  const uint8x16_t bytes = vld1q_u8(p);
  const uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_u8(vget_high_u8(bytes));
  return {{vmovl_u16(vget_low_u16(low)), vmovl_u16(vget_high_u16(low)), vmovl_u16(vget_low_u16(high)), vmovl_u16(vget_high_u16(high))}};
}
INLINE F load_u8(const uint8_t* p) { const Words w = widen_u8(p); return EACH(F, vcvtq_f32_u32(w.v[i])); }
INLINE F load_s8(const uint8_t* p) {
  const Words w = widen_u8(p);
  return EACH(F, vcvtq_f32_s32(vshrq_n_s32(vreinterpretq_s32_u32(vshlq_n_u32(w.v[i], 24)), 24)));
}
INLINE F load_e8m0(const uint8_t* p) { const Words w = widen_u8(p); return EACH(F, vreinterpretq_f32_u32(vshlq_n_u32(w.v[i], 23))); }
INLINE void store_f16(uint16_t* p, F x) { for (int i = 0; i < 4; i++) vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(x.v[i]))); }
INLINE F add(F x, F y) { return EACH(F, vaddq_f32(x.v[i], y.v[i])); }
INLINE F sub(F x, F y) { return EACH(F, vsubq_f32(x.v[i], y.v[i])); }
INLINE F mul(F x, F y) { return EACH(F, vmulq_f32(x.v[i], y.v[i])); }
INLINE F div(F x, F y) { return EACH(F, vdivq_f32(x.v[i], y.v[i])); }
INLINE F fma(F x, F y, F z) { return EACH(F, vfmaq_f32(z.v[i], x.v[i], y.v[i])); }
INLINE F max(F x, F y) { return EACH(F, vmaxq_f32(x.v[i], y.v[i])); }
INLINE F min(F x, F y) { return EACH(F, vminq_f32(x.v[i], y.v[i])); }
INLINE F abs(F x) { return EACH(F, vabsq_f32(x.v[i])); }
INLINE F round(F x) { return EACH(F, vrndnq_f32(x.v[i])); }
INLINE F power_of_two(F n) { return EACH(F, vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtnq_s32_f32(n.v[i]), vdupq_n_s32(127)), 23))); }
INLINE F zero_below(F v, F x, F low) { return EACH(F, vbslq_f32(vcltq_f32(x.v[i], low.v[i]), vdupq_n_f32(0), v.v[i])); }
INLINE F select_below(F x, F limit, F yes, F no) { return EACH(F, vbslq_f32(vcltq_f32(x.v[i], limit.v[i]), yes.v[i], no.v[i])); }
INLINE F copy_sign(F x, F sign) { return EACH(F, vbslq_f32(vdupq_n_u32(0x80000000u), sign.v[i], x.v[i])); }
INLINE float hsum(F x) {  // the same tree as in the other ISAs
  const float32x4_t s = vaddq_f32(vaddq_f32(x.v[0], x.v[2]), vaddq_f32(x.v[1], x.v[3]));
  const float32x2_t h = vadd_f32(vget_low_f32(s), vget_high_f32(s));
  return vget_lane_f32(h, 0) + vget_lane_f32(h, 1);
}
INLINE float hmax(F x) { return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.v[0], x.v[1]), vmaxq_f32(x.v[2], x.v[3]))); }
INLINE I set1_i(int32_t x) { return EACH(I, (static_cast<void>(i), vdupq_n_s32(x))); }
INLINE I add_i(I x, I y) { return EACH(I, vaddq_s32(x.v[i], y.v[i])); }
INLINE I times_256(I x) { return EACH(I, vshlq_n_s32(x.v[i], 8)); }
INLINE F to_float(I x) { return EACH(F, vcvtq_f32_s32(x.v[i])); }
INLINE I round_to_int(F x) { return EACH(I, vcvtnq_s32_f32(x.v[i])); }
INLINE void store_s8(int8_t* p, I x) {
  const int16x8_t low = vcombine_s16(vqmovn_s32(x.v[0]), vqmovn_s32(x.v[1])), high = vcombine_s16(vqmovn_s32(x.v[2]), vqmovn_s32(x.v[3]));
  vst1q_s8(p, vmaxq_s8(vcombine_s8(vqmovn_s16(low), vqmovn_s16(high)), vdupq_n_s8(-127)));
}
INLINE B load_bytes(const uint8_t* p) { return EACH(B, vld1q_u8(p + 16 * i)); }
INLINE void store_bytes(uint8_t* p, B x) { for (int i = 0; i < 4; i++) vst1q_u8(p + 16 * i, x.v[i]); }
INLINE B low_nibbles(B x) { return EACH(B, vandq_u8(x.v[i], vdupq_n_u8(15))); }
INLINE B high_nibbles(B x) { return EACH(B, vshrq_n_u8(x.v[i], 4)); }
template <int Shift> INLINE B two_bits(B x) {
  if constexpr (Shift == 0) return EACH(B, vandq_u8(x.v[i], vdupq_n_u8(3)));
  else return EACH(B, vandq_u8(vshrq_n_u8(x.v[i], Shift), vdupq_n_u8(3)));
}
template <int Value> INLINE B with_bit(B x, const uint8_t* bits) {
  alignas(16) static constexpr uint8_t kByteOf[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
  alignas(16) static constexpr uint8_t kBit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t plane = vcombine_u8(vld1_u8(bits), vdup_n_u8(0)), byte_of = vld1q_u8(kByteOf), bit = vld1q_u8(kBit);
  const auto spread = [&](int i) INLINE_LAMBDA { return vtstq_u8(vqtbl1q_u8(plane, vaddq_u8(byte_of, vdupq_n_u8(static_cast<uint8_t>(2 * i)))), bit); };
  return EACH(B, vorrq_u8(x.v[i], vandq_u8(spread(i), vdupq_n_u8(Value))));
}
INLINE B look_up(const int8_t* table, B x) {
  const uint8x16_t values = vreinterpretq_u8_s8(vld1q_s8(table));
  return EACH(B, vqtbl1q_u8(values, x.v[i]));
}
template <bool Signed> INLINE B dot_codes(B w) { return w; }
// s8 x s8 serves unsigned codes too: they are at most 63.
template <bool Signed> INLINE I dot(I acc, B w, const int8_t* x4) {
  int32_t word;
  std::memcpy(&word, x4, 4);
  const int8x16_t x = vreinterpretq_s8_s32(vdupq_n_s32(word));
  return EACH(I, vdotq_s32(acc.v[i], vreinterpretq_s8_u8(w.v[i]), x));
}
#include "device/cpu/isa/wide_dot.inl"
template <int At, bool Signed> INLINE F code_to_float(B w) {
  const auto up = [&](int i) INLINE_LAMBDA { return vshlq_n_u32(vreinterpretq_u32_u8(w.v[i]), 24 - 8 * At); };
  if constexpr (Signed) return EACH(F, vcvtq_f32_s32(vshrq_n_s32(vreinterpretq_s32_u32(up(i)), 24)));
  else return EACH(F, vcvtq_f32_u32(vshrq_n_u32(up(i), 24)));
}
#undef EACH

#include "device/cpu/isa/plain.inl"
#include "device/cpu/linear.inl"
#include "device/cpu/elementwise.inl"
#include "device/cpu/attention.inl"
#include "device/cpu/delta.inl"
#include "device/cpu/peak.inl"
#include "device/cpu/isa/table.inl"
}  // namespace
}  // namespace cpu::neon

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace cpu {
const Kernels neon_kernels = neon::make_table("neon");
}
