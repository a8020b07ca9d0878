// amx: the integer linear kernels in AMX tiles, a whole translation unit (amx.cpp, and its emulated twin in tests/device), for activations
// with one scale per 256 inputs (wide.inl); everything else is avx512's. A row's result has the same bits whether it is computed alone, in
// vector registers, or among others, in tiles.
#include "device/cpu/isa/common.h"
#include <algorithm>
#include <immintrin.h>
#include <memory>

#if !defined(CALLA_AMX)
#define CALLA_AMX amx  // the emulated twin of the tests has a name of its own
#define CALLA_AMX_TABLE amx_kernels
#endif

namespace cpu::CALLA_AMX {
namespace {
constexpr int kSlice = 2048;               // inputs whose activations lie ready as tiles
constexpr int kTokenTiles = 8, kPass = 16; // tiles of activations and of weights per pass
constexpr int kAhead = 8, kRing = 16;      // products in flight: a tile must have reached the cache before it is read back
constexpr int kFewRows = 4;                // at most so many are computed in vector registers

// One thread's buffers.
struct Buffers {
  alignas(64) int8_t x[kTokenTiles][kSlice / 64][16][64];       // activations: 16 rows x 64 inputs
  alignas(64) float scale[kTokenTiles][kSlice / 256][16];       // per span and row
  alignas(64) float sum[kTokenTiles][kSlice / 16][16];          // per group and row, where weights have mins
  alignas(64) int8_t w[64][64];                                 // one span of one weight tile: quads, their offset taken off
  alignas(64) float w_scale[16][16], w_min[16][16];             // per group of the span
  alignas(64) int32_t product[kRing][16][16];                   // [row of activations][row of weights]
  alignas(64) float acc[kPass][kTokenTiles * 16][16];
};
Buffers& buffers() {
  static thread_local const std::unique_ptr<Buffers> own = std::make_unique<Buffers>();
  return *own;
}
}  // namespace
}  // namespace cpu::CALLA_AMX

// Where tiles are emulated the target still names them: no instruction of theirs is emitted.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("amx-tile,amx-int8,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("amx-tile,amx-int8,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")
#endif

namespace cpu::CALLA_AMX {
namespace {
constexpr int kSignedBias = 128, kPrefetchBytes = kAheadBytes;
#include "device/cpu/isa/avx512.inl"
#include "device/cpu/unpack.inl"
#include "device/cpu/isa/wide.inl"
#include "device/cpu/isa/tiles.inl"

static INLINE int smaller(int limit, int64_t n) { return n < limit ? static_cast<int>(n) : limit; }

// Inputs [k, k + inputs) of n rows as tiles, and what belongs to their spans and groups; rows up to the tile's end count as zero.
static void gather(Buffers& s, int group, bool min, const LinearRow* rows, int n, int64_t k, int inputs) {
  for (int t = 0; t < (n + 15) / 16 * 16; t++) {
    const LinearRow& r = rows[t < n ? t : 0];
    for (int i = 0; i < (inputs + kSpan - 1) / kSpan; i++) s.scale[t / 16][i][t % 16] = t < n ? r.scale[k / kSpan + i] : 0;
    if (min)
      for (int g = 0; g < inputs / group; g++) s.sum[t / 16][g][t % 16] = t < n ? r.sum[k / group + g] : 0;
    if (t >= n) continue;
    int i = 0;
    for (; i + 64 <= inputs; i += 64) std::memcpy(s.x[t / 16][i / 64][t % 16], r.q + k + i, 64);
    if (i < inputs) std::memcpy(s.x[t / 16][i / 64][t % 16], r.q + k + i, 32);
  }
}

// One span of one weight tile, inputs [k, k + inputs); groups that are missing at a row's end become zero weights.
template <PackCodes C, PackScales S, int G, int Offset, bool Signed>
static const uint8_t* unpack_span(Buffers& s, const PackedMatrix& m, const uint8_t* p, int64_t k, int inputs) {
  const int64_t first_group = k / G;
  p = walk_blocks<C, S, G, Signed, true>(m, p, k, k + inputs, [&](const B* quads, F scale, F min, int64_t g, int64_t) INLINE_LAMBDA {
    const int64_t at = g - first_group;
    for (int q = 0; q < G / 4; q++) {
      const __m512i v = Offset == 0 || Offset == -128 ? quads[q].v : _mm512_sub_epi8(quads[q].v, _mm512_set1_epi8(static_cast<char>(Offset)));
      _mm512_store_si512(s.w[at * (G / 4) + q], Offset == -128 ? _mm512_xor_si512(v, _mm512_set1_epi8(static_cast<char>(0x80))) : v);
    }
    store(s.w_scale[at], scale);
    if constexpr (ScaleWord<S, G, Signed>::kMin) store(s.w_min[at], min);
  });
  for (int g = inputs / G; g < kSpan / G; g++) {
    std::memset(s.w[g * (G / 4)], 0, G * 16);
    store(s.w_scale[g], zero());
    store(s.w_min[g], zero());
  }
  return p;
}

// Group g of a span: 16 rows of activations times 16 rows of weights.
template <int G, bool Unsigned, int At> static INLINE void multiply(Buffers& s, int token_tile, int slice, int g) {
  tile_zero<At>();
  tile_load<4 + At % 2>(s.x[token_tile][slice + g * G / 64][0] + g * G % 64);
  tile_load<6 + At % 2>(s.w[g * (G / 4)]);
  tile_dot<At, 4 + At % 2, 6 + At % 2, Unsigned>();
  tile_store<At>(s.product[(token_tile * (kSpan / G) + g) % kRing]);
}
template <bool Min> static INLINE void add_group(const Buffers& s, const int32_t (*product)[16], int token_tile, int g, int sum, F (&part)[16]) {
  const F scale = load(s.w_scale[g]), min = Min ? load(s.w_min[g]) : zero();
#pragma GCC unroll 16
  for (int t = 0; t < 16; t++) {
    part[t] = fma(to_float(_mm512_load_si512(product[t])), scale, part[t]);
    if constexpr (Min) part[t] = fma(min, set1(s.sum[token_tile][sum][t]), part[t]);
  }
}
// All token tiles times the unpacked span; products run kAhead groups ahead of the scaling.
template <int G, bool Unsigned, bool Min> static void span_products(Buffers& s, int token_tiles, int span, float (*acc)[16]) {
  constexpr int kGroups = kSpan / G;
  const int slice = span * (kSpan / 64), first_sum = span * kGroups;
  const auto start = [&]<int At>(int t, int ahead) INLINE_LAMBDA {
    const int tile = t + ahead / kGroups;
    if (tile < token_tiles) multiply<G, Unsigned, At>(s, tile, slice, ahead % kGroups);
  };
  for (int u = 0; u < kAhead; u += 4) {
    start.template operator()<0>(0, u);
    start.template operator()<1>(0, u + 1);
    start.template operator()<2>(0, u + 2);
    start.template operator()<3>(0, u + 3);
  }
  for (int t = 0; t < token_tiles; t++) {
    F part[16];
#pragma GCC unroll 16
    for (F& f : part) f = zero();
    const auto step = [&]<int At>(int g) INLINE_LAMBDA {
      start.template operator()<At>(t, g + kAhead);
      add_group<Min>(s, s.product[(t * kGroups + g) % kRing], t, g, first_sum + g, part);
    };
    for (int g = 0; g < kGroups; g += 4) {
      step.template operator()<0>(g);
      step.template operator()<1>(g + 1);
      step.template operator()<2>(g + 2);
      step.template operator()<3>(g + 3);
    }
#pragma GCC unroll 16
    for (int r = 0; r < 16; r++) store(acc[16 * t + r], fma(part[r], set1(s.scale[t][span][r]), load(acc[16 * t + r])));
  }
}

// What depends on the kind of weights; the rest is the same code for all of them.
struct Kind {
  const uint8_t* (*unpack)(Buffers&, const PackedMatrix&, const uint8_t*, int64_t, int);
  void (*multiply)(Buffers&, int, int, float (*)[16]);
  void (*begin)();
  int group;
  bool min;
};

// n <= 16 * kTokenTiles rows of activations times n_tiles <= kPass tiles of weights.
static void pass(Buffers& s, const Kind& kind, const LinearArgs& a, int64_t first_tile, int n_tiles, const LinearRow* rows, int n) {
  const PackedMatrix& m = *a.w;
  const int token_tiles = (n + 15) / 16;
  const uint8_t* at[kPass];
  for (int i = 0; i < n_tiles; i++) at[i] = reinterpret_cast<const uint8_t*>(m.tile(a.expert, first_tile + i));
  std::memset(s.acc, 0, sizeof s.acc[0] * static_cast<size_t>(n_tiles));
  for (int64_t k = 0; k < m.cols; k += kSlice) {
    const int inputs = smaller(kSlice, m.cols - k);
    gather(s, kind.group, kind.min, rows, n, k, inputs);
    for (int i = 0; i < n_tiles; i++)
      for (int at_input = 0; at_input < inputs; at_input += kSpan) {
        at[i] = kind.unpack(s, m, at[i], k + at_input, smaller(kSpan, inputs - at_input));
        kind.multiply(s, token_tiles, at_input / kSpan, s.acc[i]);
      }
  }
  for (int i = 0; i < n_tiles; i++)
    for (int t = 0; t < n; t++) write_row(m, (first_tile + i) * kTileRows, rows[t], load(s.acc[i][t]));
}
static void many(const Kind& kind, const LinearArgs& a) {
  Buffers& s = buffers();
  kind.begin();
  for (int r = 0; r < a.n; r += 16 * kTokenTiles)
    for (int64_t i = 0; i < a.n_tiles; i += kPass)
      pass(s, kind, a, a.first_tile + i, smaller(kPass, a.n_tiles - i), a.rows + r, smaller(16 * kTokenTiles, a.n - r));
  end_tiles();
}

// Rows beyond a.n repeat the first one.
template <PackCodes C, PackScales S, int G, int Offset, bool Signed, int T> static INLINE void few(const LinearArgs& a) {
  const LinearRow* rows[T];
  for (int t = 0; t < T; t++) rows[t] = a.rows + (t < a.n ? t : 0);
  for (int64_t i = a.first_tile; i < a.first_tile + a.n_tiles; i++) {
    F acc[T];
    few_rows<C, S, G, Offset, Signed, T>(*a.w, reinterpret_cast<const uint8_t*>(a.w->tile(a.expert, i)), rows, acc);
    for (int t = 0; t < T && t < a.n; t++) write_row(*a.w, i * kTileRows, a.rows[t], acc[t]);
  }
}

template <PackCodes C, PackScales S, int G, int Offset, bool Signed> static void linear(const LinearArgs& a) {
  static constexpr Kind kind{unpack_span<C, S, G, Offset, Signed>, span_products<G, Offset == -128, ScaleWord<S, G, Signed>::kMin>, begin_tiles<G>, G, ScaleWord<S, G, Signed>::kMin};
  if (!a.w->wide || a.rows[0].q_low) return avx512_kernels.integer[a.w->kernel](a);
  if (a.n == 1) return few<C, S, G, Offset, Signed, 1>(a);
  if (a.n <= kFewRows) return few<C, S, G, Offset, Signed, kFewRows>(a);
  many(kind, a);
}

template <PackCodes C, PackScales S, int G, int Offset, bool Signed> static constexpr LinearFn choose() {
  if constexpr (is_float(C)) return nullptr;
  else return linear<C, S, G, Offset, Signed>;
}
#define CALLA_TILED(c, s, g, o, z) choose<PackCodes::c, PackScales::s, g, o, z>(),
constexpr LinearFn kIntegerKernels[] = {CALLA_LINEAR_KINDS(CALLA_TILED)};

// As peak.inl, in tiles: four products in flight.
static int64_t int8_peak(int64_t rounds, float* sink) {
  alignas(64) int8_t x[16][64];
  for (int i = 0; i < 1024; i++) x[i / 64][i % 64] = static_cast<int8_t>(i % 7 - 3);
  begin_tiles<64>();
  tile_zero<0>(), tile_zero<1>(), tile_zero<2>(), tile_zero<3>();
  tile_load<4>(x), tile_load<5>(x), tile_load<6>(x), tile_load<7>(x);
  for (int64_t r = 0; r < rounds; r++) tile_dot<0, 4, 6, false>(), tile_dot<1, 4, 7, false>(), tile_dot<2, 5, 6, false>(), tile_dot<3, 5, 7, false>();
  tile_store<0>(x);
  end_tiles();
  int32_t sum;
  std::memcpy(&sum, x, 4);
  *sink = static_cast<float>(sum);
  return rounds * 4 * 16 * 16 * 64;
}
}  // namespace
}  // namespace cpu::CALLA_AMX

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace cpu {
const Kernels& CALLA_AMX_TABLE() {
  static const Kernels table = [] {
    Kernels k = avx512_kernels;
    k.name = "amx";
    k.wide = true;
    k.quantise = CALLA_AMX::quantise;
    k.int8_peak = CALLA_AMX::int8_peak;
    std::copy(std::begin(CALLA_AMX::kIntegerKernels), std::end(CALLA_AMX::kIntegerKernels), k.integer);
    return k;
  }();
  return table;
}
}  // namespace cpu
