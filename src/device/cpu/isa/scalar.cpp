// scalar: lane words in plain C++, the reference that every other ISA is compared with.
#include "device/cpu/isa/common.h"
#undef UNROLL
#define UNROLL  // sixteen lanes are a loop already: unrolling around it takes minutes to compile

namespace cpu::scalar {
namespace {
constexpr int kBlockTiles = 1, kBlockRows = 1, kDirectRows = 1, kPanelRows = 1 << 30, kDotChains = 1;  // blocks of rows would gain nothing here
constexpr int kWideExactTokens = 1, kSignedBias = 0, kPrefetchBytes = 0;
constexpr int kDots = 1, kTileQueries = 1, kTileVectors = 1, kDeltaVectors = 1;
struct F { float v[16]; };
struct I { int32_t v[16]; };
struct B { uint8_t v[64]; };

template <class Op> INLINE F map(Op&& op) {
  F r;
  for (int i = 0; i < 16; i++) r.v[i] = op(i);
  return r;
}
INLINE void prefetch(const void*) {}
INLINE F zero() { return F{}; }
INLINE F set1(float x) { return map([&](int) { return x; }); }
INLINE F load(const float* p) { F r; std::memcpy(r.v, p, 64); return r; }
INLINE F load_n(const float* p, int n) { F r{}; std::memcpy(r.v, p, static_cast<size_t>(n) * 4); return r; }
INLINE void store(float* p, F a) { std::memcpy(p, a.v, 64); }
INLINE void store_n(float* p, int n, F a) { std::memcpy(p, a.v, static_cast<size_t>(n) * 4); }
INLINE F load_f16(const uint8_t* p) { uint16_t h[16]; std::memcpy(h, p, 32); return map([&](int i) { return f16_to_float(h[i]); }); }
INLINE F load_bf16(const uint8_t* p) { uint16_t h[16]; std::memcpy(h, p, 32); return map([&](int i) { return bf16_to_float(h[i]); }); }
INLINE F load_u8(const uint8_t* p) { return map([&](int i) { return static_cast<float>(p[i]); }); }
INLINE F load_s8(const uint8_t* p) { return map([&](int i) { return static_cast<float>(static_cast<int8_t>(p[i])); }); }
INLINE F load_e8m0(const uint8_t* p) { return map([&](int i) { return std::bit_cast<float>(static_cast<uint32_t>(p[i]) << 23); }); }
INLINE void store_f16(uint16_t* p, F a) { for (int i = 0; i < 16; i++) p[i] = float_to_f16(a.v[i]); }
INLINE F add(F a, F b) { return map([&](int i) { return a.v[i] + b.v[i]; }); }
INLINE F sub(F a, F b) { return map([&](int i) { return a.v[i] - b.v[i]; }); }
INLINE F mul(F a, F b) { return map([&](int i) { return a.v[i] * b.v[i]; }); }
INLINE F div(F a, F b) { return map([&](int i) { return a.v[i] / b.v[i]; }); }
INLINE F fma(F a, F b, F c) { return map([&](int i) { return a.v[i] * b.v[i] + c.v[i]; }); }
INLINE F max(F a, F b) { return map([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; }); }
INLINE F min(F a, F b) { return map([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; }); }
INLINE F abs(F a) { return map([&](int i) { return std::fabs(a.v[i]); }); }
INLINE F round(F a) { return map([&](int i) { return std::nearbyint(a.v[i]); }); }
INLINE F power_of_two(F n) { return map([&](int i) { return std::bit_cast<float>((static_cast<int32_t>(n.v[i]) + 127) << 23); }); }
INLINE F zero_below(F v, F x, F low) { return map([&](int i) { return x.v[i] < low.v[i] ? 0.0f : v.v[i]; }); }
INLINE F select_below(F a, F limit, F yes, F no) { return map([&](int i) { return a.v[i] < limit.v[i] ? yes.v[i] : no.v[i]; }); }
INLINE F copy_sign(F a, F sign) { return map([&](int i) { return std::copysign(a.v[i], sign.v[i]); }); }
// The same tree as the shuffles of the wider ISAs, so that sums agree to the last bit where fused multiply-adds do not differ.
INLINE float hsum(F a) {
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; i++) a.v[i] += a.v[i + half];
  return a.v[0];
}
INLINE float hmax(F a) { float m = a.v[0]; for (float x : a.v) m = x > m ? x : m; return m; }
INLINE I set1_i(int32_t x) { I r; for (int32_t& v : r.v) v = x; return r; }
INLINE I add_i(I a, I b) { for (int i = 0; i < 16; i++) a.v[i] += b.v[i]; return a; }
INLINE I times_256(I a) { for (int32_t& v : a.v) v *= 256; return a; }
INLINE F to_float(I a) { return map([&](int i) { return static_cast<float>(a.v[i]); }); }
INLINE I round_to_int(F a) { I r; for (int i = 0; i < 16; i++) r.v[i] = static_cast<int32_t>(std::nearbyint(a.v[i])); return r; }
INLINE void store_s8(int8_t* p, I a) { for (int i = 0; i < 16; i++) p[i] = static_cast<int8_t>(a.v[i] < -127 ? -127 : a.v[i] > 127 ? 127 : a.v[i]); }
INLINE B load_bytes(const uint8_t* p) { B r; std::memcpy(r.v, p, 64); return r; }
[[maybe_unused]] INLINE void store_bytes(uint8_t* p, B a) { std::memcpy(p, a.v, 64); }
INLINE B low_nibbles(B a) { for (uint8_t& x : a.v) x &= 15; return a; }
INLINE B high_nibbles(B a) { for (uint8_t& x : a.v) x >>= 4; return a; }
template <int Shift> INLINE B two_bits(B a) { for (uint8_t& x : a.v) x = (x >> Shift) & 3; return a; }
template <int Value> INLINE B with_bit(B a, const uint8_t* bits) {
  for (int i = 0; i < 64; i++) a.v[i] = static_cast<uint8_t>(a.v[i] + ((bits[i / 8] >> (i % 8)) & 1) * Value);
  return a;
}
INLINE B look_up(const int8_t* table, B a) { for (uint8_t& x : a.v) x = static_cast<uint8_t>(table[x]); return a; }
template <bool Signed> INLINE B dot_codes(B a) { return a; }
template <bool Signed> INLINE I dot(I acc, B w, const int8_t* x) {
  for (int row = 0; row < 16; row++)
    for (int i = 0; i < 4; i++) acc.v[row] += (Signed ? static_cast<int8_t>(w.v[4 * row + i]) : static_cast<int32_t>(w.v[4 * row + i])) * x[i];
  return acc;
}
#include "device/cpu/isa/wide_dot.inl"
template <int At, bool Signed> INLINE F code_to_float(B w) {
  return map([&](int row) { return Signed ? static_cast<float>(static_cast<int8_t>(w.v[4 * row + At])) : static_cast<float>(w.v[4 * row + At]); });
}

#include "device/cpu/isa/plain.inl"
#include "device/cpu/linear.inl"
#include "device/cpu/elementwise.inl"
#include "device/cpu/attention.inl"
#include "device/cpu/delta.inl"
#include "device/cpu/peak.inl"
#include "device/cpu/isa/table.inl"
}  // namespace
}  // namespace cpu::scalar

namespace cpu {
const Kernels scalar_kernels = scalar::make_table("scalar");
}
