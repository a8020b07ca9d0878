// attention_flash: attention of sequences with several rows. A block is 128 pairs of (position, query head) of one kv head, so that all its query heads
// share each tile of keys and values; a warp has 16 of them. Before it queries are normed, rotated and made halves, and keys and values appended.
#include "device/cuda/attention.cuh"

namespace cuda {
namespace {
using namespace attention;

constexpr int kThreads = 256;

constexpr int kHeadsAtOnce = 3;  // of a warp

template <int D> __device__ __forceinline__ void put_query(const PrepareArgs& a, const Head<D>& head, int row, int t) {
#pragma unroll
  for (int j = 0; j < Head<D>::kQuads; j++) {
    const __half h[4] = {saturated(head.v[j].x), saturated(head.v[j].y), saturated(head.v[j].z), saturated(head.v[j].w)};
    if (Head<D>::at(j) < a.cache.key_dim) *reinterpret_cast<uint2*>(a.to + (static_cast<int64_t>(row) * a.n_heads + t) * a.cache.key_dim + Head<D>::at(j)) = *reinterpret_cast<const uint2*>(h);
  }
}

// Block (row); a warp takes heads in turns: first of queries, then of keys, then of values. All it reads is asked for before any of it is used.
template <int D, bool Int8> __global__ void __launch_bounds__(kThreads, 4) prepare(const PrepareArgs a) {
  __shared__ alignas(16) float angles[D], scratch[kThreads / 32][D];
  constexpr int warps = kThreads / 32;
  wait_for_input();
  let_next_start();
  const int row = blockIdx.x, warp = threadIdx.x >> 5, dim = a.cache.key_dim, n_kv = a.k ? a.cache.n_kv_heads : 0, n = a.n_heads + 2 * n_kv;
  const auto source = [&](int t) {
    if (t < a.n_heads) return a.q + static_cast<int64_t>(row) * a.q_stride + t * dim;
    return t < a.n_heads + n_kv ? a.k + static_cast<int64_t>(row) * a.k_stride + (t - a.n_heads) * dim : a.v + static_cast<int64_t>(row) * a.v_stride + (t - a.n_heads - n_kv) * dim;
  };
  Head<D> head[kHeadsAtOnce], q_gain;
  const auto load = [&](int first) {
#pragma unroll
    for (int i = 0; i < kHeadsAtOnce; i++)
      if (first + i * warps < n) head[i].load(source(first + i * warps), dim);
  };
  load(warp);
  q_gain.load_gain(a.prepare.q_gain, dim);
  const SequenceOnDevice s = a.step.sequences[a.step.row_sequence[row]];
  const int32_t index = s.past + row - s.first_row, page = n_kv > 0 ? a.step.pages[s.pages + index / a.cache.page_tokens] : 0, token = index % a.cache.page_tokens;
  if (s.n_rows == 1) return;
  fill_angles(a.prepare, a.step.positions[row], angles, static_cast<int>(threadIdx.x), kThreads);
  __syncthreads();
  for (int first = warp; first < n; first += kHeadsAtOnce * warps) {
    if (first > warp) load(first);
#pragma unroll
    for (int i = 0; i < kHeadsAtOnce; i++) {
      const int t = first + i * warps;
      if (t >= n) continue;
      const bool is_query = t < a.n_heads, is_key = !is_query && t < a.n_heads + n_kv;
      if (is_query && a.prepare.norm_q) head[i].norm(q_gain, dim, a.prepare.eps);
      if (is_key ? a.prepare.norm_k : !is_query && a.prepare.norm_v) {
        Head<D> gain;
        gain.load_gain(is_key ? a.prepare.k_gain : nullptr, dim);
        head[i].norm(gain, dim, a.prepare.eps);
      }
      if (is_query || is_key) head[i].rotate(a.prepare, angles, scratch[warp]);
      if (is_query) put_query(a, head[i], row, t);
      else head[i].store(CacheRows<Int8>(a.cache, (t - a.n_heads) % n_kv), is_key ? a.cache.keys : a.cache.values, page, token);
    }
  }
}

// Address of 16 bytes of a row: pieces are exchanged by the row's number, so that eight rows of one column lie in different banks.
template <int D> __device__ __forceinline__ uint32_t piece_at(uint32_t base, int row, int piece) { return base + row * (2 * D) + ((piece ^ (row & 7)) << 4); }

template <int D, int Keys, bool Int8> struct Flash {
  static constexpr int kPieces = D / 8, kQueryBytes = kFlashRows * D * 2, kTileBytes = Keys * D * 2, kSharedBytes = kQueryBytes + 2 * kTileBytes;

  static __device__ void load_queries(const FlashAttentionArgs& a, const FlashTile& t, uint32_t to, int kv_head, int group) {
    const int dim = a.cache.key_dim;
#pragma unroll 4
    for (int i = threadIdx.x; i < kFlashRows * kPieces; i += kThreads) {
      const int r = i / kPieces, piece = i % kPieces, position = r / group;
      copy16(piece_at<D>(to, r, piece), a.q + (static_cast<int64_t>(t.sequence.first_row + t.first + position) * a.n_heads + kv_head * group + r % group) * dim + piece * 8, position < t.n && piece * 8 < dim);
    }
  }
  // Keys first to first + Keys - 1, zeros from `end` on.
  static __device__ void load_tile(const CacheRows<Int8>& rows, void* data, const int32_t* pages, int32_t first, int32_t end, uint32_t to) {
    constexpr int pieces = Int8 ? D / 16 : D / 8;
#pragma unroll
    for (int i = threadIdx.x; i < Keys * pieces; i += kThreads) {
      const int r = i / pieces, piece = i % pieces, key = first + r;
      const bool valid = key < end && piece * 16 < rows.dim * CacheRows<Int8>::kBytes;
      const int32_t page = pages[min(key, end - 1) / rows.page_tokens], token = key % rows.page_tokens;
      const uint8_t* from = rows.row(data, page, token) + piece * 16;
      if constexpr (Int8) {
        const uint4 codes = valid ? *reinterpret_cast<const uint4*>(from) : uint4{};
        const float scale = valid ? *rows.scale(data, page, token) : 0.0f;
        put_codes(codes.x, codes.y, scale, piece_at<D>(to, r, 2 * piece)), put_codes(codes.z, codes.w, scale, piece_at<D>(to, r, 2 * piece + 1));
      } else {
        copy16(piece_at<D>(to, r, piece), from, valid);
      }
    }
    commit_copies();
  }
};

// Scores of a warp's 16 rows against a tile: tile n of 8 keys has rows lane / 4 and + 8, columns 2 * (lane % 4) and + 1.
template <int D, int Keys> __device__ __forceinline__ void score_tile(uint32_t queries, uint32_t keys, float (&s)[Keys / 8][4]) {
  const int lane = threadIdx.x & 31, row = (threadIdx.x >> 5) * 16 + lane % 16;
#pragma unroll
  for (int n = 0; n < Keys / 8; n++) s[n][0] = s[n][1] = s[n][2] = s[n][3] = 0;
#pragma unroll
  for (int k = 0; k < D / 16; k++) {
    uint32_t q[4];
    load_matrices(q, piece_at<D>(queries, row, 2 * k + lane / 16));
#pragma unroll
    for (int n = 0; n < Keys / 16; n++) {
      uint32_t b[4];
      load_matrices(b, piece_at<D>(keys, 16 * n + lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2));
      multiply(s[2 * n], q[0], q[1], q[2], q[3], b[0], b[1]), multiply(s[2 * n + 1], q[0], q[1], q[2], q[3], b[2], b[3]);
    }
  }
}
template <int D, int Keys> __device__ __forceinline__ void add_tile(uint32_t values, const float (&p)[Keys / 8][4], float (&sums)[D / 2]) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int k = 0; k < Keys / 16; k++) {
    const uint32_t a[4] = {pack(p[2 * k][0], p[2 * k][1]), pack(p[2 * k][2], p[2 * k][3]), pack(p[2 * k + 1][0], p[2 * k + 1][1]), pack(p[2 * k + 1][2], p[2 * k + 1][3])};
#pragma unroll
    for (int m = 0; m < D / 16; m++) {
      uint32_t b[4];
      load_transposed(b, piece_at<D>(values, 16 * k + lane % 8 + lane / 8 % 2 * 8, 2 * m + lane / 16));
      multiply(sums + 8 * m, a[0], a[1], a[2], a[3], b[0], b[1]), multiply(sums + 8 * m + 4, a[0], a[1], a[2], a[3], b[2], b[3]);
    }
  }
}

template <int D, int Keys, bool Int8> __global__ void __launch_bounds__(kThreads) flash_attention(const FlashAttentionArgs a) {
  using F = Flash<D, Keys, Int8>;
  extern __shared__ __align__(128) uint8_t bytes[];
  wait_for_input();
  let_next_start();
  const int kv_head = blockIdx.x, group = a.n_heads / a.cache.n_kv_heads, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  FlashTile t;
  if (!find_tile(a, kFlashRows / group, t)) return;
  const uint32_t queries = shared_address(bytes), keys = queries + F::kQueryBytes, values = keys + F::kTileBytes;
  const CacheRows<Int8> rows(a.cache, kv_head);
  const int32_t* pages = a.step.pages + t.sequence.pages;
  const int32_t begin = t.begin / Keys * Keys;
  F::load_queries(a, t, queries, kv_head, group);
  F::load_tile(rows, a.cache.keys, pages, begin, t.end, keys);
  // Keys [low, high) count for each of the two rows of this lane.
  int32_t low[2], high[2];
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int32_t index = t.index(min((warp * 16 + lane / 4 + 8 * i) / group, t.n - 1));
    low[i] = a.window > 0 ? max(0, index + 1 - a.window) : 0, high[i] = a.causal ? index + 1 : t.end;
  }
  const int32_t clear_from = a.window > 0 ? max(0, t.index(t.n) - a.window) : 0, clear_to = a.causal ? t.index(0) + 1 : t.end;  // where all rows see all keys
  const float scale = a.scale * kLog2e;
  float sums[D / 2] = {}, s[Keys / 8][4], peak[2] = {-INFINITY, -INFINITY}, sum[2] = {};
  for (int32_t first = begin; first < t.end; first += Keys) {
    wait_copies<0>();
    __syncthreads();
    F::load_tile(rows, a.cache.values, pages, first, t.end, values);
    score_tile<D, Keys>(queries, keys, s);
    __syncthreads();
    if (first + Keys < t.end) F::load_tile(rows, a.cache.keys, pages, first + Keys, t.end, keys);
    else commit_copies();
    if (first < clear_from || first + Keys > clear_to) {
#pragma unroll
      for (int n = 0; n < Keys / 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
          const int32_t key = first + 8 * n + lane % 4 * 2 + i % 2;
          if (key < low[i / 2] || key >= high[i / 2]) s[n][i] = -INFINITY;
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
      float top = -INFINITY;
#pragma unroll
      for (int n = 0; n < Keys / 8; n++) top = fmaxf(top, fmaxf(s[n][2 * i], s[n][2 * i + 1]));
      top = fmaxf(top, __shfl_xor_sync(kFull, top, 1)), top = fmaxf(top, __shfl_xor_sync(kFull, top, 2));
      top = fmaxf(peak[i], top * scale);
      const float base = top == -INFINITY ? 0.0f : top, keep = exp2_of(peak[i] - base);
      peak[i] = top, sum[i] *= keep;
#pragma unroll
      for (int n = 0; n < Keys / 8; n++) {
        s[n][2 * i] = exp2_of(fmaf(s[n][2 * i], scale, -base)), s[n][2 * i + 1] = exp2_of(fmaf(s[n][2 * i + 1], scale, -base));
        sum[i] += s[n][2 * i] + s[n][2 * i + 1];
      }
#pragma unroll
      for (int m = 0; m < D / 8; m++) sums[4 * m + 2 * i] *= keep, sums[4 * m + 2 * i + 1] *= keep;
    }
    wait_copies<1>();
    __syncthreads();
    add_tile<D, Keys>(values, s, sums);
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    sum[i] += __shfl_xor_sync(kFull, sum[i], 1), sum[i] += __shfl_xor_sync(kFull, sum[i], 2);
    const int r = warp * 16 + lane / 4 + 8 * i, position = r / group;
    if (position >= t.n) continue;
    put_row(a, sums, i, 1.0f / sum[i], t.sequence.first_row + t.first + position, kv_head * group + r % group);
  }
}

template <int D, int Keys, bool Int8> AttentionKernel flash_kernel() { return {reinterpret_cast<const void*>(flash_attention<D, Keys, Int8>), kThreads, Flash<D, Keys, Int8>::kSharedBytes}; }
template <bool Int8> AttentionKernel flash_kernel_of(int32_t dim) {
  if (dim <= 64) return flash_kernel<64, 64, Int8>();
  return dim <= 128 ? flash_kernel<128, 64, Int8>() : flash_kernel<256, 32, Int8>();
}
template <int D> AttentionKernel prepare_kernel_of(KvType type) { return {type == KvType::int8 ? reinterpret_cast<const void*>(prepare<D, true>) : reinterpret_cast<const void*>(prepare<D, false>), kThreads, 0}; }

}  // namespace

AttentionKernel hopper_attention_kernel(const CacheOnDevice& cache, KvType type);

AttentionKernel flash_attention_kernel(const CacheOnDevice& cache, KvType type, int32_t n_heads, int compute_capability) {
  if (!attends_fast(cache, type) || cache.key_dim > 256 || n_heads % cache.n_kv_heads != 0 || n_heads / cache.n_kv_heads > kFlashRows) return {};
  if (compute_capability == 90)
    if (const AttentionKernel k = hopper_attention_kernel(cache, type); k.kernel) return k;
  return type == KvType::int8 ? flash_kernel_of<true>(cache.key_dim) : flash_kernel_of<false>(cache.key_dim);
}
AttentionKernel prepare_kernel(const CacheOnDevice& cache, KvType type) {
  if (!attends_fast(cache, type) || cache.key_dim > 256) return {};
  return cache.key_dim <= 128 ? prepare_kernel_of<128>(type) : prepare_kernel_of<256>(type);
}

}  // namespace cuda
