// attention: softmax(q k^T) v over paged keys and values. A block is one row, one kv head with all its query heads, and one split of the keys;
// splits are folded by a second kernel, in order.
#include "device/cuda/common.cuh"

namespace cuda {
namespace {

constexpr int kWarps = 4;

template <class T> __device__ __forceinline__ T from_float(float v);
template <> __device__ __forceinline__ float from_float<float>(float v) { return v; }
template <> __device__ __forceinline__ __half from_float<__half>(float v) { return __float2half_rn(v); }
__device__ __forceinline__ float to_float(float v) { return v; }
__device__ __forceinline__ float to_float(__half v) { return __half2float(v); }

// Row of a key: tokens of a page lie one after another, each with all its kv heads.
__device__ __forceinline__ int64_t cache_row(const CacheOnDevice& c, const int32_t* pages, int32_t index, int32_t head) {
  return (static_cast<int64_t>(pages[index / c.page_tokens]) * c.page_tokens + index % c.page_tokens) * c.n_kv_heads + head;
}

template <class T> __global__ void append(const AppendArgs a) {
  wait_for_input();
  let_next_start();
  const int row = blockIdx.x;
  const SequenceOnDevice s = a.step.sequences[a.step.row_sequence[row]];
  const CacheOnDevice& c = a.cache;
  const int64_t at = cache_row(c, a.step.pages + s.pages, s.past + row - s.first_row, 0);
  for (int i = threadIdx.x; i < c.n_kv_heads * c.key_dim; i += blockDim.x) static_cast<T*>(c.keys)[at * c.key_dim + i] = from_float<T>(a.k[static_cast<int64_t>(row) * c.n_kv_heads * c.key_dim + i]);
  for (int i = threadIdx.x; i < c.n_kv_heads * c.value_dim; i += blockDim.x) static_cast<T*>(c.values)[at * c.value_dim + i] = from_float<T>(a.v[static_cast<int64_t>(row) * c.n_kv_heads * c.value_dim + i]);
}

// Warps take keys of the split in turns; each serves some query heads that share the kv head. Lanes run along dims, kMaxLanes elements each.
template <class T, int Heads, int kMaxLanes> __device__ void attend(const AttentionArgs& a, int row, int kv_head, int first_head, int lo, int hi, const int32_t* pages, float* shared) {
  const CacheOnDevice& c = a.cache;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, per_kv = a.n_heads / c.n_kv_heads;
  const int key_lanes = (c.key_dim + 31) / 32, value_lanes = (c.value_dim + 31) / 32;
  float q[Heads][kMaxLanes], acc[Heads][kMaxLanes], peak[Heads], sum[Heads];
#pragma unroll
  for (int h = 0; h < Heads; h++) {
    peak[h] = -INFINITY, sum[h] = 0;
#pragma unroll
    for (int i = 0; i < kMaxLanes; i++) {
      const int d = lane + 32 * i;
      q[h][i] = i < key_lanes && d < c.key_dim ? a.q[(static_cast<int64_t>(row) * a.n_heads + kv_head * per_kv + first_head + h) * c.key_dim + d] * a.scale : 0.0f;
      acc[h][i] = 0;
    }
  }
  for (int index = lo + warp; index < hi; index += kWarps) {
    const int64_t at = cache_row(c, pages, index, kv_head);
    const T* key = static_cast<const T*>(c.keys) + at * c.key_dim;
    const T* value = static_cast<const T*>(c.values) + at * c.value_dim;
    float dot[Heads] = {};
#pragma unroll
    for (int i = 0; i < kMaxLanes; i++) {
      if (i >= key_lanes) break;
      const float k = lane + 32 * i < c.key_dim ? to_float(key[lane + 32 * i]) : 0.0f;
#pragma unroll
      for (int h = 0; h < Heads; h++) dot[h] += q[h][i] * k;
    }
    float weight[Heads], keep[Heads];
#pragma unroll
    for (int h = 0; h < Heads; h++) {
      const float score = warp_sum(dot[h]), top = fmaxf(peak[h], score);
      keep[h] = expf(peak[h] - top), weight[h] = expf(score - top), peak[h] = top;
      sum[h] = sum[h] * keep[h] + weight[h];
    }
#pragma unroll
    for (int i = 0; i < kMaxLanes; i++) {
      if (i >= value_lanes) break;
      const float v = lane + 32 * i < c.value_dim ? to_float(value[lane + 32 * i]) : 0.0f;
#pragma unroll
      for (int h = 0; h < Heads; h++) acc[h][i] = acc[h][i] * keep[h] + weight[h] * v;
    }
  }
  // Warps are folded in order through shared memory: [warp][value_dim + 2].
  const int width = c.value_dim + 2;
#pragma unroll
  for (int h = 0; h < Heads; h++) {
    __syncthreads();
    if (lane == 0) shared[warp * width] = peak[h], shared[warp * width + 1] = sum[h];
#pragma unroll
    for (int i = 0; i < kMaxLanes; i++)
      if (i < value_lanes && lane + 32 * i < c.value_dim) shared[warp * width + 2 + lane + 32 * i] = acc[h][i];
    __syncthreads();
    float top = -INFINITY;
    for (int w = 0; w < kWarps; w++) top = fmaxf(top, shared[w * width]);
    float total = 0;
    for (int w = 0; w < kWarps; w++) total += shared[w * width] == -INFINITY ? 0.0f : shared[w * width + 1] * expf(shared[w * width] - top);
    const int64_t head = static_cast<int64_t>(row) * a.n_heads + kv_head * per_kv + first_head + h;
    float* part = a.partials + (head * a.n_splits + blockIdx.z) * width;
    for (int d = threadIdx.x; d < c.value_dim; d += blockDim.x) {
      float v = 0;
      for (int w = 0; w < kWarps; w++) v += shared[w * width] == -INFINITY ? 0.0f : shared[w * width + 2 + d] * expf(shared[w * width] - top);
      if (a.n_splits == 1) a.y[head * c.value_dim + d] = v / total;
      else part[2 + d] = v;
    }
    if (a.n_splits > 1 && threadIdx.x == 0) part[0] = top, part[1] = total;
  }
}

template <class T, int Lanes> __global__ void __launch_bounds__(32 * kWarps) attention(const AttentionArgs a) {
  extern __shared__ float shared[];
  wait_for_input();
  let_next_start();
  const int row = blockIdx.x, per_kv = a.n_heads / a.cache.n_kv_heads;
  const SequenceOnDevice s = a.step.sequences[a.step.row_sequence[row]];
  const int index = s.past + row - s.first_row;
  const int end = a.causal ? index + 1 : s.past + s.n_rows, begin = a.window > 0 ? max(0, index + 1 - a.window) : 0;
  const int each = (end - begin + a.n_splits - 1) / a.n_splits, lo = begin + static_cast<int>(blockIdx.z) * each, hi = min(lo + each, end);
  for (int h = 0; h < per_kv;) {
    if (Lanes <= 8 && per_kv - h >= 8) attend<T, Lanes <= 8 ? 8 : 1, Lanes>(a, row, blockIdx.y, h, lo, hi, a.step.pages + s.pages, shared), h += 8;
    else if (per_kv - h >= 4) attend<T, 4, Lanes>(a, row, blockIdx.y, h, lo, hi, a.step.pages + s.pages, shared), h += 4;
    else if (per_kv - h >= 2) attend<T, 2, Lanes>(a, row, blockIdx.y, h, lo, hi, a.step.pages + s.pages, shared), h += 2;
    else attend<T, 1, Lanes>(a, row, blockIdx.y, h, lo, hi, a.step.pages + s.pages, shared), h += 1;
  }
}

// Block (row, head). A lane of the first warp looks at one split.
__global__ void merge(const AttentionArgs a) {
  __shared__ float factor[32];
  wait_for_input();
  let_next_start();
  const int width = a.cache.value_dim + 2;
  const int64_t head = static_cast<int64_t>(blockIdx.x) * a.n_heads + blockIdx.y;
  const float* parts = a.partials + head * a.n_splits * width;
  if (threadIdx.x < 32) {
    const int s = threadIdx.x;
    const float peak = s < a.n_splits ? parts[s * width] : -INFINITY, sum = s < a.n_splits ? parts[s * width + 1] : 0.0f, top = warp_max(peak);
    const float scale = peak == -INFINITY ? 0.0f : expf(peak - top), total = warp_sum(scale * sum);
    factor[s] = scale / total;
  }
  __syncthreads();
  for (int d = threadIdx.x; d < a.cache.value_dim; d += blockDim.x) {
    float v = 0;
#pragma unroll 8
    for (int s = 0; s < a.n_splits; s++)
      if (factor[s] != 0) v += parts[s * width + 2 + d] * factor[s];
    a.y[head * a.cache.value_dim + d] = v;
  }
}

}  // namespace

const void* append_kernel(CacheKind kind) { return kind == CacheKind::f32 ? reinterpret_cast<const void*>(append<float>) : reinterpret_cast<const void*>(append<__half>); }
template <int Lanes> const void* attention_of(CacheKind kind) { return kind == CacheKind::f32 ? reinterpret_cast<const void*>(attention<float, Lanes>) : reinterpret_cast<const void*>(attention<__half, Lanes>); }
const void* attention_kernel(CacheKind kind, int32_t widest) {
  if (widest <= 64) return attention_of<2>(kind);
  if (widest <= 128) return attention_of<4>(kind);
  return widest <= 256 ? attention_of<8>(kind) : attention_of<16>(kind);
}
const void* merge_attention_kernel() { return reinterpret_cast<const void*>(merge); }

}  // namespace cuda
