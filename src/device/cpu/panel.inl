// panel: y = W x for several rows of activations: a slice of inputs is unpacked once into bytes and meets every row of the panel;
// included by linear.inl. Floats are added in the order of integer_tile, so both give the same bits.

// Inputs [k, k + inputs) of n rows and what belongs to their groups, at constant strides.
template <int G, int P> static INLINE void gather(Workspace& s, const LinearRow* rows, int n, int64_t k, int inputs, int shift) {
  const int groups = inputs / G;
  const auto copy = [&](auto* to, const auto* from, int count, auto full) INLINE_LAMBDA {
    if (inputs == kSlice) std::memcpy(to, from, sizeof(*to) * full());
    else std::memcpy(to, from, sizeof(*to) * static_cast<size_t>(count));
  };
  const auto all_inputs = [] { return size_t{kSlice}; };
  const auto all_groups = [] { return size_t{kSlice / G}; };
  for (int t = 0; t < n; t++) {
    const LinearRow& r = rows[t];
    if constexpr (P == 2) copy(s.x[0][t], r.q + k, inputs, all_inputs);
    copy(s.x[1][t], (P == 2 ? r.q_low : r.q) + k, inputs, all_inputs);
    copy(s.scale[t], r.scale + k / G, groups, all_groups);
    copy(s.sum[t], r.sum + k / G, groups, all_groups);
    for (int g = 0; g < groups; g++) s.start[t][g] = -shift * r.isum[k / G + g];
  }
}

// One slice of weight tile i of the pair; what is `ahead` of it is wanted soon.
template <PackCodes C, PackScales S, int G, bool Signed>
static INLINE const uint8_t* unpack_slice(Workspace& s, int i, const PackedMatrix& m, const uint8_t* p, int64_t k, int inputs, size_t ahead) {
  const int64_t first_group = k / G;
  return walk_blocks<C, S, G, Signed, true>(m, p, k, k + inputs, [&](const B* quads, F scale, F min, int64_t g, int64_t) INLINE_LAMBDA {
    const int64_t at = g - first_group;
    for (int q = 0; q < G / 4; q++) store_bytes(s.w[i][at * (G / 4) + q], dot_codes<Word<C>::kSigned>(quads[q]));
    store(s.w_scale[i][at], scale);
    if constexpr (ScaleWord<S, G, Signed>::kMin) store(s.w_min[i][at], min);
  }, ahead);
}

// What NT tiles and up to T rows have to do with one slice of inputs.
struct Block {
  const PackedMatrix& m;
  int64_t first_row;      // of the outputs
  const LinearRow* rows;  // the first of the block
  int n, row, tile, groups;  // rows left; where the block lies in the workspace; groups of the slice
  bool first, last;       // slice
};
// Everything that is added up stays in registers. Run: quads that a Partial may add up.
template <int G, bool Min, int P, bool SignedCodes, int Run, int NT>
static __attribute__((noinline)) void multiply(Workspace& s, const Block& b) {
  constexpr int T = kBlockRows / P, kRun = Run < G / 4 ? Run : G / 4;
  const int row = b.row;
  F acc[NT][T];
  UNROLL for (int i = 0; i < NT; i++)
    UNROLL for (int t = 0; t < T; t++) acc[i][t] = b.first ? zero() : load(s.acc[b.tile + i][row + t]);
  for (int g = 0; g < b.groups; g++) {
    I sums[P][NT][T];
    UNROLL for (int t = 0; t < T; t++)
      UNROLL for (int i = 0; i < NT; i++) {
        sums[P - 1][i][t] = set1_i(s.start[row + t][g]);
        if constexpr (P == 2) sums[0][i][t] = set1_i(0);
      }
    UNROLL for (int from = 0; from < G / 4; from += kRun) {
      Partial run[P][NT][T];
      UNROLL for (int p = 0; p < P; p++)
        UNROLL for (int i = 0; i < NT; i++)
          UNROLL for (int t = 0; t < T; t++) run[p][i][t] = begin_run(sums[p][i][t]);
      UNROLL for (int q = from; q < from + kRun; q++) {
        B w[NT];
        UNROLL for (int i = 0; i < NT; i++) w[i] = load_bytes(s.w[i][g * (G / 4) + q]);
        UNROLL for (int p = 0; p < P; p++)
          UNROLL for (int t = 0; t < T; t++)
            UNROLL for (int i = 0; i < NT; i++) run[p][i][t] = dot_run<SignedCodes>(run[p][i][t], w[i], s.x[2 - P + p][row + t] + G * g + 4 * q);
      }
      UNROLL for (int p = 0; p < P; p++)
        UNROLL for (int i = 0; i < NT; i++)
          UNROLL for (int t = 0; t < T; t++) sums[p][i][t] = end_run(sums[p][i][t], run[p][i][t]);
    }
    UNROLL for (int t = 0; t < T; t++)
      UNROLL for (int i = 0; i < NT; i++) {
        const I sum = P == 2 ? add_i(times_256(sums[0][i][t]), sums[P - 1][i][t]) : sums[0][i][t];
        acc[i][t] = fma(mul(to_float(sum), set1(s.scale[row + t][g])), load(s.w_scale[i][g]), acc[i][t]);
        if constexpr (Min) acc[i][t] = fma(load(s.w_min[i][g]), set1(s.sum[row + t][g]), acc[i][t]);
      }
  }
  UNROLL for (int i = 0; i < NT; i++)
    UNROLL for (int t = 0; t < T; t++) {
      if (!b.last) store(s.acc[b.tile + i][row + t], acc[i][t]);
      else if (t < b.n) write_row(b.m, b.first_row + i * kTileRows, b.rows[t], acc[i][t]);
    }
}

// n <= kPassRows rows times n_tiles <= kPassTiles tiles.
template <PackCodes C, PackScales S, int G, int Offset, bool Signed, int P>
static void pass(Workspace& s, const LinearArgs& a, int64_t first_tile, int n_tiles, const LinearRow* rows, int n) {
  constexpr bool kMin = ScaleWord<S, G, Signed>::kMin, kSignedCodes = Word<C>::kSigned && kSignedBias == 0;
  constexpr int kRun = run_quads(Word<C>::kMax);
  const PackedMatrix& m = *a.w;
  const uint8_t* at[kPassTiles];
  for (int i = 0; i < n_tiles; i++) at[i] = reinterpret_cast<const uint8_t*>(m.tile(a.expert, first_tile + i));
  const size_t ahead = m.cols > kSlice ? kBlockTiles * m.tile_bytes : kPrefetchBytes;
  for (int64_t k = 0; k < m.cols; k += kSlice) {
    const int inputs = m.cols - k < kSlice ? static_cast<int>(m.cols - k) : kSlice, groups = inputs / G;
    gather<G, P>(s, rows, n, k, inputs, Offset + Word<C>::kBias);
    for (int i = 0; i < n_tiles; i += kBlockTiles) {
      const bool whole = i + kBlockTiles <= n_tiles;
      for (int j = 0; j < (whole ? kBlockTiles : 1); j++) at[i + j] = unpack_slice<C, S, G, Signed>(s, j, m, at[i + j], k, inputs, ahead);
      for (int t = 0; t < n; t += kBlockRows / P) {
        const Block block{m, (first_tile + i) * kTileRows, rows + t, n - t, t, i, groups, k == 0, k + kSlice >= m.cols};
        if (whole) multiply<G, kMin, P, kSignedCodes, kRun, kBlockTiles>(s, block);
        else multiply<G, kMin, P, kSignedCodes, kRun, 1>(s, block);
      }
    }
  }
}

template <PackCodes C, PackScales S, int G, int Offset, bool Signed, int P> static void panel(const LinearArgs& a) {
  const auto smaller = [](int64_t n, int limit) { return n < limit ? static_cast<int>(n) : limit; };
  for (int r = 0; r < a.n; r += kPassRows)
    for (int64_t i = 0; i < a.n_tiles; i += kPassTiles)
      pass<C, S, G, Offset, Signed, P>(workspace(), a, a.first_tile + i, smaller(a.n_tiles - i, kPassTiles), a.rows + r, smaller(a.n - r, kPassRows));
}
