// cache: reading and writing the numbers of paged keys and values in each of their types; included by attention.inl.

template <CacheType T> constexpr int kWidth = T == CacheType::f32 ? 4 : T == CacheType::half ? 2 : 1;  // bytes
template <CacheType T> static INLINE F load_elements(const uint8_t* p, int n) {
  uint8_t some[64];
  if (n < 16) {
    std::memset(some, 0, sizeof some);
    std::memcpy(some, p, static_cast<size_t>(n) * kWidth<T>);
    p = some;
  }
  if constexpr (T == CacheType::f32) return load(reinterpret_cast<const float*>(p));
  else if constexpr (T == CacheType::half) return load_f16(p);
  else return load_s8(p);
}

static void store_codes(const float* x, int32_t n, int8_t* codes, float& scale) {
  F top = zero();
  each16(n, [&](int64_t i, int c) INLINE_LAMBDA { top = max(top, abs(load_some(x + i, c))); });
  const float peak = hmax(top);
  scale = peak / 127;
  const F up = set1(peak > 0 ? 127 / peak : 0);
  each16(n, [&](int64_t i, int c) INLINE_LAMBDA {
    int8_t some[16];
    store_s8(some, round_to_int(mul(load_some(x + i, c), up)));
    std::memcpy(codes + i, some, static_cast<size_t>(c));
  });
}
static void store_halves(const float* x, int32_t n, uint16_t* to) {
  each16(n, [&](int64_t i, int c) INLINE_LAMBDA {
    uint16_t halves[16];
    store_f16(halves, min(max(load_some(x + i, c), set1(-65504.0f)), set1(65504.0f)));  // saturate: an infinite key would poison every later token
    std::memcpy(to + i, halves, static_cast<size_t>(c) * 2);
  });
}
// One token of one kv head.
static void store_cache(const CacheView& c, int64_t at, const float* k, const float* v) {
  uint8_t *keys = static_cast<uint8_t*>(c.keys) + at * c.key_bytes(), *values = static_cast<uint8_t*>(c.values) + at * c.value_bytes();
  if (c.type == CacheType::half) {
    store_halves(k, c.key_dim, reinterpret_cast<uint16_t*>(keys));
    store_halves(v, c.value_dim, reinterpret_cast<uint16_t*>(values));
  } else if (c.type == CacheType::int8) {
    store_codes(k, c.key_dim, reinterpret_cast<int8_t*>(keys), c.key_scales[at]);
    store_codes(v, c.value_dim, reinterpret_cast<int8_t*>(values), c.value_scales[at]);
  } else {
    std::memcpy(keys, k, static_cast<size_t>(c.key_dim) * 4);
    std::memcpy(values, v, static_cast<size_t>(c.value_dim) * 4);
  }
}
