// amx: the integer linear kernels in AMX tiles, a whole translation unit (amx.cpp, and its emulated twin in tests/device), for activations with one scale per 256 inputs (span.inl); everything else is avx512's.
// A row's result has the same bits whether it is computed alone, in vector registers, or among others, in tiles.
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
constexpr int kFewRows = 4;                // at most so many are computed in vector registers

// One thread's buffers.
struct Workspace {
  alignas(64) int8_t x[kTokenTiles][kSlice / 64][16][64];       // activations: 16 rows x 64 inputs, one tile load each
  alignas(64) float scale[kTokenTiles][kSlice / 256][16], half[kTokenTiles][kSlice / 256][16];  // per span and row
  alignas(64) float sum[kTokenTiles][kSlice / 16][16];          // per group and row
  alignas(64) int8_t w[2][4][16][64];                           // two spans of one weight tile: one is multiplied, one unpacked
  alignas(64) int32_t product[2][4][16][16];                    // [tile of activations][row][row of weights]
  alignas(64) float acc[kPass][kTokenTiles * 16][16];
};
Workspace& workspace() {
  static thread_local const std::unique_ptr<Workspace> own = std::make_unique<Workspace>();
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
constexpr int kSignedBias = 0, kPrefetchBytes = 4608;
#include "device/cpu/isa/avx512.inl"
#include "device/cpu/unpack.inl"
#include "device/cpu/isa/span.inl"
#include "device/cpu/isa/tiles.inl"

static INLINE int smaller(int limit, int64_t n) { return n < limit ? static_cast<int>(n) : limit; }

// Inputs [k, k + inputs) of n rows as tiles, and what belongs to their spans and groups; rows up to the tile's end are zero.
static void gather(Workspace& s, int group, bool min, const LinearRow* rows, int n, int64_t k, int inputs) {
  const int spans = (inputs + kSpan - 1) / kSpan;
  for (int t = 0; t < (n + 15) / 16 * 16; t++) {
    const LinearRow& r = rows[t < n ? t : 0];
    for (int i = 0; i < spans; i++) {
      const int64_t at = k / kSpan + i;
      s.scale[t / 16][i][t % 16] = t < n ? r.scale[at] : 0;
      s.half[t / 16][i][t % 16] = t < n ? half_sum(r.scale[at], r.isum[at]) : 0;
    }
    if (min)
      for (int g = 0; g < inputs / group; g++) s.sum[t / 16][g][t % 16] = t < n ? r.sum[k / group + g] : 0;
    if (t >= n) continue;
    int i = 0;
    for (; i + 64 <= inputs; i += 64) std::memcpy(s.x[t / 16][i / 64][t % 16], r.q + k + i, 64);
    if (i < inputs) std::memcpy(s.x[t / 16][i / 64][t % 16], r.q + k + i, 32);  // the other half meets zeros
  }
}

// Products of token tiles [first, first + N) with one span of weights.
template <int N> static INLINE void multiply(Workspace& s, int first, int slice, const int8_t (*w)[16][64], int slices) {
  const auto each = [&](auto f) INLINE_LAMBDA {
    f.template operator()<0>();
    if constexpr (N > 1) f.template operator()<1>();
    if constexpr (N > 2) f.template operator()<2>();
    if constexpr (N > 3) f.template operator()<3>();
  };
  each([]<int T>() INLINE_LAMBDA { tile_zero<T>(); });
  for (int i = 0; i < slices; i++) {
    tile_load<6>(w[i]);
    each([&]<int T>() INLINE_LAMBDA {
      tile_load<4 + T % 2>(s.x[first + T][slice + i]);
      tile_dot<T, 4 + T % 2, 6>();
    });
  }
}
template <int N> static INLINE void keep(int32_t (*product)[16][16]) {
  tile_store<0>(product[0]);
  if constexpr (N > 1) tile_store<1>(product[1]);
  if constexpr (N > 2) tile_store<2>(product[2]);
  if constexpr (N > 3) tile_store<3>(product[3]);
}

// One product waits to be scaled while the next is multiplied.
struct Pending { const int32_t (*product)[16][16]; const Span* span; int first = 0, n = 0, index = 0, group = 0, groups = 0; };
template <bool Min> static INLINE void add_pending(const Workspace& s, const Pending& p, float (*acc)[16]) {
  for (int t = 0; t < p.n; t++)
    for (int r = 0; r < 16; r++) {
      float* to = acc[(p.first + t) * 16 + r];
      store(to, add_span<Min>(*p.span, p.groups, _mm512_load_si512(p.product[t][r]), s.scale[p.first + t][p.index][r], s.half[p.first + t][p.index][r],
                              &s.sum[p.first + t][p.group][r], 16, load(to)));
    }
}

// Chunks [begin, end) of a span as quads.
template <PackCodes C, int G> static void unpack_chunks(const Span& span, int begin, int end, int8_t (*w)[16][64]) {
  for (int c = begin; c < end; c++)
    each_quad<C, G>(span, c, [&](int q, __m512i bytes) INLINE_LAMBDA { _mm512_store_si512(w[c / 2][c % 2 * 8 + q], bytes); });
}
// What depends on the kind of weights; the rest is the same code for all of them.
struct Kind {
  const uint8_t* (*read)(const PackedMatrix&, const uint8_t*, int, Span&);
  void (*unpack)(const Span&, int, int, int8_t (*)[16][64]);
  int group;
  bool min;
};

// All gathered rows times one slice of one weight tile whose first block is at p; returns the next slice's.
template <bool Min> static const uint8_t* tile_slice(Workspace& s, const Kind& kind, const PackedMatrix& m, const uint8_t* p, int inputs, int token_tiles, float (*acc)[16]) {
  const int spans = (inputs + kSpan - 1) / kSpan, turns = (token_tiles + 3) / 4;
  const auto chunks_of = [&](int i) { return smaller(kSpan, inputs - i * kSpan) / 32; };
  Span span[2];
  const auto read = [&](int i) INLINE_LAMBDA {
    const int chunks = chunks_of(i);
    p = kind.read(m, p, chunks * 32, span[i & 1]);
    if (chunks % 2) std::memset(s.w[i & 1][chunks / 2][8], 0, 512);
  };
  read(0);
  kind.unpack(span[0], 0, chunks_of(0), s.w[0]);
  Pending pending;
  int slot = 0;
  for (int i = 0; i < spans; i++)
    for (int turn = 0; turn < turns; turn++, slot ^= 1) {
      const int first = 4 * turn, n = smaller(4, token_tiles - first), slices = (chunks_of(i) + 1) / 2;
      const auto run = [&]<int N>() INLINE_LAMBDA {  // tiles multiply while vector registers scale the last products and unpack the next span
        multiply<N>(s, first, i * (kSpan / 64), s.w[i & 1], slices);
        if (pending.n) add_pending<Min>(s, pending, acc);
        if (i + 1 < spans) {
          if (turn == 0) read(i + 1);
          const int chunks = chunks_of(i + 1);
          kind.unpack(span[(i + 1) & 1], chunks * turn / turns, chunks * (turn + 1) / turns, s.w[(i + 1) & 1]);
        }
        keep<N>(s.product[slot]);
      };
      if (n == 4) run.template operator()<4>();
      else if (n == 3) run.template operator()<3>();
      else if (n == 2) run.template operator()<2>();
      else run.template operator()<1>();
      pending = {s.product[slot], &span[i & 1], first, n, i, i * kSpan / kind.group, chunks_of(i) * 32 / kind.group};
    }
  add_pending<Min>(s, pending, acc);
  return p;
}

static INLINE void write(const PackedMatrix& m, int64_t first_row, const LinearRow& row, F sum) {
  const F y = m.layout.scales == PackScales::f16 && m.layout.group == 16 ? mul(sum, set1(m.post_scale)) : sum;
  const int64_t left = m.rows - first_row;
  if (left >= kTileRows) store(row.y + first_row, y);
  else store_n(row.y + first_row, static_cast<int>(left), y);
}

// n <= 16 * kTokenTiles rows of activations times n_tiles <= kPass tiles of weights.
static void pass(Workspace& s, const Kind& kind, const LinearArgs& a, int64_t first_tile, int n_tiles, const LinearRow* rows, int n) {
  const PackedMatrix& m = *a.w;
  const int token_tiles = (n + 15) / 16;
  const uint8_t* at[kPass];
  for (int i = 0; i < n_tiles; i++) at[i] = reinterpret_cast<const uint8_t*>(m.tile(a.expert, first_tile + i));
  std::memset(s.acc, 0, sizeof s.acc[0] * static_cast<size_t>(n_tiles));
  for (int64_t k = 0; k < m.cols; k += kSlice) {
    const int inputs = smaller(kSlice, m.cols - k);
    gather(s, kind.group, kind.min, rows, n, k, inputs);
    for (int i = 0; i < n_tiles; i++)
      at[i] = kind.min ? tile_slice<true>(s, kind, m, at[i], inputs, token_tiles, s.acc[i]) : tile_slice<false>(s, kind, m, at[i], inputs, token_tiles, s.acc[i]);
  }
  for (int i = 0; i < n_tiles; i++)
    for (int t = 0; t < n; t++) write(m, (first_tile + i) * kTileRows, rows[t], load(s.acc[i][t]));
}
static void many(const Kind& kind, const LinearArgs& a) {
  Workspace& s = workspace();
  begin_tiles();
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
    for (int t = 0; t < T && t < a.n; t++) write(*a.w, i * kTileRows, a.rows[t], acc[t]);
  }
}

template <PackCodes C, PackScales S, int G, int Offset, bool Signed> static void linear(const LinearArgs& a) {
  static constexpr Kind kind{read_span<C, S, G, Offset, Signed>, unpack_chunks<C, G>, G, has_min<C, S, G, Offset, Signed>()};
  if (!a.w->wide) return avx512_kernels.integer[a.w->kernel](a);
  if (a.n == 1) return few<C, S, G, Offset, Signed, 1>(a);
  if (a.n <= kFewRows) return few<C, S, G, Offset, Signed, kFewRows>(a);
  many(kind, a);
}

// One scale per 256 inputs; integer sums per 256, float sums per group.
static void quantise(const QuantiseArgs& a) {
  if (!is_wide(a.variant)) return avx512_kernels.quantise(a);
  const int group = group_of(a.variant);
  for (int64_t k = 0, s = 0; k < a.cols; k += kSpan, s++) {
    const int64_t n = a.cols - k < kSpan ? a.cols - k : kSpan;
    F peak = zero();
    for (int64_t i = k; i < k + n; i += 16) peak = max(peak, abs(load(a.x + i)));
    const float top = hmax(peak), inverse = top > 0 ? 127.0f / top : 0.0f;
    a.scale[s] = top / 127.0f;
    a.isum[s] = 0;
    for (int64_t i = k; i < k + n; i += group) {
      I sum = set1_i(0);
      for (int j = 0; j < group; j += 16) {
        const I q = _mm512_max_epi32(round_to_int(mul(load(a.x + i + j), set1(inverse))), set1_i(-127));
        store_s8(a.q + i + j, q);
        sum = add_i(sum, q);
      }
      const int32_t total = _mm512_reduce_add_epi32(sum);
      a.isum[s] += total;
      a.sum[i / group] = a.scale[s] * static_cast<float>(total);
    }
  }
}

template <PackCodes C, PackScales S, int G, int Offset, bool Signed> static constexpr LinearFn choose() {
  if constexpr (is_float(C)) return nullptr;
  else return linear<C, S, G, Offset, Signed>;
}
#define CALLA_TILED(c, s, g, o, z) choose<PackCodes::c, PackScales::s, g, o, z>(),
constexpr LinearFn kIntegerKernels[] = {CALLA_LINEAR_KINDS(CALLA_TILED)};
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
    std::copy(std::begin(CALLA_AMX::kIntegerKernels), std::end(CALLA_AMX::kIntegerKernels), k.integer);
    return k;
  }();
  return table;
}
}  // namespace cpu
