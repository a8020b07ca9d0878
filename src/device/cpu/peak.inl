// peak: int8 products as fast as the lane words can form them, with one line of activations in the cache and everything else in
// registers: what prefill is held against. Returns the number of multiply-adds.
static int64_t int8_peak(int64_t rounds, float* sink) {
  uint8_t codes[64];
  int8_t x[4 * kWideTokens];
  for (int i = 0; i < 64; i++) codes[i] = static_cast<uint8_t>(i % 16);
  for (int i = 0; i < 4 * kWideTokens; i++) x[i] = static_cast<int8_t>(i % 7 - 3);
  const B w = load_bytes(codes);
  I acc[kWideTokens];  // stays in registers as every loop over it is unrolled
#pragma GCC unroll 16
  for (int t = 0; t < kWideTokens; t++) acc[t] = set1_i(0);
  for (int64_t r = 0; r < rounds; r++) {
    asm volatile("" ::"r"(x) : "memory");  // x may be another one now, so that no product is formed outside the loop
#pragma GCC unroll 16
    for (int t = 0; t < kWideTokens; t++) acc[t] = dot<false>(acc[t], w, x + 4 * t);
  }
#pragma GCC unroll 16
  for (int t = 1; t < kWideTokens; t++) acc[0] = add_i(acc[0], acc[t]);
  *sink = hsum(to_float(acc[0]));
  return rounds * kWideTokens * 64;
}
