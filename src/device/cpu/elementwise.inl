// elementwise: norms, gates and activations on rows, written once in lane words; included by every ISA file inside its namespace.

// e^x by 2^n * polynomial on [-ln2/2, ln2/2]; relative error below 2e-7, exact 0 below -87.3 and saturating above 88.
static INLINE F exp_lanes(F x) {
  const F low = set1(-87.33654f);
  const F clamped = min(max(x, low), set1(88.3762626f));
  const F n = round(mul(clamped, set1(1.44269504f)));
  F r = fma(n, set1(-0.693359375f), clamped);
  r = fma(n, set1(2.12194440e-4f), r);
  F p = set1(1.9875691500e-4f);
  p = fma(p, r, set1(1.3981999507e-3f));
  p = fma(p, r, set1(8.3334519073e-3f));
  p = fma(p, r, set1(4.1665795894e-2f));
  p = fma(p, r, set1(1.6666665459e-1f));
  p = fma(p, r, set1(5.0000001201e-1f));
  p = add(fma(mul(r, r), p, r), set1(1.0f));
  return zero_below(mul(p, power_of_two(n)), x, low);
}
static INLINE F sigmoid_lanes(F x) { return div(set1(1), add(set1(1), exp_lanes(sub(zero(), x)))); }
static INLINE F tanh_lanes(F x) {  // 1 - 2 / (e^2x + 1), by odd series near zero where that cancels
  const F a = abs(x), big = sub(set1(1), div(set1(2), add(exp_lanes(add(a, a)), set1(1))));
  const F s = mul(x, x);
  F p = set1(-5.70498872745e-3f);
  p = fma(p, s, set1(2.06390887954e-2f));
  p = fma(p, s, set1(-5.37397155531e-2f));
  p = fma(p, s, set1(1.33314422036e-1f));
  p = fma(p, s, set1(-3.33332819422e-1f));
  const F small = fma(mul(p, s), a, a);
  return copy_sign(select_below(a, set1(0.625f), small, big), x);
}
static INLINE F activate(F g, Activation a) {
  if (a == Activation::silu) return mul(g, sigmoid_lanes(g));
  const F inner = mul(set1(0.7978845608028654f), fma(mul(mul(g, g), g), set1(0.044715f), g));
  return mul(mul(set1(0.5f), g), add(set1(1), tanh_lanes(inner)));
}

// Calls f(offset, count) over n elements, 16 at a time.
template <class Step> static INLINE void each16(int64_t n, Step&& step) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) step(i, 16);
  if (i < n) step(i, static_cast<int>(n - i));
}
static INLINE F load_some(const float* p, int n) { return n == 16 ? load(p) : load_n(p, n); }
static INLINE void store_some(float* p, int n, F v) {
  if (n == 16) store(p, v);
  else store_n(p, n, v);
}

static float dot_product(const float* a, const float* b, int64_t n) {
  F even = zero(), odd = zero();
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    even = fma(load(a + i), load(b + i), even);
    odd = fma(load(a + i + 16), load(b + i + 16), odd);
  }
  each16(n - i, [&](int64_t j, int c) INLINE_LAMBDA { even = fma(load_some(a + i + j, c), load_some(b + i + j, c), even); });
  return hsum(add(even, odd));
}
static void rms_norm(const float* x, const float* gain, float eps, int64_t n, float* y) {
  F sum = zero();
  each16(n, [&](int64_t i, int c) INLINE_LAMBDA {
    const F v = load_some(x + i, c);
    sum = fma(v, v, sum);
  });
  const F inverse = set1(1.0f / std::sqrt(hsum(sum) / static_cast<float>(n) + eps));
  each16(n, [&](int64_t i, int c) INLINE_LAMBDA {
    const F v = mul(load_some(x + i, c), inverse);
    store_some(y + i, c, gain ? mul(v, load_some(gain + i, c)) : v);
  });
}
static void gate(const float* g, const float* u, int64_t n, Activation a, float* y) {
  each16(n, [&](int64_t i, int c) INLINE_LAMBDA { store_some(y + i, c, mul(activate(load_some(g + i, c), a), load_some(u + i, c))); });
}
static void sigmoid_gate(const float* x, const float* g, int64_t n, float* y) {
  each16(n, [&](int64_t i, int c) INLINE_LAMBDA { store_some(y + i, c, mul(load_some(x + i, c), sigmoid_lanes(load_some(g + i, c)))); });
}
static void add_rows(const float* a, const float* b, int64_t n, float* y) {
  each16(n, [&](int64_t i, int c) INLINE_LAMBDA { store_some(y + i, c, add(load_some(a + i, c), load_some(b + i, c))); });
}
static void add_scaled(const float* a, const float* b, float s, int64_t n, float* y) {
  const F factor = set1(s);
  each16(n, [&](int64_t i, int c) INLINE_LAMBDA { store_some(y + i, c, fma(load_some(b + i, c), factor, a ? load_some(a + i, c) : zero())); });
}
static float exponentials(const float* x, int64_t n, float* y) {
  F top = set1(x[0]), sum = zero();
  int64_t at = 0;
  for (; at + 16 <= n; at += 16) top = max(top, load(x + at));
  for (; at < n; at++) top = max(top, set1(x[at]));
  const F peak = set1(hmax(top));
  each16(n, [&](int64_t i, int c) INLINE_LAMBDA {
    const F e = exp_lanes(sub(load_some(x + i, c), peak));
    store_some(y + i, c, e);
    sum = add(sum, c == 16 ? e : load_n(y + i, c));
  });
  return hsum(sum);
}
static void scale_rows(const float* x, float s, int64_t n, float* y) {
  const F factor = set1(s);
  each16(n, [&](int64_t i, int c) INLINE_LAMBDA { store_some(y + i, c, mul(load_some(x + i, c), factor)); });
}
static void softcap(const float* x, float cap, int64_t n, float* y) {
  const F up = set1(cap), down = set1(1.0f / cap);
  each16(n, [&](int64_t i, int c) INLINE_LAMBDA { store_some(y + i, c, mul(up, tanh_lanes(mul(load_some(x + i, c), down)))); });
}
static void store_cache(const float* x, int64_t n, void* to, bool half) {
  each16(n, [&](int64_t i, int c) INLINE_LAMBDA {
    const F v = load_some(x + i, c);
    if (!half) return store_some(static_cast<float*>(to) + i, c, v);
    uint16_t halves[16];
    store_f16(halves, min(max(v, set1(-65504.0f)), set1(65504.0f)));  // saturate: an infinite key would poison every later token
    std::memcpy(static_cast<uint16_t*>(to) + i, halves, static_cast<size_t>(c) * 2);
  });
}
