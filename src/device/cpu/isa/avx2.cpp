// avx2: lane words in AVX2, FMA and F16C; sixteen lanes are two registers.
#include "device/cpu/isa/common.h"
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif

namespace cpu::avx2 {
namespace {
constexpr int kBlockTiles = 1, kBlockRows = 2, kDirectRows = 4, kPanelRows = 8, kDotChains = 1, kWideExactTokens = 4, kSignedBias = 0, kPrefetchBytes = kAheadBytes;
constexpr int kDots = 4, kTileQueries = 6, kTileVectors = 1, kDeltaVectors = 1;
struct F { __m256 a, b; };
struct I { __m256i a, b; };
struct B { __m256i a, b; };

INLINE void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
INLINE F zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
INLINE F set1(float x) { const __m256 v = _mm256_set1_ps(x); return {v, v}; }
INLINE F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
INLINE F load_n(const float* p, int n) { float t[16] = {}; std::memcpy(t, p, static_cast<size_t>(n) * 4); return load(t); }
INLINE void store(float* p, F x) { _mm256_storeu_ps(p, x.a); _mm256_storeu_ps(p + 8, x.b); }
INLINE void store_n(float* p, int n, F x) { float t[16]; store(t, x); std::memcpy(p, t, static_cast<size_t>(n) * 4); }
INLINE __m128i load16(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
INLINE F load_f16(const uint8_t* p) { return {_mm256_cvtph_ps(load16(p)), _mm256_cvtph_ps(load16(p + 16))}; }
INLINE __m256 widen_bf16(__m128i h) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16)); }
INLINE F load_bf16(const uint8_t* p) { return {widen_bf16(load16(p)), widen_bf16(load16(p + 16))}; }
INLINE F load_u8(const uint8_t* p) {
  const __m128i v = load16(p);
  return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(v)), _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(v, 8)))};
}
INLINE F load_s8(const uint8_t* p) {
  const __m128i v = load16(p);
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(v)), _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(v, 8)))};
}
INLINE F load_e8m0(const uint8_t* p) {
  const __m128i v = load16(p);
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu8_epi32(v), 23)), _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu8_epi32(_mm_srli_si128(v, 8)), 23))};
}
INLINE void store_f16(uint16_t* p, F x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT));
}
INLINE F add(F x, F y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
INLINE F sub(F x, F y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
INLINE F mul(F x, F y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
INLINE F div(F x, F y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
INLINE F fma(F x, F y, F z) { return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)}; }
INLINE F max(F x, F y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
INLINE F min(F x, F y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
INLINE F both_and(F x, __m256 m) { return {_mm256_and_ps(x.a, m), _mm256_and_ps(x.b, m)}; }
INLINE F abs(F x) { return both_and(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff))); }
INLINE F round(F x) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return {_mm256_round_ps(x.a, kNearest), _mm256_round_ps(x.b, kNearest)};
}
INLINE __m256 two_to(__m256 n) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23)); }
INLINE F power_of_two(F n) { return {two_to(n.a), two_to(n.b)}; }
INLINE F zero_below(F v, F x, F low) {
  return {_mm256_andnot_ps(_mm256_cmp_ps(x.a, low.a, _CMP_LT_OQ), v.a), _mm256_andnot_ps(_mm256_cmp_ps(x.b, low.b, _CMP_LT_OQ), v.b)};
}
INLINE F select_below(F x, F limit, F yes, F no) {
  return {_mm256_blendv_ps(no.a, yes.a, _mm256_cmp_ps(x.a, limit.a, _CMP_LT_OQ)), _mm256_blendv_ps(no.b, yes.b, _mm256_cmp_ps(x.b, limit.b, _CMP_LT_OQ))};
}
INLINE F copy_sign(F x, F sign) {
  const __m256 m = _mm256_set1_ps(-0.0f);
  return {_mm256_or_ps(_mm256_andnot_ps(m, x.a), _mm256_and_ps(m, sign.a)), _mm256_or_ps(_mm256_andnot_ps(m, x.b), _mm256_and_ps(m, sign.b))};
}
INLINE float hsum(F x) {
  const __m256 s = _mm256_add_ps(x.a, x.b);
  __m128 h = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
  h = _mm_add_ps(h, _mm_movehl_ps(h, h));
  return _mm_cvtss_f32(_mm_add_ss(h, _mm_movehdup_ps(h)));
}
INLINE float hmax(F x) {
  const __m256 s = _mm256_max_ps(x.a, x.b);
  __m128 h = _mm_max_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
  h = _mm_max_ps(h, _mm_movehl_ps(h, h));
  return _mm_cvtss_f32(_mm_max_ss(h, _mm_movehdup_ps(h)));
}
INLINE I set1_i(int32_t x) { const __m256i v = _mm256_set1_epi32(x); return {v, v}; }
INLINE I add_i(I x, I y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
INLINE I times_256(I x) { return {_mm256_slli_epi32(x.a, 8), _mm256_slli_epi32(x.b, 8)}; }
INLINE F to_float(I x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
INLINE I round_to_int(F x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }
INLINE void store_s8(int8_t* p, I x) {
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(x.a, x.b), 0xd8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_max_epi8(bytes, _mm_set1_epi8(-127)));
}
INLINE B load_bytes(const uint8_t* p) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))}; }
INLINE void store_bytes(uint8_t* p, B x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.a); _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 32), x.b); }
INLINE B and_bytes(B x, int m) { const __m256i v = _mm256_set1_epi8(static_cast<char>(m)); return {_mm256_and_si256(x.a, v), _mm256_and_si256(x.b, v)}; }
INLINE B low_nibbles(B x) { return and_bytes(x, 15); }
INLINE B high_nibbles(B x) { return and_bytes({_mm256_srli_epi16(x.a, 4), _mm256_srli_epi16(x.b, 4)}, 15); }
template <int Shift> INLINE B two_bits(B x) { return and_bytes({_mm256_srli_epi16(x.a, Shift), _mm256_srli_epi16(x.b, Shift)}, 3); }
template <int Value> INLINE __m256i spread_bits(__m256i codes, const uint8_t* bits) {
  uint32_t word;
  std::memcpy(&word, bits, 4);
  const __m256i byte_of = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ull));
  const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(word)), byte_of), bit), bit);
  return _mm256_or_si256(codes, _mm256_and_si256(set, _mm256_set1_epi8(Value)));
}
template <int Value> INLINE B with_bit(B x, const uint8_t* bits) { return {spread_bits<Value>(x.a, bits), spread_bits<Value>(x.b, bits + 4)}; }
INLINE B look_up(const int8_t* table, B x) {
  const __m256i t = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
  return {_mm256_shuffle_epi8(t, x.a), _mm256_shuffle_epi8(t, x.b)};
}
// Pairs of products in 16 bits. They cannot saturate: unsigned codes are at most 63, signed ones 128, activations 127; and for the
// same reason several quads of small codes may be added up before their sums are widened.
struct Partial { __m256i a, b; };
static constexpr int run_quads(int max_code) {
  int n = 16;
  while (n > 1 && n * 2 * max_code * 127 > 32767) n /= 2;
  return n;
}
template <bool Signed> INLINE __m256i pairs(__m256i w, __m256i x) {
  return Signed ? _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w)) : _mm256_maddubs_epi16(w, x);
}
template <bool Signed> INLINE Partial dot_run(Partial sum, B w, const int8_t* x4) {
  int32_t word;
  std::memcpy(&word, x4, 4);
  const __m256i x = _mm256_set1_epi32(word);
  sum = {_mm256_add_epi16(sum.a, pairs<Signed>(w.a, x)), _mm256_add_epi16(sum.b, pairs<Signed>(w.b, x))};
  asm("" : "+x"(sum.a), "+x"(sum.b));  // gcc would add up in a tree and spill its leaves
  return sum;
}
INLINE Partial begin_run(I) { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
INLINE I end_run(I sum, Partial run) {
  const __m256i one = _mm256_set1_epi16(1);
  return {_mm256_add_epi32(sum.a, _mm256_madd_epi16(run.a, one)), _mm256_add_epi32(sum.b, _mm256_madd_epi16(run.b, one))};
}
template <bool Signed> INLINE B dot_codes(B w) { return w; }
template <bool Signed> INLINE I dot(I sum, B w, const int8_t* x4) { return end_run(sum, dot_run<Signed>(begin_run(sum), w, x4)); }
template <int At, bool Signed> INLINE __m256 code8(__m256i w) {
  const __m256i up = _mm256_slli_epi32(w, 24 - 8 * At);
  return _mm256_cvtepi32_ps(Signed ? _mm256_srai_epi32(up, 24) : _mm256_srli_epi32(up, 24));
}
template <int At, bool Signed> INLINE F code_to_float(B w) { return {code8<At, Signed>(w.a), code8<At, Signed>(w.b)}; }

#include "device/cpu/isa/plain.inl"
#include "device/cpu/linear.inl"
#include "device/cpu/elementwise.inl"
#include "device/cpu/attention.inl"
#include "device/cpu/delta.inl"
#include "device/cpu/peak.inl"
#include "device/cpu/isa/table.inl"
}  // namespace
}  // namespace cpu::avx2

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace cpu {
const Kernels avx2_kernels = avx2::make_table("avx2");
}
