// unpack: reads packed tiles: codes to bytes, scales and mins to lanes; included by linear.inl and amx.cpp inside their namespaces.

template <PackCodes C> struct Word;  // unpack: one chunk of 32 inputs -> 8 quads; kMax: largest |code|; kBias: what the ISA's dot product adds to each code
template <> struct Word<PackCodes::u4> {
  static constexpr int kBias = 0, kMax = 15;
  static constexpr bool kSigned = false;
  static INLINE void unpack(const uint8_t* p, B (&c)[8]) {
    for (int j = 0; j < 4; j++) {
      const B v = load_bytes(p + 64 * j);
      c[2 * j] = low_nibbles(v);
      c[2 * j + 1] = high_nibbles(v);
    }
  }
};
template <> struct Word<PackCodes::u2> {
  static constexpr int kBias = 0, kMax = 3;
  static constexpr bool kSigned = false;
  static INLINE void unpack(const uint8_t* p, B (&c)[8]) {
    for (int j = 0; j < 2; j++) {
      const B v = load_bytes(p + 64 * j);
      c[4 * j] = two_bits<0>(v);
      c[4 * j + 1] = two_bits<2>(v);
      c[4 * j + 2] = two_bits<4>(v);
      c[4 * j + 3] = two_bits<6>(v);
    }
  }
};
template <> struct Word<PackCodes::u3> {
  static constexpr int kBias = 0, kMax = 7;
  static constexpr bool kSigned = false;
  static INLINE void unpack(const uint8_t* p, B (&c)[8]) {
    Word<PackCodes::u2>::unpack(p, c);
    for (int j = 0; j < 8; j++) c[j] = with_bit<4>(c[j], p + 128 + 8 * j);
  }
};
template <> struct Word<PackCodes::u5> {
  static constexpr int kBias = 0, kMax = 31;
  static constexpr bool kSigned = false;
  static INLINE void unpack(const uint8_t* p, B (&c)[8]) {
    Word<PackCodes::u4>::unpack(p, c);
    for (int j = 0; j < 8; j++) c[j] = with_bit<16>(c[j], p + 256 + 8 * j);
  }
};
template <> struct Word<PackCodes::u6> {
  static constexpr int kBias = 0, kMax = 63;
  static constexpr bool kSigned = false;
  static INLINE void unpack(const uint8_t* p, B (&c)[8]) {
    Word<PackCodes::u4>::unpack(p, c);
    for (int j = 0; j < 8; j++) c[j] = with_bit<32>(with_bit<16>(c[j], p + 256 + 8 * j), p + 320 + 8 * j);
  }
};
template <> struct Word<PackCodes::s8> {
  static constexpr int kBias = kSignedBias, kMax = 128;
  static constexpr bool kSigned = true;
  static INLINE void unpack(const uint8_t* p, B (&c)[8]) {
    for (int j = 0; j < 8; j++) c[j] = load_bytes(p + 64 * j);
  }
};
template <> struct Word<PackCodes::iq4> {
  static constexpr int kBias = kSignedBias, kMax = 127;
  static constexpr bool kSigned = true;
  static INLINE void unpack(const uint8_t* p, B (&c)[8]) {
    Word<PackCodes::u4>::unpack(p, c);
    for (B& v : c) v = look_up(kIq4Table, v);
  }
};
template <> struct Word<PackCodes::e2m1> {  // twice the value, so that it is an integer; the scale was halved when packing
  static constexpr int kBias = kSignedBias, kMax = 12;
  static constexpr bool kSigned = true;
  static INLINE void unpack(const uint8_t* p, B (&c)[8]) {
    Word<PackCodes::u4>::unpack(p, c);
    for (B& v : c) v = look_up(kE2m1Table, v);
  }
};

// Scale and min of group j of a block.
template <PackScales S, int G, bool Signed> struct ScaleWord {
  static constexpr bool kMin = S == PackScales::f16_min || S == PackScales::bf16_min || S == PackScales::f32_min || S == PackScales::super_min;
  F d, dmin;
  const uint8_t* p;
  int groups, ratio;
  INLINE ScaleWord(const uint8_t* at, int n_groups, int groups_per_scale) : p(at), groups(n_groups), ratio(groups_per_scale) {
    if constexpr (S == PackScales::super || S == PackScales::super_min) d = load_f16(p);
    if constexpr (S == PackScales::super_min) dmin = load_f16(p + 32);
  }
  INLINE F scale(int j) const {
    if constexpr (S == PackScales::f16) return load_f16(p + 32 * j);
    if constexpr (S == PackScales::f16_min) return load_f16(p + 64 * j);
    if constexpr (S == PackScales::bf16_min) return load_bf16(p + 64 * (j / ratio));
    if constexpr (S == PackScales::f32_min) return load(reinterpret_cast<const float*>(p + 128 * (j / ratio)));
    if constexpr (S == PackScales::e8m0) return load_e8m0(p + 16 * j);
    if constexpr (S == PackScales::super || S == PackScales::super_min) return mul(d, Signed ? load_s8(p + 64 + 16 * j) : load_u8(p + 64 + 16 * j));
  }
  INLINE F min(int j) const {
    if constexpr (S == PackScales::f16_min) return load_f16(p + 64 * j + 32);
    if constexpr (S == PackScales::bf16_min) return load_bf16(p + 64 * (j / ratio) + 32);
    if constexpr (S == PackScales::f32_min) return load(reinterpret_cast<const float*>(p + 128 * (j / ratio) + 64));
    if constexpr (S == PackScales::super_min) return sub(zero(), mul(dmin, load_u8(p + 64 + 16 * (groups + j))));
    return zero();
  }
};

// Walks the blocks of one tile that hold inputs [begin, end), the first of which is at p; calls group(codes of its quads, scale, min,
// group index, first input) in order, asks for the lines `ahead` of those it reads, and returns where the next block is.
template <PackCodes C, PackScales S, int G, bool Signed, bool Prefetch, class Group>
static INLINE const uint8_t* walk_blocks(const PackedMatrix& m, const uint8_t* p, int64_t begin, int64_t end, Group&& group, size_t ahead = kPrefetchBytes) {
  const int ratio = m.layout.scale_group > G ? m.layout.scale_group / G : 1, block = m.layout.block;
  constexpr bool kLong = S == PackScales::super || S == PackScales::super_min;  // blocks of too many lines to be under way at a time
  int64_t g = begin / G;
  for (int64_t k = begin; k < end; k += block) {
    const int inputs = static_cast<int>(end - k < block ? end - k : block), groups = inputs / G;
    const size_t scales = scale_bytes(m.layout, inputs);
    const ScaleWord<S, G, Signed> word(p, groups, ratio);
    const uint8_t* codes = p + scales;
    const uint8_t* next = codes + chunk_bytes(C) * static_cast<size_t>(inputs / 32);
    const auto fetch = [&](const uint8_t* from, size_t bytes) INLINE_LAMBDA {
      if constexpr (Prefetch)
        for (size_t i = 0; i < bytes; i += 64) prefetch(from + i + ahead);
    };
    fetch(p, kLong ? scales : static_cast<size_t>(next - p));
    if constexpr (G >= 32) {
      for (int j = 0; j < groups; j++, g++) {
        B quads[G / 4];
        if constexpr (kLong) fetch(codes, chunk_bytes(C) * (G / 32));
        for (int h = 0; h < G / 32; h++, codes += chunk_bytes(C)) Word<C>::unpack(codes, *reinterpret_cast<B(*)[8]>(quads + 8 * h));
        group(quads, word.scale(j), word.min(j), g, k + G * j);
      }
    } else {
      for (int j = 0; j < groups; j += 2, codes += chunk_bytes(C), g += 2) {
        B quads[8];
        if constexpr (kLong) fetch(codes, chunk_bytes(C));
        Word<C>::unpack(codes, quads);
        group(quads, word.scale(j), word.min(j), g, k + G * j);
        group(quads + 4, word.scale(j + 1), word.min(j + 1), g + 1, k + G * j + G);
      }
    }
    p = next;
  }
  return p;
}
template <PackCodes C, PackScales S, int G, bool Signed, bool Prefetch, class Group>
static INLINE void walk_tile(const PackedMatrix& m, const uint8_t* p, Group&& group) {
  walk_blocks<C, S, G, Signed, Prefetch>(m, p, 0, m.cols, group);
}

// Sixteen outputs of one row of activations. post_scale is 1 for all but one format of groups of 16.
static INLINE void write_row(const PackedMatrix& m, int64_t first_row, const LinearRow& r, F sum) {
  const int64_t left = m.rows - first_row;
  const F y = m.layout.group == 16 ? mul(sum, set1(m.post_scale)) : sum;
  if (left >= kTileRows) store(r.y + first_row, y);
  else store_n(r.y + first_row, static_cast<int>(left), y);
}
