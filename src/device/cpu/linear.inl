// linear: y = W x over packed tiles, written once in lane words; included by every ISA file inside its namespace.
// All token-block sizes do the same float operations in the same order per output, so a row's result never depends on its batch mates.
#include "device/cpu/unpack.inl"

// P planes of activations: with two the integer is 256 * q + q_low.
template <PackCodes C, PackScales S, int G, int Offset, bool Signed, int P, int T>
static INLINE void integer_tile(const PackedMatrix& m, const uint8_t* tile, const LinearRow* r, F (&acc)[T]) {
  constexpr int kShift = Offset + Word<C>::kBias, kQuads = G / 4, kRun = run_quads(Word<C>::kMax) < kQuads ? run_quads(Word<C>::kMax) : kQuads;
  constexpr int kShare = kDotChains / (T * P), kChains = kShare < 1 ? 1 : kShare < 4 ? kShare : 4;  // to hide the latency; integer sums do not depend on the order
  for (F& a : acc) a = zero();
  walk_tile<C, S, G, Signed, true>(m, tile, [&](const B* quads, F scale, F min, int64_t g, int64_t k) INLINE_LAMBDA {
    I sums[P][T][kChains];
    UNROLL for (int t = 0; t < T; t++)
      UNROLL for (int p = 0; p < P; p++)
        UNROLL for (int c = 0; c < kChains; c++) sums[p][t][c] = set1_i(kShift && p == P - 1 && c == 0 ? -kShift * r[t].isum[g] : 0);
    UNROLL for (int from = 0; from < kQuads; from += kRun) {
      Partial run[P][T][kChains];
      UNROLL for (int p = 0; p < P; p++)
        UNROLL for (int t = 0; t < T; t++)
          UNROLL for (int c = 0; c < kChains; c++) run[p][t][c] = begin_run(sums[p][t][c]);
      UNROLL for (int q = from; q < from + kRun; q++)
        UNROLL for (int t = 0; t < T; t++)
          UNROLL for (int p = 0; p < P; p++) {
            Partial& to = run[p][t][q % kChains];
            to = dot_run<Word<C>::kSigned>(to, quads[q], (p ? r[t].q_low : r[t].q) + k + 4 * q);
          }
      UNROLL for (int p = 0; p < P; p++)
        UNROLL for (int t = 0; t < T; t++)
          UNROLL for (int c = 0; c < kChains; c++) sums[p][t][c] = end_run(sums[p][t][c], run[p][t][c]);
    }
    UNROLL for (int t = 0; t < T; t++) {
      UNROLL for (int p = 0; p < P; p++)
        UNROLL for (int c = kChains / 2; c > 0; c /= 2)
          UNROLL for (int i = 0; i < c; i++) sums[p][t][i] = add_i(sums[p][t][i], sums[p][t][i + c]);
      const I sum = P == 2 ? add_i(times_256(sums[0][t][0]), sums[P - 1][t][0]) : sums[0][t][0];
      acc[t] = fma(mul(to_float(sum), set1(r[t].scale[g])), scale, acc[t]);
      if constexpr (ScaleWord<S, G, Signed>::kMin) acc[t] = fma(min, set1(r[t].sum[g]), acc[t]);
    }
  });
}

template <PackCodes C, PackScales S, int G, int Offset, bool Signed, int T>
static INLINE void exact_tile(const PackedMatrix& m, const uint8_t* tile, const LinearRow* r, F (&acc)[T]) {
  for (F& a : acc) a = zero();
  walk_tile<C, S, G, Signed, T == 1>(m, tile, [&](const B* quads, F scale, F min, int64_t g, int64_t k) INLINE_LAMBDA {
    F even[T], odd[T];
    for (int t = 0; t < T; t++) even[t] = odd[t] = zero();
    const F offset = set1(static_cast<float>(Offset));
    for (int q = 0; q < G / 4; q++) {
      const F w0 = sub(code_to_float<0, Word<C>::kSigned>(quads[q]), offset), w1 = sub(code_to_float<1, Word<C>::kSigned>(quads[q]), offset);
      const F w2 = sub(code_to_float<2, Word<C>::kSigned>(quads[q]), offset), w3 = sub(code_to_float<3, Word<C>::kSigned>(quads[q]), offset);
      for (int t = 0; t < T; t++) {
        const float* x = r[t].x + k + 4 * q;
        even[t] = fma(w0, set1(x[0]), even[t]);
        odd[t] = fma(w1, set1(x[1]), odd[t]);
        even[t] = fma(w2, set1(x[2]), even[t]);
        odd[t] = fma(w3, set1(x[3]), odd[t]);
      }
    }
    for (int t = 0; t < T; t++) {
      acc[t] = fma(add(even[t], odd[t]), scale, acc[t]);
      if constexpr (ScaleWord<S, G, Signed>::kMin) acc[t] = fma(min, set1(r[t].sum[g]), acc[t]);
    }
  });
}

template <PackCodes C> static INLINE F load_value(const uint8_t* p) {
  if constexpr (C == PackCodes::f32) return load(reinterpret_cast<const float*>(p));
  if constexpr (C == PackCodes::f16) return load_f16(p);
  if constexpr (C == PackCodes::bf16) return load_bf16(p);
}

template <PackCodes C, int T> static INLINE void float_tile(const PackedMatrix& m, const uint8_t* p, const LinearRow* r, F (&acc)[T]) {
  constexpr size_t kStep = chunk_bytes(C) / 32;
  for (F& a : acc) a = zero();
  for (int64_t k = 0; k < m.cols; k += 64) {  // partial sums of 64 inputs keep long rows accurate
    const int64_t n = m.cols - k < 64 ? m.cols - k : 64;
    F even[T], odd[T];
    for (int t = 0; t < T; t++) even[t] = odd[t] = zero();
    int64_t i = 0;
    for (; i + 2 <= n; i += 2, p += 2 * kStep) {
      if constexpr (T == 1) prefetch(p + kPrefetchBytes);
      const F w0 = load_value<C>(p), w1 = load_value<C>(p + kStep);
      for (int t = 0; t < T; t++) {
        even[t] = fma(w0, set1(r[t].x[k + i]), even[t]);
        odd[t] = fma(w1, set1(r[t].x[k + i + 1]), odd[t]);
      }
    }
    if (i < n) {
      const F w = load_value<C>(p);
      for (int t = 0; t < T; t++) even[t] = fma(w, set1(r[t].x[k + i]), even[t]);
      p += kStep;
    }
    for (int t = 0; t < T; t++) acc[t] = add(acc[t], add(even[t], odd[t]));
  }
}

#include "device/cpu/panel.inl"

// Few rows meet the codes straight from the registers where they were unpacked.
template <PackCodes C, PackScales S, int G, int Offset, bool Signed, int P, int T>
static INLINE void integer_block(const PackedMatrix& m, const uint8_t* tile, int64_t first_row, const LinearRow* r, int n) {
  F acc[T];
  integer_tile<C, S, G, Offset, Signed, P, T>(m, tile, r, acc);
  UNROLL for (int t = 0; t < T; t++)
    if (t < n) write_row(m, first_row, r[t], acc[t]);
}
template <PackCodes C, PackScales S, int G, int Offset, bool Signed, int P> static INLINE void integer_planes(const LinearArgs& a) {
  constexpr int kFewest = C == PackCodes::u4 || C == PackCodes::s8 ? kPanelRows : kPanelRows / 2;  // other codes cost more to unpack
  if constexpr (kFewest <= kPassRows)
    if (a.n >= kFewest) return panel<C, S, G, Offset, Signed, P>(a);
  for (int64_t i = a.first_tile; i < a.first_tile + a.n_tiles; i++) {
    const uint8_t* tile = reinterpret_cast<const uint8_t*>(a.w->tile(a.expert, i));
    for (int t = 0; t < a.n;) {
      const LinearRow* r = a.rows + t;
      const int left = a.n - t;
      if (kDirectRows == 1 || left == 1) {
        integer_block<C, S, G, Offset, Signed, P, 1>(*a.w, tile, i * kTileRows, r, 1);
        t++;
      } else if (left == 3 && kDirectRows > 2) {
        const LinearRow four[4] = {r[0], r[1], r[2], r[2]};
        integer_block<C, S, G, Offset, Signed, P, kDirectRows>(*a.w, tile, i * kTileRows, four, 3);
        t += 3;
      } else if (left == 2) {
        integer_block<C, S, G, Offset, Signed, P, 2>(*a.w, tile, i * kTileRows, r, 2);
        t += 2;
      } else {
        integer_block<C, S, G, Offset, Signed, P, kDirectRows>(*a.w, tile, i * kTileRows, r, kDirectRows);
        t += kDirectRows;
      }
    }
  }
}
template <PackCodes C, PackScales S, int G, int Offset, bool Signed> static void integer_linear(const LinearArgs& a) {
  if (a.rows[0].q_low) integer_planes<C, S, G, Offset, Signed, 2>(a);
  else integer_planes<C, S, G, Offset, Signed, 1>(a);
}

template <PackCodes C, PackScales S, int G, int Offset, bool Signed, int T>
static INLINE void exact_block(const PackedMatrix& m, const uint8_t* tile, int64_t first_row, const LinearRow* r) {
  F acc[T];
  if constexpr (is_float(C)) float_tile<C, T>(m, tile, r, acc);
  else exact_tile<C, S, G, Offset, Signed, T>(m, tile, r, acc);
  for (int t = 0; t < T; t++) write_row(m, first_row, r[t], acc[t]);
}
template <PackCodes C, PackScales S, int G, int Offset, bool Signed> static void exact_linear(const LinearArgs& a) {
  constexpr int kWide = kWideExactTokens;
  for (int64_t i = a.first_tile; i < a.first_tile + a.n_tiles; i++) {
    const uint8_t* tile = reinterpret_cast<const uint8_t*>(a.w->tile(a.expert, i));
    int t = 0;
    for (; t + kWide <= a.n; t += kWide) exact_block<C, S, G, Offset, Signed, kWide>(*a.w, tile, i * kTileRows, a.rows + t);
    if constexpr (kWide > 4)
      for (; t + 4 <= a.n; t += 4) exact_block<C, S, G, Offset, Signed, 4>(*a.w, tile, i * kTileRows, a.rows + t);
    for (; t < a.n; t++) exact_block<C, S, G, Offset, Signed, 1>(*a.w, tile, i * kTileRows, a.rows + t);
  }
}

template <PackCodes C, PackScales S, int G, int Offset, bool Signed> static constexpr LinearFn choose_integer() {
  if constexpr (is_float(C)) return nullptr;
  else return integer_linear<C, S, G, Offset, Signed>;
}
#define CALLA_INTEGER(c, s, g, o, z) choose_integer<PackCodes::c, PackScales::s, g, o, z>(),
#define CALLA_EXACT(c, s, g, o, z) exact_linear<PackCodes::c, PackScales::s, g, o, z>,

// Symmetric activations, one scale per 32 inputs (64 for groups of 64), rounded to nearest even: int8, or 16-bit integers
// 256 * q + q_low of at most 127 * 256. No byte is -128, whose products could overflow: that costs an error of 1 in 16 bits.
static void quantise(const QuantiseArgs& a) {
  const int step = scale_inputs(a.variant), group = group_of(a.variant);
  const float most = a.q_low ? 127.0f * 256 : 127.0f;
  int64_t g = 0;
  for (int64_t k = 0; k < a.cols; k += step) {
    F peak = zero();
    for (int i = 0; i < step; i += 16) peak = max(peak, abs(load(a.x + k + i)));
    const float top = hmax(peak), scale = top / most, inverse = top > 0 ? most / top : 0.0f;
    for (int i = 0; i < step; i += 16) {
      const F x = mul(load(a.x + k + i), set1(inverse));
      if (!a.q_low) {
        store_s8(a.q + k + i, round_to_int(x));
        continue;
      }
      const F whole = round(x), high = round(mul(whole, set1(1.0f / 256)));
      store_s8(a.q + k + i, round_to_int(high));
      store_s8(a.q_low + k + i, round_to_int(sub(whole, mul(high, set1(256)))));
    }
    for (int i = 0; i < step; i += group, g++) {
      int32_t sum = 0;
      for (int j = 0; j < group; j++) sum += a.q_low ? 256 * a.q[k + i + j] + a.q_low[k + i + j] : a.q[k + i + j];
      a.scale[g] = scale;
      a.isum[g] = sum;
      a.sum[g] = scale * static_cast<float>(sum);
    }
  }
}

static void group_sums(const float* x, int64_t cols, float* sums) {
  for (int group = 16; group <= 64; group *= 2)
    for (int64_t k = 0; k < cols; k += group) {
      float sum = 0;
      for (int64_t i = k; i < cols && i < k + group; i++) sum += x[i];
      *sums++ = sum;
    }
}
