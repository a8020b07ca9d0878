// delta: the gated delta rule and its causal convolution, row after row, so that every way of cutting a prompt gives the same bits;
// included by every ISA file inside its namespace. Lanes run along the value dimension: no horizontal sums.

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

// q and k are l2-normalised (eps inside the root, spec 1.5 step 4), q also scaled by key_dim^-0.5.
static INLINE void normalise_key(const float* x, int32_t n, float factor, float* out) {
  const float inverse = factor / std::sqrt(dot_rows(x, x, n) + 1e-6f);
  scale_rows(x, inverse, n, out);
}

// One token on 16 value columns: S' = decay * S; d = (v - k S') * beta; S = S' + k d; o = q S. One read and one write of the state.
static INLINE void delta_columns(float* state, int64_t stride, const float* k, const float* q, int32_t key_dim, float decay, float beta, float kq, const float* v,
                                 float* out, int n) {
  F mk0 = zero(), mk1 = zero(), mq0 = zero(), mq1 = zero();
  int32_t i = 0;
  for (; i + 2 <= key_dim; i += 2) {
    const F s0 = load_some(state + i * stride, n), s1 = load_some(state + (i + 1) * stride, n);
    mk0 = fma(s0, set1(k[i]), mk0);
    mq0 = fma(s0, set1(q[i]), mq0);
    mk1 = fma(s1, set1(k[i + 1]), mk1);
    mq1 = fma(s1, set1(q[i + 1]), mq1);
  }
  if (i < key_dim) {
    const F s = load_some(state + i * stride, n);
    mk0 = fma(s, set1(k[i]), mk0);
    mq0 = fma(s, set1(q[i]), mq0);
  }
  // The decay is applied before the read; as it is one number per head it can be taken out of the sums.
  const F d = mul(sub(load_some(v, n), mul(add(mk0, mk1), set1(decay))), set1(beta));
  store_some(out, n, fma(d, set1(kq), mul(add(mq0, mq1), set1(decay))));
  for (i = 0; i < key_dim; i++) store_some(state + i * stride, n, fma(d, set1(k[i]), mul(load_some(state + i * stride, n), set1(decay))));
}

static void delta(const DeltaArgs& a) {
  float* k = a.scratch;
  float* q = k + a.key_dim;
  const float q_scale = 1.0f / std::sqrt(static_cast<float>(a.key_dim));
  for (int32_t row = 0; row < a.n_rows; row++) {
    normalise_key(a.k + row * a.row_stride, a.key_dim, 1.0f, k);
    normalise_key(a.q + row * a.row_stride, a.key_dim, q_scale, q);
    const float kq = dot_rows(k, q, a.key_dim);
    const float x = a.a[row * a.ab_stride] + a.dt_bias, softplus = x > 20.0f ? x : std::log1p(std::exp(x));
    const float decay = std::exp(a.neg_exp_a * softplus), beta = 1.0f / (1.0f + std::exp(-a.b[row * a.ab_stride]));
    each16(a.value_dim, [&](int64_t j, int n) INLINE_LAMBDA {
      delta_columns(a.state + j, a.value_dim, k, q, a.key_dim, decay, beta, kq, a.v + row * a.row_stride + j, a.out + row * a.out_stride + j, n);
    });
  }
}

// out_t = SiLU(sum_j taps[j] * x_{t - kernel + 1 + j}); the state is the last kernel - 1 inputs, before convolution and activation.
static void conv(const ConvArgs& a) {
  const int32_t history = a.kernel - 1;
  const auto input = [&](int32_t row, int64_t channel) INLINE_LAMBDA {
    return row >= 0 ? a.x + row * a.row_stride + channel : a.state + (row + history) * a.channels + channel;
  };
  each16(a.count, [&](int64_t i, int n) INLINE_LAMBDA {
    const int64_t channel = a.first + i;
    for (int32_t row = 0; row < a.n_rows; row++) {
      F sum = zero();
      for (int32_t j = 0; j < a.kernel; j++) sum = fma(load_some(a.taps + j * a.channels + channel, n), load_some(input(row - history + j, channel), n), sum);
      store_some(a.out + row * a.row_stride + channel, n, mul(sum, sigmoid_lanes(sum)));
    }
    for (int32_t j = 0; j < history; j++)  // oldest first: shifts when fewer rows came than the state holds
      store_some(a.state + j * a.channels + channel, n, load_some(input(a.n_rows - history + j, channel), n));
  });
}
