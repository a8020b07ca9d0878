// amx: the integer linear kernels of prompts in AMX tiles; the rest is avx512's. Every result has the bits of avx512: integer sums
// are exact and each group is scaled by the same float operations in the same order.
#include "device/cpu/isa/common.h"
#include <algorithm>
#include <immintrin.h>
#include <memory>

namespace cpu::amx {
namespace {
// Fewer rows of activations are avx512's: most of a tile would be empty. Groups of 16 fill only a quarter of a tile in any case.
constexpr int least_rows(int group) { return group == 16 ? 64 : 8; }
constexpr int kSlice = 512;         // inputs worked on at a time: 16 rows of weights as bytes and their scales fit the first-level cache
constexpr int kPanel = 8, kPass = 16, kRing = 4;  // tiles of activations and of weights per pass, products in flight

// One thread's buffers for one slice of inputs.
struct Workspace {
  alignas(64) int8_t x[kPanel][kSlice / 64][16][64];            // activations: 16 rows x 64 inputs, one tile load each
  alignas(64) float scale[kPanel][16][kSlice / 16], sum[kPanel][16][kSlice / 16];  // per row and group of the slice
  alignas(64) int8_t w[kSlice / 4][64];                         // quads of one weight tile, offset taken off
  alignas(64) float w_scale[kSlice / 16][16], w_min[kSlice / 16][16];
  alignas(64) int32_t product[kRing][16][16];                   // [rows of activations][rows of weights]
  alignas(64) float acc[kPass][kPanel][16][16];
};
Workspace& workspace() {
  static thread_local const std::unique_ptr<Workspace> own = std::make_unique<Workspace>();
  return *own;
}
struct alignas(64) TileShapes {  // what LDTILECFG reads
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
}  // namespace
}  // namespace cpu::amx

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("amx-tile,amx-int8,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("amx-tile,amx-int8,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")
#endif

namespace cpu::amx {
namespace {
constexpr int kSignedBias = 0, kPrefetchBytes = 4608;
#include "device/cpu/isa/avx512.inl"
#include "device/cpu/unpack.inl"

static INLINE int smaller(int limit, int64_t n) { return n < limit ? static_cast<int>(n) : limit; }

// Tiles 0..3 hold products, 4 and 5 activations (16 rows x G inputs), 6 and 7 weights (G / 4 quads).
template <int G> static INLINE void shape_tiles() {
  TileShapes shapes;
  for (int i = 0; i < 4; i++) shapes.rows[i] = 16, shapes.row_bytes[i] = 64;
  for (int i = 4; i < 6; i++) shapes.rows[i] = 16, shapes.row_bytes[i] = G;
  for (int i = 6; i < 8; i++) shapes.rows[i] = G / 4, shapes.row_bytes[i] = 64;
  asm volatile("ldtilecfg %0" ::"m"(shapes));
}
// Tile instructions by number: the intrinsics of gcc take no template argument and do not say that they read memory.
template <int T> static INLINE void tile_zero() { asm volatile("tilezero %%tmm%c0" ::"i"(T)); }
template <int T> static INLINE void tile_load(const void* p) { asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(int64_t{64}), "i"(T) : "memory"); }
template <int T> static INLINE void tile_store(void* p) { asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(p), "r"(int64_t{64}), "i"(T) : "memory"); }
template <int T, int X, int W, bool Unsigned> static INLINE void tile_dot() {  // tile T += tile X times tile W
  if constexpr (Unsigned) asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(T), "i"(X), "i"(W));
  else asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(T), "i"(X), "i"(W));
}

// Inputs [k, k + inputs) of n rows and what belongs to their groups.
static INLINE void copy_floats(const float* from, int n, float* to) {
  for (int i = 0; i < n; i += 16) store_n(to + i, n - i < 16 ? n - i : 16, load_n(from + i, n - i < 16 ? n - i : 16));
}
template <int G> static INLINE void gather(Workspace& s, const LinearRow* rows, int n, int64_t k, int inputs) {
  for (int t = 0; t < n; t++) {
    const LinearRow& r = rows[t];
    int i = 0;
    for (; i + 64 <= inputs; i += 64) std::memcpy(s.x[t / 16][i / 64][t % 16], r.q + k + i, 64);
    if (i < inputs) std::memcpy(s.x[t / 16][i / 64][t % 16], r.q + k + i, 32);
    copy_floats(r.scale + k / G, inputs / G, s.scale[t / 16][t % 16]);
    copy_floats(r.sum + k / G, inputs / G, s.sum[t / 16][t % 16]);
  }
}

// The codes of one slice of a weight tile as bytes, less their offset. Offset -128 makes them unsigned, all others signed.
template <PackCodes C, PackScales S, int G, int Offset, bool Signed>
static INLINE const uint8_t* unpack_slice(Workspace& s, const PackedMatrix& m, const uint8_t* p, int64_t k, int inputs) {
  const int64_t first_group = k / G;
  return walk_blocks<C, S, G, Signed, true>(m, p, k, k + inputs, [&](const B* quads, F scale, F min, int64_t g, int64_t) INLINE_LAMBDA {
    const int64_t at = g - first_group;
    for (int q = 0; q < G / 4; q++) _mm512_store_si512(s.w[at * (G / 4) + q], _mm512_sub_epi8(quads[q].v, _mm512_set1_epi8(static_cast<char>(Offset))));
    store(s.w_scale[at], scale);
    if constexpr (ScaleWord<S, G, Signed>::kMin) store(s.w_min[at], min);
  });
}

// Starts group g of one token tile: 16 rows of activations times 16 rows of weights into product[At].
template <int G, bool Unsigned, int At> static INLINE void multiply(Workspace& s, int token_tile, int g) {
  tile_zero<At>();
  tile_load<4 + At % 2>(s.x[token_tile][g * G / 64][0] + g * G % 64);
  tile_load<6 + At % 2>(s.w[g * (G / 4)]);
  tile_dot<At, 4 + At % 2, 6 + At % 2, Unsigned>();
  tile_store<At>(s.product[At]);
}
template <bool Min, int At> static INLINE void add_group(const Workspace& s, int token_tile, int g, F (&acc)[16]) {
  const F scale = load(s.w_scale[g]), min = Min ? load(s.w_min[g]) : zero();
#pragma GCC unroll 16
  for (int t = 0; t < 16; t++) {
    acc[t] = fma(mul(to_float(_mm512_load_si512(s.product[At][t])), set1(s.scale[token_tile][t][g])), scale, acc[t]);
    if constexpr (Min) acc[t] = fma(min, set1(s.sum[token_tile][t][g]), acc[t]);
  }
}
// All groups of a slice; products run two groups ahead of the scaling.
template <int G, bool Unsigned, bool Min> static void token_tile_slice(Workspace& s, int token_tile, int groups, float (*sums)[16], bool fresh) {
  F acc[16];
#pragma GCC unroll 16
  for (int t = 0; t < 16; t++) acc[t] = fresh ? zero() : load(sums[t]);
  multiply<G, Unsigned, 0>(s, token_tile, 0);
  if (groups > 1) multiply<G, Unsigned, 1>(s, token_tile, 1);
  for (int g = 0; g < groups; g += 4) {
    if (g + 2 < groups) multiply<G, Unsigned, 2>(s, token_tile, g + 2);
    add_group<Min, 0>(s, token_tile, g, acc);
    if (g + 1 >= groups) break;
    if (g + 3 < groups) multiply<G, Unsigned, 3>(s, token_tile, g + 3);
    add_group<Min, 1>(s, token_tile, g + 1, acc);
    if (g + 2 >= groups) break;
    if (g + 4 < groups) multiply<G, Unsigned, 0>(s, token_tile, g + 4);
    add_group<Min, 2>(s, token_tile, g + 2, acc);
    if (g + 3 >= groups) break;
    if (g + 5 < groups) multiply<G, Unsigned, 1>(s, token_tile, g + 5);
    add_group<Min, 3>(s, token_tile, g + 3, acc);
  }
#pragma GCC unroll 16
  for (int t = 0; t < 16; t++) store(sums[t], acc[t]);
}

template <PackScales S, int G> static INLINE void write_tile(const PackedMatrix& m, int64_t first_row, const LinearRow* rows, int n, const float (*acc)[16]) {
  const int64_t left = m.rows - first_row;
  for (int t = 0; t < n; t++) {
    const F sum = load(acc[t]), y = S == PackScales::f16 && G == 16 ? mul(sum, set1(m.post_scale)) : sum;
    if (left >= kTileRows) store(rows[t].y + first_row, y);
    else store_n(rows[t].y + first_row, static_cast<int>(left), y);
  }
}

// n <= 16 * kPanel rows of activations times n_tiles <= kPass tiles of weights.
template <PackCodes C, PackScales S, int G, int Offset, bool Signed>
static void pass(Workspace& s, const LinearArgs& a, int64_t first_tile, int n_tiles, const LinearRow* rows, int n) {
  const PackedMatrix& m = *a.w;
  const int token_tiles = (n + 15) / 16;
  const uint8_t* at[kPass];
  for (int i = 0; i < n_tiles; i++) at[i] = reinterpret_cast<const uint8_t*>(m.tile(a.expert, first_tile + i));
  for (int64_t k = 0; k < m.cols; k += kSlice) {
    const int inputs = smaller(kSlice, m.cols - k);
    gather<G>(s, rows, n, k, inputs);
    for (int i = 0; i < n_tiles; i++) {
      at[i] = unpack_slice<C, S, G, Offset, Signed>(s, m, at[i], k, inputs);
      for (int t = 0; t < token_tiles; t++) token_tile_slice<G, Offset == -128, ScaleWord<S, G, Signed>::kMin>(s, t, inputs / G, s.acc[i][t], k == 0);
    }
  }
  for (int i = 0; i < n_tiles; i++)
    for (int t = 0; t < token_tiles; t++) write_tile<S, G>(m, (first_tile + i) * kTileRows, rows + 16 * t, smaller(16, n - 16 * t), s.acc[i][t]);
}

template <PackCodes C, PackScales S, int G, int Offset, bool Signed> static void linear(const LinearArgs& a) {
  if (a.n < least_rows(G)) return avx512_kernels.integer[a.w->kernel](a);
  Workspace& s = workspace();
  shape_tiles<G>();
  for (int r = 0; r < a.n; r += 16 * kPanel)
    for (int64_t i = 0; i < a.n_tiles; i += kPass)
      pass<C, S, G, Offset, Signed>(s, a, a.first_tile + i, smaller(kPass, a.n_tiles - i), a.rows + r, smaller(16 * kPanel, a.n - r));
  asm volatile("tilerelease");
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
  shape_tiles<64>();
  tile_zero<0>(), tile_zero<1>(), tile_zero<2>(), tile_zero<3>();
  tile_load<4>(x), tile_load<5>(x), tile_load<6>(x), tile_load<7>(x);
  for (int64_t r = 0; r < rounds; r++) tile_dot<0, 4, 6, false>(), tile_dot<1, 4, 7, false>(), tile_dot<2, 5, 6, false>(), tile_dot<3, 5, 7, false>();
  tile_store<0>(x);
  asm volatile("tilerelease");
  int32_t sum;
  std::memcpy(&sum, x, 4);
  *sink = static_cast<float>(sum);
  return rounds * 4 * 16 * 16 * 64;
}
}  // namespace
}  // namespace cpu::amx

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace cpu {
const Kernels& amx_kernels() {
  static const Kernels table = [] {
    Kernels k = avx512_kernels;
    k.name = "amx";
    k.int8_peak = amx::int8_peak;
    std::copy(std::begin(amx::kIntegerKernels), std::end(amx::kIntegerKernels), k.integer);
    return k;
  }();
  return table;
}
}  // namespace cpu
