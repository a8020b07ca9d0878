// peak: int8 products of 4-bit codes as fast as the lane words can form them, with one line of activations in the cache and everything
// else in registers: what prefill is held against. Returns the number of multiply-adds.
static int64_t int8_peak(int64_t rounds, float* sink) {
  constexpr int kChains = 4, kRun = run_quads(15) < 8 ? run_quads(15) : 8;
  uint8_t codes[64];
  int8_t x[4 * kChains];
  for (int i = 0; i < 64; i++) codes[i] = static_cast<uint8_t>(i % 16);
  for (int i = 0; i < 4 * kChains; i++) x[i] = static_cast<int8_t>(i % 7 - 3);
  const B w = load_bytes(codes);
  I acc[kChains];  // stays in registers as every loop over it is unrolled
  UNROLL for (int t = 0; t < kChains; t++) acc[t] = set1_i(0);
  for (int64_t r = 0; r < rounds; r++) {
    asm volatile("" ::"r"(x) : "memory");  // x may be another one now, so that no product is formed outside the loop
    Partial run[kChains];
    UNROLL for (int t = 0; t < kChains; t++) run[t] = begin_run(acc[t]);
    UNROLL for (int q = 0; q < kRun; q++)
      UNROLL for (int t = 0; t < kChains; t++) run[t] = dot_run<false>(run[t], w, x + 4 * t);
    UNROLL for (int t = 0; t < kChains; t++) acc[t] = end_run(acc[t], run[t]);
  }
  for (int t = 1; t < kChains; t++) acc[0] = add_i(acc[0], acc[t]);
  *sink = hsum(to_float(acc[0]));
  return rounds * kChains * kRun * 64;
}
