// plain: words on sixteen vectors at once, for instruction sets without shuffles worth spelling out; included by ISA files inside their namespaces.

// x[i][j] becomes x[j][i].
INLINE void transpose(F* x) {
  float t[16][16], u[16][16];
  for (int i = 0; i < 16; i++) store(t[i], x[i]);
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++) u[i][j] = t[j][i];
  for (int i = 0; i < 16; i++) x[i] = load(u[i]);
}
// to[i] = hsum(x[i]) of N vectors.
template <int N> INLINE void hsums(const F* x, float* to) {
  for (int i = 0; i < N; i++) to[i] = hsum(x[i]);
}
