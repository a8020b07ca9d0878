// attention_split: attention of sequences with one row each. A block is one sequence, up to 8 query heads of one kv head, and one split of the context:
// keys go through tensor cores as the 16 rows, query heads as the 8 columns, so that keys and values are read once. Splits are folded in clusters of blocks, or by a second kernel before Hopper.
#include "device/cuda/attention_fold.cuh"
#include "device/cuda/attention_tiles.cuh"

namespace cuda {
namespace {
using namespace attention;

// Queries of the block into shared memory; helper warps store the row's own key and value where those belong to this split.
template <class S> struct Heads {
  using H = Head<S::D>;
  static constexpr int kItems = kGroupHeads / S::W;
  const SplitAttentionArgs& a;
  Shared<S>& shared;
  const int warp = threadIdx.x >> 5;
  const bool helps = warp >= S::W, is_value = warp > S::W, normed = !helps ? a.prepare.norm_q : is_value ? a.prepare.norm_v : a.prepare.norm_k, regular = H::is_regular(a.prepare);
  float per_dim = 1.0f / a.cache.key_dim;
  const float* from;  // this lane's first dims
  uint32_t to, dims[kItems];  // dims: 0 of heads that there are not
  typename H::Turn turn;
  H gain, head[kItems];

  __device__ __forceinline__ Heads(const SplitAttentionArgs& args, Shared<S>& at, int32_t row, int first_head, int n, int kv_head, bool wanted) : a(args), shared(at), turn(H::turn_of(args.prepare, at.angles)) {
    const int dim = a.cache.key_dim;
    if (!helps) from = a.q + static_cast<int64_t>(row) * a.q_stride + (first_head + warp) * dim;
    else from = (is_value ? a.v + static_cast<int64_t>(row) * a.v_stride : a.k + static_cast<int64_t>(row) * a.k_stride) + kv_head * dim;
    to = shared_address(shared.queries[warp % S::W] + query_at<S>(H::at(0)));
    gain.load_gain(!helps ? a.prepare.q_gain : is_value ? nullptr : a.prepare.k_gain, dim);
#pragma unroll
    for (int i = 0; i < kItems; i++) dims[i] = wanted && (helps ? i == 0 : warp + i * S::W < n) ? dim : 0, settle(dims[i]);
    settle(from), settle(to), settle(per_dim);
  }
  __device__ __forceinline__ void load() {
#pragma unroll
    for (int i = 0; i < kItems; i++) head[i].load(from + i * S::W * a.cache.key_dim, static_cast<int>(dims[i]));
  }
  __device__ __forceinline__ void prepare(H& head) const {
    const float unit = normed ? head.unit(per_dim, a.prepare.eps) : 1.0f;
    if (normed) head.times(gain);
    if (regular) head.rotate(turn);
    else head = rotated(head, a.prepare, shared.angles, shared.scratch[min(warp, S::W)]);
    if (normed) head.times(unit);
  }
  __device__ __forceinline__ void queries() {
#pragma unroll
    for (int i = 0; i < kItems; i++) {
      prepare(head[i]);
#pragma unroll
      for (int j = 0; j < H::kQuads; j++) {
        if (H::at(j) >= S::D) continue;
        const uint32_t low = pack_saturated(head[i].v[j].x, head[i].v[j].y), high = pack_saturated(head[i].v[j].z, head[i].v[j].w), there = to + i * S::W * S::kQueryBytes + 256 * j;
        if constexpr (S::Int8) asm volatile("st.shared.b32 [%0], %1;\nst.shared.b32 [%0 + 16], %2;" ::"r"(there), "r"(low), "r"(high) : "memory");
        else asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(there), "r"(low), "r"(high) : "memory");
      }
    }
  }
  __device__ __forceinline__ void own(const Tiles<S>& tiles, int32_t page, int32_t token) {
    if (!is_value) prepare(head[0]);
    else if (normed) head[0].times(head[0].unit(per_dim, a.prepare.eps));
    head[0].store(tiles.rows, is_value ? a.cache.values : a.cache.keys, page, token, tiles.own_codes(is_value), tiles.own_scale(is_value));
  }
};

// Softmax of a warp's heads over tiles, lanes along keys: peak and sum, in powers of two, of a head.
template <class S> struct Weights {
  static constexpr int kHeads = kGroupHeads / S::W, kEach = S::kKeys / 32;
  Shared<S>& shared;
  const int head = threadIdx.x >> 5, key = static_cast<int>(threadIdx.x & 31) * kEach;
  const float* scores;
  __half* weights;
  float scale;
  uint32_t first, seen;  // keys of this lane in the first tile behind the first that counts; keys that count
  float peak[kHeads], sum[kHeads] = {};

  __device__ __forceinline__ Weights(Shared<S>& of, int32_t lo, int32_t begin, int32_t end, float scaled)
      : shared(of), scores(&of.scores[0][head % kGroupHeads][key]), weights(&of.weights[head % kGroupHeads][key]), scale(scaled), first(static_cast<uint32_t>(lo + key - begin)), seen(static_cast<uint32_t>(end - begin)) {
    settle(scale), settle(first), settle(seen);
#pragma unroll
    for (int i = 0; i < kHeads; i++) peak[i] = -INFINITY;
  }
  __device__ __forceinline__ void weigh(int32_t tile) {
#pragma unroll
    for (int i = 0; i < kHeads; i++) {
      float v[kEach], top = peak[i];
      read(scores + i * S::W * S::kScoreRow, v);
#pragma unroll
      for (int part = 1; part < S::kParts; part++) {
        float more[kEach];
        read(scores + (part * kGroupHeads + i * S::W) * S::kScoreRow, more);
#pragma unroll
        for (int e = 0; e < kEach; e++) v[e] += more[e];
      }
#pragma unroll
      for (int e = 0; e < kEach; e++) v[e] = first + static_cast<uint32_t>(tile * S::kKeys + e) < seen ? v[e] * scale : -INFINITY, top = fmaxf(top, v[e]);
      top = warp_max(top);  // finite: a tile has at least one key that counts
#pragma unroll
      for (int e = 0; e < kEach; e++) v[e] = exp2_of(v[e] - top);
      if (tile > 0) {
        const float keep = exp2_of(peak[i] - top);
        if (key == 0) shared.keep[head + i * S::W] = keep;
        sum[i] *= keep;
      }
      peak[i] = top;
      if constexpr (kEach == 2) {
        sum[i] += v[0] + v[1];
        const float2 unit = S::Int8 ? *reinterpret_cast<const float2*>(&shared.value_scale[tile % S::R][key]) : float2{1, 1};
        *reinterpret_cast<uint32_t*>(weights + i * S::W * S::kWeightRow) = pack(v[0] * unit.x, v[1] * unit.y);
      } else {
        static_assert(kEach == 1);
        sum[i] += v[0];
        weights[i * S::W * S::kWeightRow] = __float2half_rn(S::Int8 ? v[0] * shared.value_scale[tile % S::R][key] : v[0]);
      }
    }
  }
  // Calls f(head, peak and sum) in one lane. Of halves the sums of all weights came with those of values: totals, of heads 2 * (lane % 4) and + 1.
  template <class F> __device__ __forceinline__ void finish(const float (&totals)[4], F&& f) const {
#pragma unroll
    for (int i = 0; i < kHeads; i++) {
      const int h = head + i * S::W;
      const float all = S::Int8 ? warp_sum(sum[i]) : h % 2 ? totals[1] : totals[0];
      if (static_cast<int>(threadIdx.x & 31) == h / 2) f(h, float2{peak[i], all});
    }
  }

 private:
  static __device__ __forceinline__ void read(const float* from, float (&v)[kEach]) {
    if constexpr (kEach == 2) {
      const float2 two = *reinterpret_cast<const float2*>(from);
      v[0] = two.x, v[1] = two.y;
    } else {
      v[0] = *from;
    }
  }
};

// What a warp has of the sums: [block of 16 dims][rows lane / 4 and + 8 (of integers 2 * (lane / 4) and + 1), heads 2 * (lane % 4) and + 1].
template <class S> struct Sums {
  static constexpr int kBlocks = S::kWarpDims / 16;
  const Shared<S>& shared;
  uint32_t weights, values;  // where this lane reads
  float v[kBlocks][4] = {}, totals[4] = {};

  __device__ __forceinline__ explicit Sums(const Shared<S>& of) : shared(of) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    weights = shared_address(&shared.weights[lane & 7][lane / 8 * 8]), settle(weights);
    values = S::Int8 ? shared_address(shared.values[0][lane] + warp * S::kWarpDims) : shared_address(shared.values[0][lane % 8 + lane / 16 * 8] + warp * S::kWarpDims * 2 + lane / 8 % 2 * 16);
    settle(values);
  }
  __device__ __forceinline__ void add(int32_t tile) {
    const uint32_t at = values + tile % S::R * static_cast<uint32_t>(sizeof shared.values[0]);
    uint32_t b[S::Slabs][2];
#pragma unroll
    for (int s = 0; s < S::Slabs; s += 2) {
      uint32_t r[4];
      load_matrices(r, weights + 32 * s);
      b[s][0] = r[0], b[s][1] = r[1], b[s + 1][0] = r[2], b[s + 1][1] = r[3];
    }
    if (tile > 0) {
      const float2 keep = *reinterpret_cast<const float2*>(&shared.keep[threadIdx.x % 4 * 2]);
#pragma unroll
      for (int m = 0; m < kBlocks; m++) v[m][0] *= keep.x, v[m][1] *= keep.y, v[m][2] *= keep.x, v[m][3] *= keep.y;
      totals[0] *= keep.x, totals[1] *= keep.y;
    }
    if constexpr (S::Int8) {
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
#pragma unroll
      for (int s = 0; s < S::Slabs; s++) {
        constexpr uint32_t ones = 0x3c003c00;
        multiply(totals, ones, ones, ones, ones, b[s][0], b[s][1]);
#pragma unroll
        for (int m = 0; m < kBlocks; m++) {
          uint32_t r[4];
          load_transposed(r, at + s * 16 * S::kRowBytes + 32 * m);
          multiply(v[m], r[0], r[1], r[2], r[3], b[s][0], b[s][1]);
        }
      }
    }
  }
  // Into this split's partials, for merge_splits.
  __device__ __forceinline__ void put(const SplitAttentionArgs& a, int split, int first_head, int n) const {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, dim = a.cache.key_dim;
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int h = lane % 4 * 2 + i;
      if (h >= n) continue;
      float* part = a.partials + ((static_cast<int64_t>(blockIdx.z) * a.n_heads + first_head + h) * a.max_splits + split) * (dim + 4);
      if (warp == 0 && lane < 4) *reinterpret_cast<float2*>(part) = shared.of_head[h];
#pragma unroll
      for (int m = 0; m < kBlocks; m++)
#pragma unroll
        for (int second = 0; second < 2; second++)
          if (const int d = dim_of_sum<S>(warp, m, second, lane / 4); d < dim) part[4 + d] = v[m][2 * second + i];
    }
  }
};

// Folds: kCluster blocks fold their sums of a head themselves, by grids of whole clusters; else merge_splits does.
template <class S, bool Folds> __device__ __forceinline__ void attend_split(const SplitAttentionArgs& a) {
  extern __shared__ __align__(128) uint8_t bytes[];
  auto& shared = *reinterpret_cast<Shared<S>*>(bytes);
  let_next_start();
  if (!a.early) wait_for_input();
  const SequenceOnDevice s = a.step.sequences[blockIdx.z];
  const Splits splits = splits_of(s.past, a.window, a.min_tiles, a.max_splits);
  const int split = blockIdx.x, first_split = Folds ? split / kCluster * kCluster : split;
  if (s.n_rows != 1 || first_split >= splits.count) {
    if (split == 0) wait_for_input();  // of every sequence a block does: this kernel never ends before the one before it
    return;
  }
  const int per_kv = a.n_heads / a.cache.n_kv_heads, groups = (per_kv + kGroupHeads - 1) / kGroupHeads, group = static_cast<int>(blockIdx.y) % groups;
  const int kv_head = blockIdx.y / groups, first_head = kv_head * per_kv + group * kGroupHeads, n = min(kGroupHeads, per_kv - group * kGroupHeads), warp = threadIdx.x >> 5;
  const int32_t lo = splits.first + split * splits.keys, hi = min(lo + splits.keys, s.past + 1), begin = a.window > 0 ? max(0, s.past + 1 - a.window) : 0, n_tiles = (hi - lo + S::kKeys - 1) / S::kKeys;
  const bool has_keys = split < splits.count, own = a.k && split == splits.count - 1, helps = warp >= S::W;
  const int32_t* pages = a.step.pages + s.pages;
  if (threadIdx.x == 0) {
    Tiles<S>::init(shared);
    if constexpr (Folds) Fold<S>::init(shared, min(kCluster, splits.count - first_split));
  }
  __syncthreads();
  if (!a.k && a.early) wait_for_input();
  Tiles<S> tiles(shared, a.cache, kv_head, pages, lo, hi, own ? s.past : -1);
  const int32_t page = own ? pages[s.past / a.cache.page_tokens] : 0;
  if (helps) fill_angles(a.prepare, a.step.positions[s.first_row], shared.angles, static_cast<int>(threadIdx.x) - S::kThreads, 32 * S::kHelpers);
  else if (has_keys) tiles.begin();
  __syncthreads();
  Heads<S> heads(a, shared, s.first_row, first_head, n, kv_head, helps ? own : has_keys);
  Queries<S> queries(shared);
  Weights<S> weights(shared, lo, begin, hi, a.scale * kLog2e);
  Sums<S> sums(shared);
  Fold<S> fold(a, shared, s.first_row, first_head, n);
  wait_for_input();
  heads.load();
  if (!helps && has_keys) heads.queries();
  if constexpr (Folds)
    if (!helps) fold.bring_gate();
  if (helps && own) heads.own(tiles, page, s.past % a.cache.page_tokens);
  __syncthreads();
  if constexpr (Folds) arrive_in_cluster();
  if (helps) return;
  const auto take = [&](int32_t tile) {
    tiles.wait_keys(tile);
    queries.score(tile);
    sync_threads<S>();
    if constexpr (S::Int8) tiles.wait_values(tile);  // their scales
    weights.weigh(tile);
    sync_threads<S>();
    if (tile + S::R < n_tiles) tiles.bring_keys_behind(tile);
    tiles.wait_values(tile);
    sums.add(tile);
  };
  if (has_keys) {
    queries.load();
    take(0);  // all there is of short contexts
    for (int32_t tile = 1; tile < n_tiles; tile++) {
      sync_threads<S>();
      tiles.bring_values_behind(tile - 1);
      take(tile);
    }
  }
  if constexpr (Folds) {
    wait_in_cluster();
    if (has_keys) fold.send(sums.v), weights.finish(sums.totals, [&](int head, float2 stats) { fold.send_stats(head, stats); });
    if (fold.has_head) fold.receive(min(kCluster, splits.count - first_split), first_split / kCluster, (splits.count + kCluster - 1) / kCluster);
  } else {
    weights.finish(sums.totals, [&](int head, float2 stats) { shared.of_head[head] = stats; });
    sync_threads<S>();
    sums.put(a, split, first_head, n);
  }
}

template <class S> __global__ void __launch_bounds__(S::kAllThreads, 2) split_attention(const __grid_constant__ SplitAttentionArgs a) { attend_split<S, false>(a); }
template <class S> __global__ void __launch_bounds__(S::kAllThreads, 2) CALLA_CLUSTER attention_in_clusters(const __grid_constant__ SplitAttentionArgs a) {
#if __CUDA_ARCH__ >= 900
  attend_split<S, true>(a);
#endif
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

template <class S> AttentionKernel split_kernel(bool folds) {
  return {folds ? reinterpret_cast<const void*>(attention_in_clusters<S>) : reinterpret_cast<const void*>(split_attention<S>), S::kAllThreads, sizeof(Shared<S>)};
}
template <bool Int8> AttentionKernel split_kernel_of(int32_t dim, bool folds) {
  if (dim <= 64) return split_kernel<Shape<64, Int8, 4, 4, 2>>(folds);
  if (dim <= 128) return split_kernel<Shape<128, Int8, 8, 4, 2>>(folds);
  if constexpr (Int8) return split_kernel<Shape<256, true, 8, 4, 2>>(folds);
  else return dim > 256 ? split_kernel<Shape<512, false, 8, 2, 1>>(folds) : split_kernel<Shape<256, false, 8, 4, 1>>(folds);
}

}  // namespace

AttentionKernel split_attention_kernel(const CacheOnDevice& cache, KvType type, int shared_limit, bool folds) {
  if (!attends_fast(cache, type)) return {};
  const AttentionKernel k = type == KvType::int8 ? split_kernel_of<true>(cache.key_dim, folds) : split_kernel_of<false>(cache.key_dim, folds);
  return k.shared_bytes <= shared_limit ? k : AttentionKernel{};
}
AttentionKernel merge_splits_kernel(int32_t dim) { return {reinterpret_cast<const void*>(merge_splits), dim <= 4 * kMergeThreads ? kMergeThreads : 0, 0}; }

}  // namespace cuda
