// linear: y = W x over packed tiles, written once in lane words; included by every ISA file inside its namespace.
// All token-block sizes do the same float operations in the same order per output, so a row's result never depends on its batch mates.
#include "device/cpu/unpack.inl"

template <PackCodes C, PackScales S, int G, int Offset, bool Signed, int T>
static INLINE void integer_tile(const PackedMatrix& m, const uint8_t* tile, const LinearRow* r, F (&acc)[T]) {
  constexpr int kShift = Offset + Word<C>::kBias;
  for (F& a : acc) a = zero();
  walk_tile<C, S, G, Signed, T == 1>(m, tile, [&](const B* quads, F scale, F min, int64_t g, int64_t k) INLINE_LAMBDA {
    I sums[T];
    if constexpr (T == 1) {  // four chains hide the latency; integer sums do not depend on the order
      I part[4] = {set1_i(kShift ? -kShift * r[0].isum[g] : 0), set1_i(0), set1_i(0), set1_i(0)};
      for (int q = 0; q < G / 4; q++) part[q & 3] = dot<Word<C>::kSigned>(part[q & 3], quads[q], r[0].q + k + 4 * q);
      sums[0] = add_i(add_i(part[0], part[1]), add_i(part[2], part[3]));
    } else {
      for (int t = 0; t < T; t++) sums[t] = set1_i(kShift ? -kShift * r[t].isum[g] : 0);
      for (int q = 0; q < G / 4; q++)
        for (int t = 0; t < T; t++) sums[t] = dot<Word<C>::kSigned>(sums[t], quads[q], r[t].q + k + 4 * q);
    }
    for (int t = 0; t < T; t++) {
      acc[t] = fma(mul(to_float(sums[t]), set1(r[t].scale[g])), scale, acc[t]);
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

enum class Path { integer, exact };
template <Path P, PackCodes C, PackScales S, int G, int Offset, bool Signed, int T>
static INLINE void tile_block(const PackedMatrix& m, const uint8_t* tile, int64_t first_row, const LinearRow* r) {
  F acc[T];
  if constexpr (is_float(C)) float_tile<C, T>(m, tile, r, acc);
  else if constexpr (P == Path::integer) integer_tile<C, S, G, Offset, Signed, T>(m, tile, r, acc);
  else exact_tile<C, S, G, Offset, Signed, T>(m, tile, r, acc);
  const int64_t left = m.rows - first_row;
  for (int t = 0; t < T; t++) {
    const F y = S == PackScales::f16 && G == 16 ? mul(acc[t], set1(m.post_scale)) : acc[t];
    if (left >= kTileRows) store(r[t].y + first_row, y);
    else store_n(r[t].y + first_row, static_cast<int>(left), y);
  }
}

template <Path P, PackCodes C, PackScales S, int G, int Offset, bool Signed> static void linear(const LinearArgs& a) {
  constexpr int kWide = P == Path::integer ? kWideTokens : kWideExactTokens;
  for (int64_t i = a.first_tile; i < a.first_tile + a.n_tiles; i++) {
    const uint8_t* tile = reinterpret_cast<const uint8_t*>(a.w->tile(a.expert, i));
    int t = 0;
    for (; t + kWide <= a.n; t += kWide) tile_block<P, C, S, G, Offset, Signed, kWide>(*a.w, tile, i * kTileRows, a.rows + t);
    if constexpr (kWide > 4)
      for (; t + 4 <= a.n; t += 4) tile_block<P, C, S, G, Offset, Signed, 4>(*a.w, tile, i * kTileRows, a.rows + t);
    for (; t < a.n; t++) tile_block<P, C, S, G, Offset, Signed, 1>(*a.w, tile, i * kTileRows, a.rows + t);
  }
}

#define CALLA_INTEGER(c, s, g, o, z) is_float(PackCodes::c) ? nullptr : linear<Path::integer, PackCodes::c, PackScales::s, g, o, z>,
#define CALLA_EXACT(c, s, g, o, z) linear<Path::exact, PackCodes::c, PackScales::s, g, o, z>,

// Symmetric int8 activations: one scale per 32 inputs (64 for groups of 64), rounded to nearest even.
static void quantise(const QuantiseArgs& a) {
  const int step = a.variant == Variant::g64 ? 64 : 32, group = a.variant == Variant::g16 ? 16 : step;
  int64_t g = 0;
  for (int64_t k = 0; k < a.cols; k += step) {
    F peak = zero();
    for (int i = 0; i < step; i += 16) peak = max(peak, abs(load(a.x + k + i)));
    const float top = hmax(peak), scale = top / 127.0f, inverse = top > 0 ? 127.0f / top : 0.0f;
    for (int i = 0; i < step; i += 16) store_s8(a.q + k + i, round_to_int(mul(load(a.x + k + i), set1(inverse))));
    for (int i = 0; i < step; i += group, g++) {
      int32_t sum = 0;
      for (int j = 0; j < group; j++) sum += a.q[k + i + j];
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
