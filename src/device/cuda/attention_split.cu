// attention_split: attention of sequences with one row each. A block is one sequence, up to 8 query heads of one kv head, and one split of the context:
// keys go through tensor cores as the 16 rows, query heads as the 8 columns, so that keys and values are read once. Splits are folded by a second kernel.
#include "device/cuda/attention_tiles.cuh"

namespace cuda {
namespace {
using namespace attention;

// Queries of the block into shared memory, and where the row's own key and value belong to this split, those into the cache too.
template <class S> __device__ __forceinline__ void prepare_heads(const SplitAttentionArgs& a, Shared<S>& shared, int row, int first_head, int n, int kv_head, bool own, int32_t page, int32_t token, const Head<S::D>& q_gain, const Head<S::D>& k_gain) {
  using H = Head<S::D>;
  constexpr int items = (kGroupHeads + 2 + S::W - 1) / S::W;
  const int warp = threadIdx.x >> 5, dim = a.cache.key_dim;
  H head[items];
#pragma unroll
  for (int i = 0; i < items; i++) {
    const int t = warp + i * S::W;
    const float* x = t < kGroupHeads ? a.q + static_cast<int64_t>(row) * a.q_stride + (first_head + t) * dim : t == kGroupHeads ? a.k + static_cast<int64_t>(row) * a.k_stride + kv_head * dim : a.v + static_cast<int64_t>(row) * a.v_stride + kv_head * dim;
    head[i].load(x, t < n || (own && t >= kGroupHeads && t < kGroupHeads + 2) ? dim : 0);
  }
#pragma unroll
  for (int i = 0; i < items; i++) {
    const int t = warp + i * S::W;
    if (t < kGroupHeads) {
      if (a.prepare.norm_q) head[i].norm(q_gain, dim, a.prepare.eps);
      head[i].rotate(a.prepare, shared.angles, shared.scratch[warp]);
#pragma unroll
      for (int j = 0; j < H::kQuads; j++) {
        if (H::at(j) >= S::D) continue;
        uint8_t* to = shared.queries[t] + query_at<S>(H::at(j));
        *reinterpret_cast<__half2*>(to) = __halves2half2(saturated(head[i].v[j].x), saturated(head[i].v[j].y));
        *reinterpret_cast<__half2*>(to + (S::Int8 ? 16 : 4)) = __halves2half2(saturated(head[i].v[j].z), saturated(head[i].v[j].w));
      }
    } else if (own && t < kGroupHeads + 2) {
      const bool is_key = t == kGroupHeads;
      if (is_key && a.prepare.norm_k) head[i].norm(k_gain, dim, a.prepare.eps);
      if (is_key) head[i].rotate(a.prepare, shared.angles, shared.scratch[warp]);
      if (!is_key && a.prepare.norm_v) {
        H ones;
        ones.load_gain(nullptr, dim);
        head[i].norm(ones, dim, a.prepare.eps);
      }
      head[i].store(CacheRows<S::Int8>(a.cache, kv_head), is_key ? a.cache.keys : a.cache.values, page, token);
#pragma unroll
      for (int j = 0; j < H::kQuads; j++)
        if (H::at(j) < S::D) *reinterpret_cast<float4*>((is_key ? shared.key : shared.value) + H::at(j)) = head[i].v[j];
    }
  }
}

// Scores of the row's own key, which no tile has.
template <class S> __device__ __forceinline__ void score_own(Shared<S>& shared, float scale) {
  for (int h = threadIdx.x >> 5; h < kGroupHeads; h += S::W) {
    float dot = 0;
#pragma unroll
    for (int j = 0; j < Head<S::D>::kQuads; j++) {
      const int d = Head<S::D>::at(j);
      if (d >= S::D) continue;
      const uint8_t* q = shared.queries[h] + query_at<S>(d);
      const float2 low = __half22float2(*reinterpret_cast<const __half2*>(q)), high = __half22float2(*reinterpret_cast<const __half2*>(q + (S::Int8 ? 16 : 4)));
      const float4 k = *reinterpret_cast<const float4*>(shared.key + d);
      dot += low.x * k.x + low.y * k.y + high.x * k.z + high.y * k.w;
    }
    dot = warp_sum(dot);
    if ((threadIdx.x & 31) == 0) shared.own[h] = dot * scale;
  }
}

// Softmax of a warp's heads over tiles, lanes along keys: peak and sum, in powers of two, of a head.
template <class S> struct Weights {
  static constexpr int kHeads = kGroupHeads / S::W, kEach = S::kKeys / 32;
  float peak[kHeads], sum[kHeads] = {};
  __device__ Weights() {
#pragma unroll
    for (int i = 0; i < kHeads; i++) peak[i] = -INFINITY;
  }
  __device__ __forceinline__ void weigh(Shared<S>& shared, int32_t tile, int32_t first, int32_t begin, int32_t end, float scale) {
    const int lane = threadIdx.x & 31;
    const float(*scores)[kGroupHeads][S::kScoreRow] = shared.scores;
#pragma unroll
    for (int i = 0; i < kHeads; i++) {
      const int head = (threadIdx.x >> 5) + i * S::W;
      float v[kEach], top = -INFINITY;
#pragma unroll
      for (int e = 0; e < kEach; e++) {
        const int key = lane + 32 * e;
        v[e] = scores[0][head][key];
#pragma unroll
        for (int part = 1; part < S::kParts; part++) v[e] += scores[part][head][key];
        v[e] = first + key >= begin && first + key < end ? v[e] * scale : -INFINITY;
        top = fmaxf(top, v[e]);
      }
      top = fmaxf(peak[i], warp_max(top));  // finite: a tile has at least one key that counts
      const float keep = exp2_of(peak[i] - top);
      peak[i] = top, sum[i] *= keep;
#pragma unroll
      for (int e = 0; e < kEach; e++) {
        const float weight = exp2_of(v[e] - top);
        sum[i] += weight;
        shared.weights[head][lane + 32 * e] = __float2half_rn(S::Int8 ? weight * shared.value_scale[tile % S::R][lane + 32 * e] : weight);
      }
      if (lane == 0) shared.keep[head] = keep;
    }
  }
  __device__ __forceinline__ void publish(Shared<S>& shared) {
#pragma unroll
    for (int i = 0; i < kHeads; i++) {
      const float all = warp_sum(sum[i]);
      if ((threadIdx.x & 31) == 0) shared.peak[(threadIdx.x >> 5) + i * S::W] = peak[i], shared.sum[(threadIdx.x >> 5) + i * S::W] = all;
    }
  }
};

// What a warp has of the sums: [block of 16 dims][rows lane / 4 and + 8 (of integers 2 * (lane / 4) and + 1), heads 2 * (lane % 4) and + 1].
template <class S> struct Sums {
  static constexpr int kBlocks = S::kWarpDims / 16;
  float v[kBlocks][4] = {};

  __device__ __forceinline__ void add(const Shared<S>& shared, int32_t tile) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, slot = tile % S::R;
    uint32_t b[S::Slabs][2];
#pragma unroll
    for (int s = 0; s < S::Slabs; s += 2) {
      uint32_t r[4];
      load_matrices(r, shared_address(&shared.weights[lane & 7][16 * s + lane / 8 * 8]));
      b[s][0] = r[0], b[s][1] = r[1], b[s + 1][0] = r[2], b[s + 1][1] = r[3];
    }
    const float2 keep = *reinterpret_cast<const float2*>(&shared.keep[lane % 4 * 2]);
#pragma unroll
    for (int m = 0; m < kBlocks; m++) v[m][0] *= keep.x, v[m][1] *= keep.y, v[m][2] *= keep.x, v[m][3] *= keep.y;
    if constexpr (S::Int8) {
      const uint32_t at = shared_address(shared.values[slot][lane] + warp * S::kWarpDims);
#pragma unroll
      for (int s = 0; s < S::Slabs; s += 2)
#pragma unroll
        for (int m = 0; m < kBlocks; m++) {
          uint32_t r[4];
          load_transposed(r, at + s * 16 * S::kRowBytes + 16 * m);
#pragma unroll
          for (int i = 0; i < 4; i++) r[i] ^= 0x80808080u;
#pragma unroll
          for (int i = 0; i < 2; i++)
            multiply(v[m], two_codes<0x4240>(r[2 * i]), two_codes<0x4341>(r[2 * i]), two_codes<0x4240>(r[2 * i + 1]), two_codes<0x4341>(r[2 * i + 1]), b[s + i][0], b[s + i][1]);
        }
    } else {
      const uint32_t at = shared_address(shared.values[slot][lane % 8 + lane / 16 * 8] + warp * S::kWarpDims * 2 + lane / 8 % 2 * 16);
#pragma unroll
      for (int s = 0; s < S::Slabs; s++)
#pragma unroll
        for (int m = 0; m < kBlocks; m++) {
          uint32_t r[4];
          load_transposed(r, at + s * 16 * S::kRowBytes + 32 * m);
          multiply(v[m], r[0], r[1], r[2], r[3], b[s][0], b[s][1]);
        }
    }
  }
  // With the row's own key, into this split's partials.
  __device__ __forceinline__ void put(const SplitAttentionArgs& a, const Shared<S>& shared, int split, int first_head, int n, bool own) const {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, dim = a.cache.key_dim;
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int h = lane % 4 * 2 + i;
      const float before = shared.peak[h], others = shared.sum[h];
      if (h >= n) continue;
      const float mine = own ? shared.own[h] : -INFINITY, top = fmaxf(before, mine), keep = before == -INFINITY ? 0.0f : exp2_of(before - top), weight = own ? exp2_of(mine - top) : 0.0f;
      float* part = a.partials + ((static_cast<int64_t>(blockIdx.z) * a.n_heads + first_head + h) * a.max_splits + split) * (dim + 4);
      if (warp == 0 && lane < 4) *reinterpret_cast<float2*>(part) = {top, others * keep + weight};
#pragma unroll
      for (int m = 0; m < kBlocks; m++)
#pragma unroll
        for (int second = 0; second < 2; second++) {
          const int d = warp * S::kWarpDims + 16 * m + (S::Int8 ? lane / 4 * 2 + second : lane / 4 + 8 * second);
          if (d < dim) part[4 + d] = v[m][2 * second + i] * keep + (own ? shared.value[d] * weight : 0.0f);
        }
    }
  }
};

template <class S> __global__ void __launch_bounds__(S::kThreads) split_attention(const SplitAttentionArgs a) {
  extern __shared__ __align__(128) uint8_t bytes[];
  auto& shared = *reinterpret_cast<Shared<S>*>(bytes);
  let_next_start();
  if (!a.early) wait_for_input();
  const SequenceOnDevice s = a.step.sequences[blockIdx.z];
  const Splits splits = splits_of(s.past, a.window, a.min_tiles, a.max_splits);
  const int split = blockIdx.x;
  if (s.n_rows != 1 || split >= splits.count) {
    if (split == 0) wait_for_input();  // of every sequence a block does: this kernel never ends before the one before it
    return;
  }
  const int per_kv = a.n_heads / a.cache.n_kv_heads, groups = (per_kv + kGroupHeads - 1) / kGroupHeads, group = static_cast<int>(blockIdx.y) % groups;
  const int kv_head = blockIdx.y / groups, first_head = kv_head * per_kv + group * kGroupHeads, n = min(kGroupHeads, per_kv - group * kGroupHeads);
  const int32_t lo = splits.first + split * splits.keys, begin = a.window > 0 ? max(0, s.past + 1 - a.window) : 0;
  const bool own = a.k && split == splits.count - 1;
  const int32_t hi = own ? s.past : min(lo + splits.keys, s.past + 1), n_tiles = (hi - lo + S::kKeys - 1) / S::kKeys;
  const int32_t* pages = a.step.pages + s.pages;
  const int32_t page = own ? pages[s.past / a.cache.page_tokens] : 0, position = a.step.positions[s.first_row];
  Head<S::D> q_gain, k_gain;
  q_gain.load_gain(a.prepare.q_gain, a.cache.key_dim), k_gain.load_gain(a.prepare.k_gain, a.cache.key_dim);
  if (!a.k && a.early) wait_for_input();
  Tiles<S> tiles(shared, a.cache, kv_head, pages, lo, hi);
  fill_angles(a.prepare, position, shared.angles);
  tiles.begin();
  if (a.k && a.early) wait_for_input();
  prepare_heads<S>(a, shared, s.first_row, first_head, n, kv_head, own, page, s.past % a.cache.page_tokens, q_gain, k_gain);
  __syncthreads();
  const float scale = a.scale * kLog2e;
  const Queries<S> queries(shared);
  if (own) score_own<S>(shared, scale);
  Weights<S> weights;
  Sums<S> sums;
  for (int32_t tile = 0; tile < n_tiles; tile++) {
    tiles.wait_keys(tile);
    queries.score(shared, tile);
    __syncthreads();
    if constexpr (S::Int8) tiles.wait_values(tile);  // their scales
    weights.weigh(shared, tile, lo + tile * S::kKeys, begin, hi, scale);
    __syncthreads();
    tiles.bring_next(tile);
    tiles.wait_values(tile);
    sums.add(shared, tile);
  }
  weights.publish(shared);
  __syncthreads();
  sums.put(a, shared, split, first_head, n, own);
}

constexpr int kMergeThreads = 256, kMergeHeld = 8;

// Block (head, sequence): threads along dims in fours, groups of them along splits.
__global__ void __launch_bounds__(kMergeThreads) merge_splits(const MergeSplitsArgs a) {
  __shared__ float factor[kMaxSplits];
  __shared__ float4 folded[kMergeThreads];
  __shared__ float total;
  let_next_start();
  if (!a.early) wait_for_input();
  const SequenceOnDevice s = a.step.sequences[blockIdx.y];
  const int n = splits_of(s.past, a.window, a.min_tiles, a.max_splits).count, quads = a.dim / 4, groups = kMergeThreads / quads, group = threadIdx.x / quads, d = threadIdx.x % quads * 4;
  if (a.early) wait_for_input();
  if (s.n_rows != 1) return;
  const int32_t width = a.n_heads * a.dim, k = blockIdx.x * a.dim + d;
  float4 gate = {};
  if (a.gate && group == 0) gate = *reinterpret_cast<const float4*>(a.gate + static_cast<int64_t>(s.first_row) * a.gate_stride + k);
  const float* parts = a.partials + (static_cast<int64_t>(blockIdx.y) * a.n_heads + blockIdx.x) * a.max_splits * (a.dim + 4);
  float2 stats[2] = {{-INFINITY, 0}, {-INFINITY, 0}};
  if (threadIdx.x < 32) {
#pragma unroll
    for (int i = 0; i < 2; i++)
      if (threadIdx.x + 32 * i < n) stats[i] = *reinterpret_cast<const float2*>(parts + (threadIdx.x + 32 * i) * (a.dim + 4));
  }
  float4 held[kMergeHeld];
  const auto load = [&](int first) {
#pragma unroll
    for (int i = 0; i < kMergeHeld; i++)
      if (const int split = group + (first + i) * groups; group < groups && split < n) held[i] = *reinterpret_cast<const float4*>(parts + split * (a.dim + 4) + 4 + d);
  };
  load(0);
  if (threadIdx.x < 32) {
    const float top = warp_max(fmaxf(stats[0].x, stats[1].x));
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const float f = exp2_of(stats[i].x - top);
      factor[threadIdx.x + 32 * i] = f, sum += f * stats[i].y;
    }
    sum = warp_sum(sum);
    if (threadIdx.x == 0) total = sum;
  }
  __syncthreads();
  float4 v = {};
  for (int first = 0; first * groups < n; first += kMergeHeld) {
    if (first > 0) load(first);
#pragma unroll
    for (int i = 0; i < kMergeHeld; i++) {
      const int split = group + (first + i) * groups;
      if (group >= groups || split >= n) continue;
      const float f = factor[split];
      v = {v.x + f * held[i].x, v.y + f * held[i].y, v.z + f * held[i].z, v.w + f * held[i].w};
    }
  }
  folded[threadIdx.x] = v;
  __syncthreads();
  if (group > 0) return;
  for (int g = 1; g < groups && g < n; g++) {
    const float4 x = folded[threadIdx.x + g * quads];
    v = {v.x + x.x, v.y + x.y, v.z + x.z, v.w + x.w};
  }
  const float unit = 1.0f / total;
  v = {v.x * unit, v.y * unit, v.z * unit, v.w * unit};
  if (a.gate) v = {gated(v.x, gate.x), gated(v.y, gate.y), gated(v.z, gate.z), gated(v.w, gate.w)};
  put_quad(a.y, a.halves, s.first_row, width, k, v);
}

template <class S> AttentionKernel split_kernel() { return {reinterpret_cast<const void*>(split_attention<S>), S::kThreads, sizeof(Shared<S>)}; }
template <bool Int8> AttentionKernel split_kernel_of(int32_t dim, int shared_limit) {
  if (dim <= 64) return split_kernel<Shape<64, Int8, 4, 4, 3>>();
  if (dim <= 128) return split_kernel<Shape<128, Int8, 8, 4, 3>>();
  if constexpr (!Int8) {
    if (dim > 256) return split_kernel<Shape<512, false, 8, 2, 2>>();
    if (const AttentionKernel k = split_kernel<Shape<256, false, 8, 4, 3>>(); k.shared_bytes > shared_limit) return split_kernel<Shape<256, false, 8, 2, 2>>();
  }
  return split_kernel<Shape<256, Int8, 8, 4, 3>>();
}

}  // namespace

AttentionKernel split_attention_kernel(const CacheOnDevice& cache, KvType type, int shared_limit) {
  if (!attends_fast(cache, type)) return {};
  const AttentionKernel k = type == KvType::int8 ? split_kernel_of<true>(cache.key_dim, shared_limit) : split_kernel_of<false>(cache.key_dim, shared_limit);
  return k.shared_bytes <= shared_limit ? k : AttentionKernel{};
}
AttentionKernel merge_splits_kernel(int32_t dim) { return {reinterpret_cast<const void*>(merge_splits), dim <= 4 * kMergeThreads ? kMergeThreads : 0, 0}; }

}  // namespace cuda
