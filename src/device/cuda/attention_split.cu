// attention_split: attention of sequences with one row each. A block is one sequence, up to 8 query heads of one kv head, and one split of the context:
// keys go through tensor cores as the 16 rows, query heads as the 8 columns, so that keys and values are read once. Splits are folded by a second kernel.
#include "device/cuda/attention.cuh"

namespace cuda {
namespace {
using namespace attention;

// Keys and values of one warp: slabs of 16 keys, kStep apart, first keys, then values, through R slots of its own.
template <int D, bool Int8, int R> struct Stream {
  static constexpr int kRowBytes = D * CacheRows<Int8>::kBytes + 16, kSlot = 16 * kRowBytes + (Int8 ? 64 : 0);  // odd pieces of 16 bytes: no bank conflicts
  CacheRows<Int8> rows;
  void *keys, *values;
  const int32_t* pages;
  uint32_t ring;
  int32_t first, end, step, n_slabs;  // of this warp
  int32_t page = 0, issued = 0, to = 0, from = 0;

  // The next half of a slab, or nothing behind the last: groups of copies are counted either way.
  __device__ void issue() {
    const int lane = threadIdx.x & 31, slab = issued / 2;
    if (slab < n_slabs) {
      if (slab % 32 == 0 && issued % 2 == 0) page = pages[min(first + (slab + lane) * step, end - 1) / rows.page_tokens];
      const int32_t key = first + slab * step, here = __shfl_sync(kFull, page, slab % 32), token = key % rows.page_tokens;
      void* data = issued % 2 ? values : keys;
      const uint8_t* source = rows.row(data, here, token);
      const uint32_t slot = ring + to * kSlot;
      constexpr int pieces = D * CacheRows<Int8>::kBytes / 16;
#pragma unroll
      for (int t = lane; t < 16 * pieces; t += 32) {
        const int row = t / pieces, piece = t % pieces;
        copy16(slot + row * kRowBytes + piece * 16, source + row * rows.token_bytes() + piece * 16, key + row < end && piece * 16 < rows.dim * CacheRows<Int8>::kBytes);
      }
      if (Int8 && lane < 16) copy4(slot + 16 * kRowBytes + 4 * lane, rows.scale(data, here, token + lane), key + lane < end);
    }
    commit_copies();
    issued++, to = to + 1 == R ? 0 : to + 1;
  }
  // The oldest half, there when this returns.
  __device__ uint32_t wait() {
    wait_copies<R - 1>();
    __syncwarp();
    return ring + from * kSlot;
  }
  __device__ void release() {
    __syncwarp();
    from = from + 1 == R ? 0 : from + 1;
    issue();
  }
};

__device__ __forceinline__ float shared_float(uint32_t address) {
  float v;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(address));
  return v;
}

// Queries as the right operand of all steps; where they would take too many registers, from shared memory each time.
template <int D> struct Queries {
  static constexpr bool kHeld = D <= 256;
  static constexpr int kStride = 2 * D + 16;
  uint32_t at, held[kHeld ? D / 32 : 1][4];
  __device__ Queries(uint32_t shared) : at(shared + (threadIdx.x & 7) * kStride + (threadIdx.x & 31) / 8 * 16) {
    if constexpr (kHeld) {
#pragma unroll
      for (int s = 0; s < D / 32; s++) load_matrices(held[s], at + 64 * s);
    }
  }
  __device__ void get(int s, uint32_t (&r)[4]) const {
    if constexpr (kHeld) {
#pragma unroll
      for (int i = 0; i < 4; i++) r[i] = held[s][i];
    } else {
      load_matrices(r, at + 64 * s);
    }
  }
};

// Scores of 16 keys (rows lane / 4 and + 8) for 8 heads (columns 2 * (lane % 4) and + 1). The sums of four chains, so that steps need not wait for each other.
template <int D, bool Int8> __device__ __forceinline__ void score(const Queries<D>& queries, uint32_t slot, int row_bytes, float (&out)[4]) {
  const uint32_t at = slot + (threadIdx.x & 15) * row_bytes + (threadIdx.x & 31) / 16 * 16;
  float c[4][4] = {};
#pragma unroll
  for (int s = 0; s < D / 32; s++) {
    uint32_t q[4];
    queries.get(s, q);
    if constexpr (Int8) {
      uint32_t r[4];
      load_matrices(r, at + 32 * s);
#pragma unroll
      for (int i = 0; i < 4; i++) r[i] ^= 0x80808080u;
#pragma unroll
      for (int h = 0; h < 2; h++)
        multiply(c[(2 * s + h) % 4], two_codes<0x4140>(r[2 * h]), two_codes<0x4140>(r[2 * h + 1]), two_codes<0x4342>(r[2 * h]), two_codes<0x4342>(r[2 * h + 1]), q[2 * h], q[2 * h + 1]);
    } else {
#pragma unroll
      for (int h = 0; h < 2; h++) {
        uint32_t a[4];
        load_matrices(a, at + 64 * s + 32 * h);
        multiply(c[(2 * s + h) % 4], a[0], a[1], a[2], a[3], q[2 * h], q[2 * h + 1]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 4; i++) out[i] = (c[0][i] + c[1][i]) + (c[2][i] + c[3][i]);
}

// sums[m]: dims of block m of 16 (rows) by heads (columns). Rows of halves are dims lane / 4 and + 8, of integers 2 * (lane / 4) and + 1.
template <int D, bool Int8> __device__ __forceinline__ void add_values(float (&sums)[D / 16][4], uint32_t slot, int row_bytes, uint32_t b0, uint32_t b1) {
  const int lane = threadIdx.x & 31;
  if constexpr (Int8) {
    const uint32_t at = slot + (lane & 15) * row_bytes + lane / 16 * 16;
#pragma unroll
    for (int m = 0; m < D / 32; m++) {
      uint32_t r[4];
      load_transposed(r, at + 32 * m);
#pragma unroll
      for (int i = 0; i < 4; i++) r[i] ^= 0x80808080u;
#pragma unroll
      for (int h = 0; h < 2; h++)
        multiply(sums[2 * m + h], two_codes<0x4240>(r[2 * h]), two_codes<0x4341>(r[2 * h]), two_codes<0x4240>(r[2 * h + 1]), two_codes<0x4341>(r[2 * h + 1]), b0, b1);
    }
  } else {
    const uint32_t at = slot + (lane % 8 + lane / 16 * 8) * row_bytes + lane / 8 % 2 * 16;
#pragma unroll
    for (int m = 0; m < D / 16; m++) {
      uint32_t a[4];
      load_transposed(a, at + 32 * m);
      multiply(sums[m], a[0], a[1], a[2], a[3], b0, b1);
    }
  }
}

template <int D, bool Int8, int W, int R> struct Shared {
  using Ring = Stream<D, Int8, R>;
  static constexpr int kWidth = D + 4;  // of a warp's results in the fold
  union {
    alignas(16) uint8_t ring[W * R * Ring::kSlot];
    float folded[W][kGroupHeads][kWidth];
  };
  alignas(16) uint8_t queries[kGroupHeads * Queries<D>::kStride];
  alignas(16) float key[D], value[D];
  float scratch[W][D], angles[D];
  float peak[W + 1][kGroupHeads], sum[W + 1][kGroupHeads];
};

// One warp over its slabs: peaks and sums of its two heads, in powers of two.
template <int D, bool Int8, int R> __device__ __forceinline__ void attend(Stream<D, Int8, R>& stream, const Queries<D>& queries, int32_t begin, float scale, float (&sums)[D / 16][4], float (&peak)[2], float (&sum)[2]) {
  constexpr int row_bytes = Stream<D, Int8, R>::kRowBytes;
  const int row = (threadIdx.x & 31) / 4;
  for (int i = 0; i < stream.n_slabs; i++) {
    float p[4];
    uint32_t slot = stream.wait();
    score<D, Int8>(queries, slot, row_bytes, p);
    if constexpr (Int8) {
      const float low = shared_float(slot + 16 * row_bytes + 4 * row), high = shared_float(slot + 16 * row_bytes + 4 * row + 32);
      p[0] *= low, p[1] *= low, p[2] *= high, p[3] *= high;
    }
    stream.release();
    const int32_t key = stream.first + i * stream.step + row;
    const bool low = key >= begin && key < stream.end, high = key + 8 >= begin && key + 8 < stream.end;
    float keep[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      p[h] = low ? p[h] * scale : -INFINITY, p[2 + h] = high ? p[2 + h] * scale : -INFINITY;
      float top = fmaxf(p[h], p[2 + h]);
#pragma unroll
      for (int o = 4; o < 32; o <<= 1) top = fmaxf(top, __shfl_xor_sync(kFull, top, o));
      top = fmaxf(top, peak[h]);  // finite: a slab has at least one key that counts
      keep[h] = exp2_of(peak[h] - top), peak[h] = top;
      p[h] = exp2_of(p[h] - top), p[2 + h] = exp2_of(p[2 + h] - top);
      sum[h] = sum[h] * keep[h] + (p[h] + p[2 + h]);
    }
    if (__any_sync(kFull, keep[0] != 1.0f || keep[1] != 1.0f)) {
#pragma unroll
      for (int m = 0; m < D / 16; m++) sums[m][0] *= keep[0], sums[m][1] *= keep[1], sums[m][2] *= keep[0], sums[m][3] *= keep[1];
    }
    slot = stream.wait();
    if constexpr (Int8) {
      const float first = shared_float(slot + 16 * row_bytes + 4 * row), second = shared_float(slot + 16 * row_bytes + 4 * row + 32);
      p[0] *= first, p[1] *= first, p[2] *= second, p[3] *= second;
    }
    add_values<D, Int8>(sums, slot, row_bytes, transpose(pack(p[0], p[1])), transpose(pack(p[2], p[3])));
    stream.release();
  }
#pragma unroll
  for (int h = 0; h < 2; h++)
#pragma unroll
    for (int o = 4; o < 32; o <<= 1) sum[h] += __shfl_xor_sync(kFull, sum[h], o);
}

// Queries of the block into shared memory, and where the row's own key and value belong to this split, those into the cache too.
template <int D, bool Int8, int W, class S>
__device__ __forceinline__ void prepare_heads(const SplitAttentionArgs& a, S& shared, int row, int first_head, int n, int kv_head, bool own, int32_t page, const Head<D>& q_gain, const Head<D>& k_gain) {
  constexpr int items = (kGroupHeads + 2 + W - 1) / W;
  const int warp = threadIdx.x >> 5, dim = a.cache.key_dim, lane = threadIdx.x & 31;
  const SequenceOnDevice s = a.step.sequences[blockIdx.z];
  Head<D> head[items];
#pragma unroll
  for (int i = 0; i < items; i++) {
    const int t = warp + i * W;
    const float* x = t < kGroupHeads ? a.q + static_cast<int64_t>(row) * a.q_stride + (first_head + t) * dim : t == kGroupHeads ? a.k + static_cast<int64_t>(row) * a.k_stride + kv_head * dim : a.v + static_cast<int64_t>(row) * a.v_stride + kv_head * dim;
    head[i].load(x, t < n || (own && t >= kGroupHeads && t < kGroupHeads + 2) ? dim : 0);
  }
#pragma unroll
  for (int i = 0; i < items; i++) {
    const int t = warp + i * W;
    if (t < kGroupHeads) {
      if (a.prepare.norm_q) head[i].norm(q_gain, dim, a.prepare.eps);
      head[i].rotate(a.prepare, shared.angles, shared.scratch[warp]);
#pragma unroll
      for (int j = 0; j < Head<D>::kQuads; j++) {
        const int d = Head<D>::at(j);
        if (d >= D) continue;
        uint8_t* to = shared.queries + t * Queries<D>::kStride;
        const __half2 low = __halves2half2(saturated(head[i].v[j].x), saturated(head[i].v[j].y)), high = __halves2half2(saturated(head[i].v[j].z), saturated(head[i].v[j].w));
        // Against integers a lane's four neighbouring dims are inputs 2c, 2c + 1, 2c + 8 and 2c + 9 of a step.
        const int at = Int8 ? d / 16 * 32 + lane % 4 * 4 : 2 * d;
        *reinterpret_cast<__half2*>(to + at) = low, *reinterpret_cast<__half2*>(to + at + (Int8 ? 16 : 4)) = high;
      }
    } else if (own && t < kGroupHeads + 2) {
      const bool is_key = t == kGroupHeads;
      if (is_key && a.prepare.norm_k) head[i].norm(k_gain, dim, a.prepare.eps);
      if (is_key) head[i].rotate(a.prepare, shared.angles, shared.scratch[warp]);
      if (!is_key && a.prepare.norm_v) {
        Head<D> ones;
        ones.load_gain(nullptr, dim);
        head[i].norm(ones, dim, a.prepare.eps);
      }
      head[i].store(CacheRows<Int8>(a.cache, kv_head), is_key ? a.cache.keys : a.cache.values, page, s.past % a.cache.page_tokens);
#pragma unroll
      for (int j = 0; j < Head<D>::kQuads; j++)
        if (Head<D>::at(j) < D) *reinterpret_cast<float4*>((is_key ? shared.key : shared.value) + Head<D>::at(j)) = head[i].v[j];
    }
  }
}

// Scores of the row's own key: as if one more warp had seen just that.
template <int D, bool Int8, int W, class S> __device__ __forceinline__ void score_own(S& shared, float scale) {
  const int lane = threadIdx.x & 31;
  for (int h = threadIdx.x >> 5; h < kGroupHeads; h += W) {
    float dot = 0;
#pragma unroll
    for (int j = 0; j < Head<D>::kQuads; j++) {
      const int d = Head<D>::at(j);
      if (d >= D) continue;
      const uint8_t* q = shared.queries + h * Queries<D>::kStride + (Int8 ? d / 16 * 32 + lane % 4 * 4 : 2 * d);
      const float2 low = __half22float2(*reinterpret_cast<const __half2*>(q)), high = __half22float2(*reinterpret_cast<const __half2*>(q + (Int8 ? 16 : 4)));
      const float4 k = *reinterpret_cast<const float4*>(shared.key + d);
      dot += low.x * k.x + low.y * k.y + high.x * k.z + high.y * k.w;
    }
    dot = warp_sum(dot);
    if (lane == 0) shared.peak[W][h] = dot * scale, shared.sum[W][h] = 1;
  }
}

// Results of all warps, and of the row's own key, into this split's partials.
template <int D, int W, class S> __device__ __forceinline__ void fold(const SplitAttentionArgs& a, const S& shared, int split, int first_head, int n, bool own) {
  constexpr int quads = D / 4;
  const int dim = a.cache.key_dim;
  for (int t = threadIdx.x; t < n * quads; t += 32 * W) {
    const int h = t / quads, d = t % quads * 4;
    if (d >= dim) continue;
    float top = own ? shared.peak[W][h] : -INFINITY;
#pragma unroll
    for (int w = 0; w < W; w++) top = fmaxf(top, shared.peak[w][h]);
    float factor = own ? exp2_of(shared.peak[W][h] - top) : 0.0f, sum = factor;
    float4 v = {};
    if (own) v = *reinterpret_cast<const float4*>(shared.value + d), v = {v.x * factor, v.y * factor, v.z * factor, v.w * factor};
#pragma unroll
    for (int w = 0; w < W; w++) {
      if (shared.peak[w][h] == -INFINITY) continue;  // had no keys
      factor = exp2_of(shared.peak[w][h] - top), sum += factor * shared.sum[w][h];
      const float4 x = *reinterpret_cast<const float4*>(&shared.folded[w][h][d]);
      v = {v.x + factor * x.x, v.y + factor * x.y, v.z + factor * x.z, v.w + factor * x.w};
    }
    float* part = a.partials + ((static_cast<int64_t>(blockIdx.z) * a.n_heads + first_head + h) * a.max_splits + split) * (dim + 4);
    *reinterpret_cast<float4*>(part + 4 + d) = v;
    if (d == 0) *reinterpret_cast<float2*>(part) = {top, sum};
  }
}

template <int D, bool Int8, int W, int R> __global__ void __launch_bounds__(32 * W) split_attention(const SplitAttentionArgs a) {
  extern __shared__ __align__(16) uint8_t bytes[];
  auto& shared = *reinterpret_cast<Shared<D, Int8, W, R>*>(bytes);
  let_next_start();
  if (!a.early) wait_for_input();
  const SequenceOnDevice s = a.step.sequences[blockIdx.z];
  const Splits splits = splits_of(s.past, a.window, a.min_tiles, a.max_splits);
  const int split = blockIdx.x, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  if (s.n_rows != 1 || split >= splits.count) {
    if (split == 0) wait_for_input();  // of every sequence a block does: this kernel never ends before the one before it
    return;
  }
  const int per_kv = a.n_heads / a.cache.n_kv_heads, groups = (per_kv + kGroupHeads - 1) / kGroupHeads;
  const int kv_head = blockIdx.y / groups, first_head = kv_head * per_kv + blockIdx.y % groups * kGroupHeads, n = min(kGroupHeads, per_kv - static_cast<int>(blockIdx.y) % groups * kGroupHeads);
  const int32_t lo = splits.first + split * splits.keys, begin = a.window > 0 ? max(0, s.past + 1 - a.window) : 0;
  const bool own = a.k && split == splits.count - 1;
  const int32_t hi = own ? s.past : min(lo + splits.keys, s.past + 1), slabs = (hi - lo + 15) / 16;
  const int32_t* pages = a.step.pages + s.pages;
  Stream<D, Int8, R> stream{{a.cache, kv_head}, a.cache.keys, a.cache.values, pages, shared_address(shared.ring) + warp * R * Stream<D, Int8, R>::kSlot, lo + 16 * warp, hi, 16 * W, (slabs - warp + W - 1) / W};
  if (!a.k && a.early) wait_for_input();
#pragma unroll
  for (int i = 0; i < R; i++) stream.issue();
  Head<D> q_gain, k_gain;
  q_gain.load_gain(a.prepare.q_gain, a.cache.key_dim), k_gain.load_gain(a.prepare.k_gain, a.cache.key_dim);
  const int32_t page = own ? pages[s.past / a.cache.page_tokens] : 0;
  fill_angles(a.prepare, a.step.positions[s.first_row], shared.angles);
  __syncthreads();
  if (a.k && a.early) wait_for_input();
  prepare_heads<D, Int8, W>(a, shared, s.first_row, first_head, n, kv_head, own, page, q_gain, k_gain);
  __syncthreads();
  const float scale = a.scale * kLog2e;
  if (own) score_own<D, Int8, W>(shared, scale);
  const Queries<D> queries(shared_address(shared.queries));
  float sums[D / 16][4] = {}, peak[2] = {-INFINITY, -INFINITY}, sum[2] = {};
  attend<D, Int8, R>(stream, queries, begin, scale, sums, peak, sum);
  wait_copies<0>();
  __syncthreads();  // rings are free
  const int row = lane / 4, head = lane % 4 * 2;
  if (row == 0) shared.peak[warp][head] = peak[0], shared.peak[warp][head + 1] = peak[1], shared.sum[warp][head] = sum[0], shared.sum[warp][head + 1] = sum[1];
#pragma unroll
  for (int m = 0; m < D / 16; m++) {
    const int low = 16 * m + (Int8 ? 2 * row : row), high = low + (Int8 ? 1 : 8);
    shared.folded[warp][head][low] = sums[m][0], shared.folded[warp][head + 1][low] = sums[m][1];
    shared.folded[warp][head][high] = sums[m][2], shared.folded[warp][head + 1][high] = sums[m][3];
  }
  __syncthreads();
  fold<D, W>(a, shared, split, first_head, n, own);
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
  put_quad(a.y, a.halves, a.gate, a.gate_stride, s.first_row, a.n_heads * a.dim, blockIdx.x * a.dim + d, {v.x * unit, v.y * unit, v.z * unit, v.w * unit});
}

template <int D, bool Int8, int W, int R> AttentionKernel split_kernel() { return {reinterpret_cast<const void*>(split_attention<D, Int8, W, R>), 32 * W, sizeof(Shared<D, Int8, W, R>)}; }
template <bool Int8> AttentionKernel split_kernel_of(int32_t dim, int shared_limit) {
  if (dim <= 64) return split_kernel<64, Int8, 4, 3>();
  if (dim <= 128) return split_kernel<128, Int8, 4, 3>();
  if (dim > 256) return split_kernel<512, Int8, 2, 2>();
  if constexpr (!Int8)
    if (const AttentionKernel k = split_kernel<256, false, 4, 3>(); k.shared_bytes > shared_limit) return split_kernel<256, false, 4, 2>();
  return split_kernel<256, Int8, 4, 3>();
}

}  // namespace

AttentionKernel split_attention_kernel(const CacheOnDevice& cache, KvType type, int shared_limit) {
  if (!attends_fast(cache, type)) return {};
  return type == KvType::int8 ? split_kernel_of<true>(cache.key_dim, shared_limit) : split_kernel_of<false>(cache.key_dim, shared_limit);
}
AttentionKernel merge_splits_kernel(int32_t dim) { return {reinterpret_cast<const void*>(merge_splits), dim <= 4 * kMergeThreads ? kMergeThreads : 0, 0}; }

}  // namespace cuda
