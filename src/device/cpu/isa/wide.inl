// wide: activations with one scale per 256 inputs (a span), and their products with a few rows in vector registers; included by amx.inl
// inside its namespace. Per span and row of activations, in this order wherever the row is computed:
//   part = 0;  for each group:  part += s_g * (sum of (code - offset) q) [+ min_g * sum of q];   y += part * scale.
constexpr int kSpan = 256;

// One scale per span; sums per group, of q alone.
static void quantise(const QuantiseArgs& a) {
  if (!is_wide(a.variant)) return avx512_kernels.quantise(a);
  const int group = group_of(a.variant);
  for (int64_t k = 0; k < a.cols; k += kSpan) {
    const int64_t end = a.cols - k < kSpan ? a.cols : k + kSpan;
    F peak = zero();
    for (int64_t i = k; i < end; i += 16) peak = max(peak, abs(load(a.x + i)));
    const float top = hmax(peak);
    const F inverse = set1(top > 0 ? 127.0f / top : 0.0f);
    a.scale[k / kSpan] = top / 127.0f;
    for (int64_t i = k; i < end; i += group) {
      I sum = set1_i(0);
      for (int j = 0; j < group; j += 16) {
        const I q = _mm512_max_epi32(round_to_int(mul(load(a.x + i + j), inverse)), set1_i(-127));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(a.q + i + j), _mm512_cvtsepi32_epi8(q));
        sum = add_i(sum, q);
      }
      a.isum[i / group] = _mm512_reduce_add_epi32(sum);
      a.sum[i / group] = static_cast<float>(a.isum[i / group]);
    }
  }
}

// T rows of activations times one tile.
template <PackCodes C, PackScales S, int G, int Offset, bool Signed, int T>
static INLINE void few_rows(const PackedMatrix& m, const uint8_t* p, const LinearRow* const* r, F (&acc)[T]) {
  constexpr int kShift = Offset + Word<C>::kBias, kChains = T == 1 ? 4 : 1;  // several chains of integer sums hide the latency
  for (F& a : acc) a = zero();
  for (int64_t k = 0; k < m.cols; k += kSpan) {
    F part[T];
    for (F& f : part) f = zero();
    p = walk_blocks<C, S, G, Signed, true>(m, p, k, m.cols - k < kSpan ? m.cols : k + kSpan, [&](const B* quads, F scale, F min, int64_t g, int64_t at) INLINE_LAMBDA {
      I sum[T * kChains];
      for (int t = 0; t < T * kChains; t++) sum[t] = set1_i(t % kChains || !kShift ? 0 : -kShift * r[t / kChains]->isum[g]);
      for (int q = 0; q < G / 4; q++)
        for (int t = 0; t < T; t++) {
          I& to = sum[t * kChains + q % kChains];
          to = dot<Word<C>::kSigned>(to, quads[q], r[t]->q + at + 4 * q);
        }
      for (int t = 0; t < T; t++) {
        I all = sum[t * kChains];
        for (int i = 1; i < kChains; i++) all = add_i(all, sum[t * kChains + i]);
        part[t] = fma(to_float(all), scale, part[t]);
        if constexpr (ScaleWord<S, G, Signed>::kMin) part[t] = fma(min, set1(r[t]->sum[g]), part[t]);
      }
    });
    for (int t = 0; t < T; t++) acc[t] = fma(part[t], set1(r[t]->scale[k / kSpan]), acc[t]);
  }
}
