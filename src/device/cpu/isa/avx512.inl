// avx512: lane words in AVX-512 with VNNI; sixteen lanes are one register, a dot product of 16 rows x 4 inputs one instruction;
// included by avx512.cpp and amx.cpp inside their namespaces.
using F = __m512;
using I = __m512i;
struct B { __m512i v; };

INLINE void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }
INLINE __mmask16 first(int n) { return static_cast<__mmask16>((1u << n) - 1u); }
INLINE F zero() { return _mm512_setzero_ps(); }
INLINE F set1(float x) { return _mm512_set1_ps(x); }
INLINE F load(const float* p) { return _mm512_loadu_ps(p); }
INLINE F load_n(const float* p, int n) { return _mm512_maskz_loadu_ps(first(n), p); }
INLINE void store(float* p, F x) { _mm512_storeu_ps(p, x); }
INLINE void store_n(float* p, int n, F x) { _mm512_mask_storeu_ps(p, first(n), x); }
INLINE __m128i load16(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
INLINE __m256i load32(const uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
INLINE F load_f16(const uint8_t* p) { return _mm512_cvtph_ps(load32(p)); }
INLINE F load_bf16(const uint8_t* p) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load32(p)), 16)); }
INLINE F load_u8(const uint8_t* p) { return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(load16(p))); }
INLINE F load_s8(const uint8_t* p) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load16(p))); }
INLINE F load_e8m0(const uint8_t* p) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu8_epi32(load16(p)), 23)); }
INLINE void store_f16(uint16_t* p, F x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)); }
INLINE F add(F x, F y) { return _mm512_add_ps(x, y); }
INLINE F sub(F x, F y) { return _mm512_sub_ps(x, y); }
INLINE F mul(F x, F y) { return _mm512_mul_ps(x, y); }
INLINE F div(F x, F y) { return _mm512_div_ps(x, y); }
INLINE F fma(F x, F y, F z) { return _mm512_fmadd_ps(x, y, z); }
INLINE F max(F x, F y) { return _mm512_max_ps(x, y); }
INLINE F min(F x, F y) { return _mm512_min_ps(x, y); }
INLINE F abs(F x) { return _mm512_abs_ps(x); }
INLINE F round(F x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
INLINE F power_of_two(F n) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23)); }
INLINE F zero_below(F v, F x, F low) { return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, low, _CMP_NLT_UQ), v); }
INLINE F select_below(F x, F limit, F yes, F no) { return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, limit, _CMP_LT_OQ), no, yes); }
INLINE F copy_sign(F x, F sign) {
  const F m = set1(-0.0f);
  return _mm512_or_ps(_mm512_andnot_ps(m, x), _mm512_and_ps(m, sign));
}
INLINE float hsum(F x) {
  const __m256 s = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
  __m128 h = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
  h = _mm_add_ps(h, _mm_movehl_ps(h, h));
  return _mm_cvtss_f32(_mm_add_ss(h, _mm_movehdup_ps(h)));
}
// One level of hsum's tree for two vectors at once, or two levels down in 128-bit lanes.
INLINE F add_halves(F x, F y) { return add(_mm512_shuffle_f32x4(x, y, 0x44), _mm512_shuffle_f32x4(x, y, 0xee)); }
INLINE F add_quarters(F x, F y) { return add(_mm512_shuffle_f32x4(x, y, 0x88), _mm512_shuffle_f32x4(x, y, 0xdd)); }
INLINE F add_pairs(F x, F y) { return add(_mm512_shuffle_ps(x, y, 0x44), _mm512_shuffle_ps(x, y, 0xee)); }
INLINE F add_singles(F x, F y) { return add(_mm512_shuffle_ps(x, y, 0x88), _mm512_shuffle_ps(x, y, 0xdd)); }
// to[i] = hsum(x[i]) of N vectors.
template <int N> INLINE void hsums(const F* x, float* to) {
  static_assert(N == 16);
  F z[4];  // lane k of z[m] is what x[4k + m] has come to
  for (int m = 0; m < 4; m++) z[m] = add_quarters(add_halves(x[m], x[4 + m]), add_halves(x[8 + m], x[12 + m]));
  _mm512_storeu_ps(to, add_singles(add_pairs(z[0], z[1]), add_pairs(z[2], z[3])));
}
// x[i][j] becomes x[j][i].
INLINE void transpose(F* x) {
  F t[16], u[16];
  for (int i = 0; i < 16; i += 2) t[i] = _mm512_unpacklo_ps(x[i], x[i + 1]), t[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
  const auto pair = [&](F a, F b, bool high) INLINE_LAMBDA {
    const __m512d c = _mm512_castps_pd(a), d = _mm512_castps_pd(b);
    return _mm512_castpd_ps(high ? _mm512_unpackhi_pd(c, d) : _mm512_unpacklo_pd(c, d));
  };
  for (int i = 0; i < 16; i += 4)  // lane k of u[i + c]: column 4k + c of rows i to i + 3
    for (int c = 0; c < 4; c++) u[i + c] = pair(t[i + c / 2], t[i + 2 + c / 2], c & 1);
  for (int c = 0; c < 4; c++) {
    const F a = _mm512_shuffle_f32x4(u[c], u[4 + c], 0x88), b = _mm512_shuffle_f32x4(u[8 + c], u[12 + c], 0x88);
    const F d = _mm512_shuffle_f32x4(u[c], u[4 + c], 0xdd), e = _mm512_shuffle_f32x4(u[8 + c], u[12 + c], 0xdd);
    x[c] = _mm512_shuffle_f32x4(a, b, 0x88), x[8 + c] = _mm512_shuffle_f32x4(a, b, 0xdd);
    x[4 + c] = _mm512_shuffle_f32x4(d, e, 0x88), x[12 + c] = _mm512_shuffle_f32x4(d, e, 0xdd);
  }
}
INLINE float hmax(F x) { return _mm512_reduce_max_ps(x); }
INLINE I set1_i(int32_t x) { return _mm512_set1_epi32(x); }
INLINE I add_i(I x, I y) { return _mm512_add_epi32(x, y); }
INLINE I times_256(I x) { return _mm512_slli_epi32(x, 8); }
INLINE F to_float(I x) { return _mm512_cvtepi32_ps(x); }
INLINE I round_to_int(F x) { return _mm512_cvtps_epi32(x); }
INLINE void store_s8(int8_t* p, I x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_max_epi8(_mm512_cvtsepi32_epi8(x), _mm_set1_epi8(-127))); }
INLINE B load_bytes(const uint8_t* p) { return {_mm512_loadu_si512(p)}; }
INLINE void store_bytes(uint8_t* p, B x) { _mm512_storeu_si512(p, x.v); }
INLINE B low_nibbles(B x) { return {_mm512_and_si512(x.v, _mm512_set1_epi8(15))}; }
INLINE B high_nibbles(B x) { return {_mm512_and_si512(_mm512_srli_epi16(x.v, 4), _mm512_set1_epi8(15))}; }
template <int Shift> INLINE B two_bits(B x) { return {_mm512_and_si512(_mm512_srli_epi16(x.v, Shift), _mm512_set1_epi8(3))}; }
template <int Value> INLINE B with_bit(B x, const uint8_t* bits) {
  uint64_t word;
  std::memcpy(&word, bits, 8);
  return {_mm512_mask_add_epi8(x.v, static_cast<__mmask64>(word), x.v, _mm512_set1_epi8(Value))};
}
INLINE B look_up(const int8_t* table, B x) { return {_mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(table))), x.v)}; }
// The instruction wants unsigned codes: signed ones are shifted by 128, which the caller takes back through the sums of x (kSignedBias).
template <bool Signed> INLINE B dot_codes(B w) { return {Signed ? _mm512_xor_si512(w.v, _mm512_set1_epi8(static_cast<char>(0x80))) : w.v}; }
template <bool Signed> INLINE I dot(I acc, B w, const int8_t* x4) {
  int32_t word;
  std::memcpy(&word, x4, 4);
  return _mm512_dpbusd_epi32(acc, dot_codes<Signed>(w).v, _mm512_set1_epi32(word));
}
#include "device/cpu/isa/wide_dot.inl"
template <int At, bool Signed> INLINE F code_to_float(B w) {
  const __m512i up = _mm512_slli_epi32(w.v, 24 - 8 * At);
  return _mm512_cvtepi32_ps(Signed ? _mm512_srai_epi32(up, 24) : _mm512_srli_epi32(up, 24));
}
