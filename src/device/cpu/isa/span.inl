// span: weights of 256 inputs brought to one scale per row, as signed bytes, so that a whole span is one integer sum; included by amx.cpp
// inside its namespace.
//
// A weight of group g is s_g * (code - mid) + min_g. With S the largest |s_g| of the row's span (times a constant), the byte
//   w = floor((code - mid) * s_g / S), |w| <= 127,   stands for   S * (w + 1/2):
// an error of half a step of the coarsest group at 8 bits, 0.4 % of the variance that rounding to 4 bits left. Hence, per span and row of activations,
//   y += S * scale * (sum w q + 1/2 sum q) + sum over groups min_g * (scale * sum q of g).
constexpr int kSpan = 256;

// code - mid fits 8 bits after `shift`; mid is subtracted by flipping the sign bit.
template <PackCodes C> constexpr int mid_code() { return C == PackCodes::u2 ? 2 : C == PackCodes::u3 ? 4 : C == PackCodes::u4 ? 8 : C == PackCodes::u5 ? 16 : C == PackCodes::u6 ? 32 : 0; }
template <PackCodes C> constexpr int code_shift() {
  return C == PackCodes::u2 ? 6 : C == PackCodes::u3 ? 5 : C == PackCodes::u4 ? 4 : C == PackCodes::u5 || C == PackCodes::e2m1 ? 3 : C == PackCodes::u6 ? 2 : 0;
}
// One chunk of 32 inputs -> 8 quads of (code - mid) << shift.
template <PackCodes C> static INLINE void centred_bytes(const uint8_t* p, __m512i (&b)[8]) {
  const __m512i sign = _mm512_set1_epi8(static_cast<char>(0x80)), high = _mm512_set1_epi8(static_cast<char>(0xf0));
  constexpr int kAndXor = 0x6a;  // (a & b) ^ c
  if constexpr (C == PackCodes::u4) {
    for (int j = 0; j < 4; j++) {
      const __m512i v = _mm512_loadu_si512(p + 64 * j);
      b[2 * j] = _mm512_ternarylogic_epi32(_mm512_slli_epi16(v, 4), high, sign, kAndXor);
      b[2 * j + 1] = _mm512_ternarylogic_epi32(v, high, sign, kAndXor);
    }
  } else {
    B codes[8];
    Word<C>::unpack(p, codes);
    for (int q = 0; q < 8; q++) {
      b[q] = codes[q].v;
      if constexpr (mid_code<C>() != 0) b[q] = _mm512_xor_si512(_mm512_slli_epi16(b[q], code_shift<C>()), sign);
      else if constexpr (code_shift<C>() == 3) b[q] = _mm512_and_si512(_mm512_slli_epi16(b[q], 3), _mm512_set1_epi8(static_cast<char>(0xf8)));
    }
  }
}

struct Span {
  const uint8_t* chunk[kSpan / 32];  // codes of 32 inputs each
  __m512i factor[kSpan / 16];        // per group: s_g / max |s| in units of 1 / 32512, twice in each row's lane
  F scale;                           // S
  F min[kSpan / 16];                 // of the centred codes
};

template <PackCodes C, PackScales S, int G, int Offset, bool Signed> constexpr bool has_min() { return ScaleWord<S, G, Signed>::kMin || mid_code<C>() != Offset; }
// Reads the scales of `inputs` <= 256 inputs whose first block is at p; returns where the next span is.
template <PackCodes C, PackScales S, int G, int Offset, bool Signed>
static const uint8_t* read_span(const PackedMatrix& m, const uint8_t* p, int inputs, Span& span) {
  const uint8_t* line = p;
  constexpr int kRecentre = mid_code<C>() - Offset;
  const int ratio = m.layout.scale_group > G ? m.layout.scale_group / G : 1, block = m.layout.block;
  F scale[kSpan / 16], top = zero();
  int g = 0, c = 0;
  for (int at = 0; at < inputs; at += block) {
    const int n = inputs - at < block ? inputs - at : block;
    const ScaleWord<S, G, Signed> word(p, n / G, ratio);
    for (int j = 0; j < n / G; j++, g++) {
      scale[g] = word.scale(j);
      top = max(top, abs(scale[g]));
      if constexpr (ScaleWord<S, G, Signed>::kMin) span.min[g] = word.min(j);
      if constexpr (kRecentre != 0) span.min[g] = fma(scale[g], set1(static_cast<float>(kRecentre)), ScaleWord<S, G, Signed>::kMin ? span.min[g] : zero());
    }
    p += scale_bytes(m.layout, n);
    for (int i = 0; i < n; i += 32, p += chunk_bytes(C)) span.chunk[c++] = p;
  }
  constexpr float kUnits = 32512;
  const F units = _mm512_maskz_div_ps(_mm512_cmp_ps_mask(top, zero(), _CMP_GT_OQ), set1(kUnits), top);
  for (int i = 0; i < g; i++) {
    const __m512i f = _mm512_cvtps_epi32(mul(scale[i], units));
    span.factor[i] = _mm512_or_si512(_mm512_and_si512(f, _mm512_set1_epi32(0xffff)), _mm512_slli_epi32(f, 16));
  }
  span.scale = mul(top, set1(32768.0f / kUnits / static_cast<float>(1 << code_shift<C>())));
  for (; line < p; line += 64) prefetch(line + kPrefetchBytes);
  return p;
}

// floor(b * factor / 2^15) of every byte: products of even and odd bytes in 16 bits, their upper bytes kept.
static INLINE __m512i scaled_bytes(__m512i b, __m512i factor) {
  const __m512i odd_bytes = _mm512_set1_epi16(static_cast<short>(0xff00));
  const __m512i up = _mm512_broadcast_i32x4(_mm_setr_epi8(-1, 0, -1, 2, -1, 4, -1, 6, -1, 8, -1, 10, -1, 12, -1, 14));
  const __m512i down = _mm512_broadcast_i32x4(_mm_setr_epi8(1, -1, 3, -1, 5, -1, 7, -1, 9, -1, 11, -1, 13, -1, 15, -1));
  const __m512i even = _mm512_mulhrs_epi16(_mm512_shuffle_epi8(b, up), factor), odd = _mm512_mulhrs_epi16(_mm512_and_si512(b, odd_bytes), factor);
  return _mm512_ternarylogic_epi32(odd, _mm512_shuffle_epi8(even, down), odd_bytes, 0xec);  // (odd & mask) | even
}
// f(quad of the chunk, its bytes) for the chunk's 8 quads.
template <PackCodes C, int G, class F2> static INLINE void each_quad(const Span& span, int chunk, F2&& f) {
  __m512i b[8];
  centred_bytes<C>(span.chunk[chunk], b);
#pragma GCC unroll 8
  for (int q = 0; q < 8; q++) f(q, scaled_bytes(b[q], span.factor[(32 * chunk + 4 * q) / G]));
}

// acc + what one span gives: the same operations in the same order wherever a row is computed.
template <bool Min> static INLINE F add_span(const Span& span, int groups, I sum, float scale, float half, const float* sums, int64_t stride, F acc) {
  acc = fma(fma(to_float(sum), set1(scale), set1(half)), span.scale, acc);
  if constexpr (Min)
    for (int g = 0; g < groups; g++) acc = fma(span.min[g], set1(sums[g * stride]), acc);
  return acc;
}
static INLINE float half_sum(float scale, int32_t isum) { return 0.5f * scale * static_cast<float>(isum); }

// T rows of activations times one tile.
template <PackCodes C, PackScales S, int G, int Offset, bool Signed, int T>
static INLINE void few_rows(const PackedMatrix& m, const uint8_t* p, const LinearRow* const* r, F (&acc)[T]) {
  constexpr bool kMin = has_min<C, S, G, Offset, Signed>();
  constexpr int kChains = T == 1 ? 4 : 1;  // integer sums in several chains hide the latency
  for (F& a : acc) a = zero();
  Span span;
  for (int64_t k = 0, s = 0; k < m.cols; k += kSpan, s++) {
    const int inputs = static_cast<int>(m.cols - k < kSpan ? m.cols - k : kSpan);
    p = read_span<C, S, G, Offset, Signed>(m, p, inputs, span);
    I sum[T * kChains];
    for (int t = 0; t < T * kChains; t++) sum[t] = set1_i(t % kChains ? 0 : -128 * r[t / kChains]->isum[s]);
    for (int c = 0; c < inputs / 32; c++)
      each_quad<C, G>(span, c, [&](int q, __m512i w) INLINE_LAMBDA {
        const __m512i u = _mm512_xor_si512(w, _mm512_set1_epi8(static_cast<char>(0x80)));  // the instruction wants one side unsigned
        for (int t = 0; t < T; t++) {
          int32_t x;
          std::memcpy(&x, r[t]->q + k + 32 * c + 4 * q, 4);
          I& to = sum[t * kChains + q % kChains];
          to = _mm512_dpbusd_epi32(to, u, _mm512_set1_epi32(x));
        }
      });
    for (int t = 0; t < T; t++) {
      I all = sum[t * kChains];
      for (int i = 1; i < kChains; i++) all = add_i(all, sum[t * kChains + i]);
      acc[t] = add_span<kMin>(span, inputs / G, all, r[t]->scale[s], half_sum(r[t]->scale[s], r[t]->isum[s]), r[t]->sum + k / G, 1, acc[t]);
    }
  }
}
