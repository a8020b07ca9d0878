// attention_fold: the blocks of a cluster take one head each and fold what all of them have of it; of several clusters the last one to finish folds the rest.
#pragma once
#include "device/cuda/attention_tiles.cuh"

namespace cuda::attention {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define CALLA_CLUSTER __cluster_dims__(cuda::kCluster, 1, 1)
#else
#define CALLA_CLUSTER
#endif

template <class S> __device__ __forceinline__ void sync_threads() { asm volatile("bar.sync 1, %0;" ::"n"(S::kThreads) : "memory"); }  // all but helpers
// The dim that row lane / 4 of a block of 16 has, or the second row that this lane has of it.
template <class S> __device__ __forceinline__ int dim_of_sum(int warp, int block, int second, int of_lane) {
  return warp * S::kWarpDims + 16 * block + (S::Int8 ? 2 * of_lane + second : of_lane + 8 * second);
}

// Blocks of a cluster meet once: none writes into another before that has started, and prepared its heads.
__device__ __forceinline__ void arrive_in_cluster() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ __forceinline__ void wait_in_cluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ __forceinline__ uint32_t address_in(uint32_t address, int rank) {
  uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}
// Into another block's memory, announced to its barrier by their bytes.
__device__ __forceinline__ void send(uint32_t to, float2 v, uint32_t barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(to), "f"(v.x), "f"(v.y), "r"(barrier) : "memory");
}
__device__ __forceinline__ void send(uint32_t to, float4 v, uint32_t barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "r"(barrier) : "memory");
}

// Sums travel in the order in which lanes have them: [warp][kEach of 8 lanes * kWide].
template <class S> struct Fold {
  static constexpr int kBlocks = S::kWarpDims / 16, kWide = kBlocks > 1 ? 4 : 2, kEach = 2 * kBlocks / kWide, kHeld = (S::D + S::kThreads - 1) / S::kThreads;
  const SplitAttentionArgs& a;
  Shared<S>& shared;
  const int rank, n;      // of n heads this block folds the one of its rank
  const bool has_head;
  const int32_t place = threadIdx.x, dim;
  int64_t at;             // of its head in [sequences, heads]
  const float* from;      // gates, results and halves from this thread's first place on; null where none are wanted
  float* y;
  uint16_t* halves;
  uint32_t sums, barrier;

  static __device__ void init(Shared<S>& shared, int n_sources) {
    const uint32_t barrier = shared_address(&shared.sums_here);
    for (int i = n_sources; i < kCluster; i++) shared.stats[i] = {-INFINITY, 0};
    init_barrier(barrier, 1);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(n_sources * static_cast<int>(S::D * sizeof(float) + sizeof(float2))) : "memory");
    publish_barriers();
  }
  static __device__ int dim_at(int place) {
    const int in_warp = place % S::kWarpDims, value = in_warp / (8 * kWide) * kWide + in_warp % kWide;
    return dim_of_sum<S>(place / S::kWarpDims, value / 2, value % 2, in_warp % (8 * kWide) / kWide);
  }
  __device__ __forceinline__ Fold(const SplitAttentionArgs& args, Shared<S>& to, int32_t row, int first_head, int heads)
      : a(args), shared(to), rank(static_cast<int>(blockIdx.x % kCluster)), n(heads), has_head(rank < heads), dim(args.cache.key_dim), at(static_cast<int64_t>(blockIdx.z) * args.n_heads + first_head + rank) {
    const int32_t d = dim_at(place), k = (first_head + rank) * dim + d, width = a.n_heads * dim;
    const bool here = has_head && d < dim;
    from = here && a.gate ? a.gate + static_cast<int64_t>(row) * a.gate_stride + k : nullptr;
    y = here && a.y ? a.y + static_cast<int64_t>(row) * width + k : nullptr;
    halves = here && a.halves.data ? a.halves.data + half_at(a.halves.padded_rows, row, k) : nullptr;
    sums = shared_address(&shared.sums[rank][threadIdx.x / 32 % S::W * S::kWarpDims + threadIdx.x % 32 / 4 * kWide]), barrier = shared_address(&shared.sums_here);
    settle(from), settle(y), settle(halves), settle(sums), settle(barrier);
  }
  // Asked for as soon as it is there, used at the end.
  __device__ __forceinline__ void bring_gate() const {
    if (from) copy4(shared_address(shared.gate + place), from, true);
    commit_copies();
  }
  __device__ __forceinline__ void send_stats(int to, float2 stats) const {
    if (to < n) attention::send(address_in(shared_address(&shared.stats[rank]), to), stats, address_in(barrier, to));
  }
  // This lane has sums of heads 2 * (lane % 4) and + 1; blocks that have no head are sent nothing.
  __device__ __forceinline__ void send(const float (&v)[kBlocks][4]) const {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int to = static_cast<int>(threadIdx.x % 4) * 2 + i;
      if (to >= n) continue;
      const uint32_t there = address_in(sums, to), barrier_there = address_in(barrier, to);
#pragma unroll
      for (int e = 0; e < kEach; e++) {
        if constexpr (kWide == 4) attention::send(there + e * 8 * kWide * 4, float4{v[2 * e][i], v[2 * e][2 + i], v[2 * e + 1][i], v[2 * e + 1][2 + i]}, barrier_there);
        else attention::send(there + e * 8 * kWide * 4, float2{v[e][i], v[e][2 + i]}, barrier_there);
      }
    }
  }
  // What blocks of this cluster have, in their order; the result, or this cluster's part of it.
  __device__ __forceinline__ void receive(int n_sources, int cluster, int n_clusters) {
    wait_for(barrier, 0);
    float2 stats[kCluster];
#pragma unroll
    for (int i = 0; i < kCluster; i += 2) {
      const float4 two = *reinterpret_cast<const float4*>(&shared.stats[i]);
      stats[i] = {two.x, two.y}, stats[i + 1] = {two.z, two.w};
    }
    float v[kHeld][kCluster];
#pragma unroll
    for (int i = 0; i < kHeld; i++)
#pragma unroll
      for (int j = 0; j < kCluster; j++) v[i][j] = j < n_sources && is_place(i) ? shared.sums[j][place + i * S::kThreads] : 0;
    float folded[kHeld];
    const float2 all = fold(stats, v, folded);
    if (n_clusters == 1) put(folded, all.y);
    else meet(folded, all, cluster, n_clusters);
  }

 private:
  __device__ __forceinline__ bool is_place(int i) const { return S::D % S::kThreads == 0 || place + i * S::kThreads < S::D; }
  // Sums by sources of each peak and sum; returns the peak and the sum of all.
  template <int N> static __device__ __forceinline__ float2 fold(const float2 (&stats)[N], const float (&v)[kHeld][N], float (&folded)[kHeld]) {
    float top = stats[0].x, sum = 0;
#pragma unroll
    for (int j = 1; j < N; j++) top = fmaxf(top, stats[j].x);
#pragma unroll
    for (int i = 0; i < kHeld; i++) folded[i] = 0;
#pragma unroll
    for (int j = 0; j < N; j++) {
      const float weight = exp2_of(stats[j].x - top);
      sum += weight * stats[j].y;
#pragma unroll
      for (int i = 0; i < kHeld; i++) folded[i] += weight * v[i][j];
    }
    return {top, sum};
  }
  __device__ __forceinline__ void put(const float (&v)[kHeld], float sum) const {
    const float unit = __fdividef(1.0f, sum);
    wait_copies<0>();
    put_one(y, halves, from, shared.gate[place], v[0] * unit);
#pragma unroll
    for (int i = 1; i < kHeld; i++) {
      const int32_t further = dim_at(place + i * S::kThreads) - dim_at(place);
      if (dim_at(place) + further >= dim) continue;
      put_one(y ? y + further : nullptr, halves ? halves + half_at(a.halves.padded_rows, 0, further) : nullptr, from, from ? from[further] : 0, v[i] * unit);
    }
  }
  static __device__ __forceinline__ void put_one(float* y, uint16_t* halves, const float* gated_by, float gate, float v) {
    if (gated_by) v = gated(v, gate);
    if (y) *y = v;
    if (halves) *reinterpret_cast<__half*>(halves) = saturated(v);
  }
  // The last cluster to come folds the parts of all, in their order.
  __device__ __forceinline__ void meet(float (&v)[kHeld], float2 all, int cluster, int n_clusters) {
    constexpr int width = S::D + 4;
    float* parts = a.partials + at * kClusters * width;
    if (place == 0) *reinterpret_cast<float2*>(parts + cluster * width) = all;
#pragma unroll
    for (int i = 0; i < kHeld; i++)
      if (is_place(i)) parts[cluster * width + 4 + place + i * S::kThreads] = v[i];
    sync_threads<S>();
    if (place == 0) {
      uint32_t before;  // the last turn starts over
      asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(a.turns + at), "r"(n_clusters - 1) : "memory");
      shared.last = before + 1 == static_cast<uint32_t>(n_clusters);
    }
    sync_threads<S>();
    if (!shared.last) return;
    float2 stats[kClusters];
    float held[kHeld][kClusters];
#pragma unroll
    for (int j = 0; j < kClusters; j++) {
      stats[j] = j < n_clusters ? __ldcg(reinterpret_cast<const float2*>(parts + j * width)) : float2{-INFINITY, 0};
#pragma unroll
      for (int i = 0; i < kHeld; i++) held[i][j] = j < n_clusters && is_place(i) ? __ldcg(parts + j * width + 4 + place + i * S::kThreads) : 0;
    }
    all = fold(stats, held, v);
    put(v, all.y);
  }
};

}  // namespace cuda::attention
