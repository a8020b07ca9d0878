// delta: the gated delta rule and its causal convolution, row after row, so that every way of cutting a prompt gives the same bits;
// included by every ISA file inside its namespace. Lanes run along the value dimension: no horizontal sums.
// The state is kept as scale * S: a row's decay only multiplies the scale, which leaves three multiply-adds per element and row (read with
// k, read with q, write). Where the scale gets small it is multiplied into S, by a rule that looks at the scale alone.

constexpr float kSmallScale = 0x1p-24f, kNoise = 1e-30f;  // what has decayed below kNoise becomes zero before it could become denormal

static INLINE float dot_rows(const float* a, const float* b, int32_t n) {
  F even = zero(), odd = zero();
  int32_t i = 0;
  for (; i + 32 <= n; i += 32) {
    even = fma(load(a + i), load(b + i), even);
    odd = fma(load(a + i + 16), load(b + i + 16), odd);
  }
  for (; i < n; i += 16) even = fma(load_some(a + i, n - i < 16 ? n - i : 16), load_some(b + i, n - i < 16 ? n - i : 16), even);
  return hsum(add(even, odd));
}

// q and k are l2-normalised in place (eps inside the root, spec 1.5 step 4), q also scaled by n^-0.5. Returns q . k.
static float unit_keys(float* q, float* k, int32_t n) {
  scale_rows(k, 1.0f / std::sqrt(dot_rows(k, k, n) + 1e-6f), n, k);
  scale_rows(q, 1.0f / std::sqrt(static_cast<float>(n)) / std::sqrt(dot_rows(q, q, n) + 1e-6f), n, q);
  return dot_rows(k, q, n);
}

// One pass over V * 16 columns: Write: S += k_before * d. Shrink: S *= factor. Read: mk = S k, mq = S q, even and odd keys apart.
template <int V, bool Write, bool Shrink, bool Read>
static INLINE void delta_pass(float* state, int32_t key_dim, const float* k_before, const F* d, float factor, const float* k, const float* q, F* mk, F* mq) {
  F sums[4][V];
  for (int v = 0; v < V; v++) sums[0][v] = sums[1][v] = sums[2][v] = sums[3][v] = zero();
  const auto step = [&](int32_t i, F* sk, F* sq) INLINE_LAMBDA {
    float* at = state + int64_t{i} * kDeltaColumns;
    F before, with_k, with_q;  // loaded ahead of the stores, which could be to the same memory for all the compiler knows
    if constexpr (Write) before = set1(k_before[i]);
    if constexpr (Read) with_k = set1(k[i]), with_q = set1(q[i]);
    for (int v = 0; v < V; v++) {
      F s = load(at + v * 16);
      if constexpr (Write) s = fma(d[v], before, s);
      if constexpr (Shrink) {
        s = mul(s, set1(factor));
        s = zero_below(s, abs(s), set1(kNoise));
      }
      if constexpr (Write || Shrink) store(at + v * 16, s);
      if constexpr (Read) {
        sk[v] = fma(s, with_k, sk[v]);
        sq[v] = fma(s, with_q, sq[v]);
      }
    }
  };
  int32_t i = 0;
  for (; i + 2 <= key_dim; i += 2) {
    step(i, sums[0], sums[1]);
    step(i + 1, sums[2], sums[3]);
  }
  if (i < key_dim) step(i, sums[0], sums[1]);
  if constexpr (Read)
    for (int v = 0; v < V; v++) mk[v] = add(sums[0][v], sums[2][v]), mq[v] = add(sums[1][v], sums[3][v]);
}

// Columns [first, first + V * 16) of the slice: S' = decay S; d = (v - k S') * beta; S = S' + k d; o = q S = q S' + (q k) d.
// A row's write and the next row's read are one pass.
template <int V> static INLINE float delta_columns(const DeltaArgs& a, int32_t first, float scale) {
  float* state = a.state + first;
  F d[V], mk[V], mq[V];
  for (int v = 0; v < V; v++) d[v] = zero();
  const float* k_before = nullptr;
  for (int32_t row = 0; row < a.n_rows; row++) {
    const float *q = a.q + row * a.key_stride, *k = a.k + row * a.key_stride, beta = a.gates[row * a.gate_stride + 1], kq = a.kq[row * a.kq_stride];
    scale *= a.gates[row * a.gate_stride];
    const float factor = scale;
    if (scale < kSmallScale) {
      scale = 1;
      if (k_before) delta_pass<V, true, true, true>(state, a.key_dim, k_before, d, factor, k, q, mk, mq);
      else delta_pass<V, false, true, true>(state, a.key_dim, k_before, d, factor, k, q, mk, mq);
    } else {
      if (k_before) delta_pass<V, true, false, true>(state, a.key_dim, k_before, d, factor, k, q, mk, mq);
      else delta_pass<V, false, false, true>(state, a.key_dim, k_before, d, factor, k, q, mk, mq);
    }
    const float up = 1.0f / scale;
    for (int v = 0; v < V; v++) {
      const int32_t column = first + v * 16, n = a.columns - column < 16 ? a.columns - column : 16;
      if (n <= 0) continue;
      const F value = load_some(a.v + row * a.v_stride + column, n);
      const F error = mul(sub(value, mul(mk[v], set1(scale))), set1(beta));
      store_some(a.out + row * a.out_stride + column, n, fma(error, set1(kq), mul(mq[v], set1(scale))));
      d[v] = mul(error, set1(up));
    }
    k_before = k;
  }
  if (k_before) delta_pass<V, true, false, false>(state, a.key_dim, k_before, d, 1, k_before, k_before, mk, mq);
  return scale;
}

static void delta(const DeltaArgs& a) {
  static_assert(kDeltaColumns == 32);
  float* const stored = a.state + int64_t{a.key_dim} * kDeltaColumns;
  const float scale = *stored > 0 ? *stored : 1;  // a fresh slot is all zeros
  float after = scale;
  for (int32_t first = 0; first < a.columns; first += kDeltaVectors * 16) after = delta_columns<kDeltaVectors>(a, first, scale);
  *stored = after;
}

// out_t = SiLU(sum_j taps[j] * x_{t - kernel + 1 + j}); the state is the last kernel - 1 inputs, before convolution and activation.
static void conv(const ConvArgs& a) {
  const int32_t history = a.kernel - 1;
  const auto input = [&](int32_t row, int64_t channel) INLINE_LAMBDA {
    return row >= 0 ? a.x + row * a.row_stride + channel : a.state + (row + history) * a.channels + channel;
  };
  for (int32_t row = 0; row < a.n_rows; row++)
    each16(a.count, [&](int64_t i, int n) INLINE_LAMBDA {
      const int64_t channel = a.first + i;
      F sum = zero();
      for (int32_t j = 0; j < a.kernel; j++) sum = fma(load_some(a.taps + j * a.channels + channel, n), load_some(input(row - history + j, channel), n), sum);
      store_some(a.out + row * a.out_stride + i, n, mul(sum, sigmoid_lanes(sum)));
    });
  for (int32_t j = 0; j < history; j++)  // oldest first: shifts when fewer rows came than the state holds
    each16(a.count, [&](int64_t i, int n) INLINE_LAMBDA { store_some(a.state + j * a.channels + a.first + i, n, load_some(input(a.n_rows - history + j, a.first + i), n)); });
}
