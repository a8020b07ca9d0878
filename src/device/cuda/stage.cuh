// stage: what the kernels of decoding are made of. A block of 16 warps owns some strips of a matrix and pulls them into shared memory before it waits for its
// input; each warp multiplies its share of the inputs (operand.cuh) by all of them, and the warps' sums are added in order.
#pragma once
#include "device/cuda/operand.cuh"
#include "device/cuda/project.h"

namespace cuda {

// ---- weights on their way into shared memory ----------------------------------------------------------------------------

__device__ __forceinline__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// From Hopper on the copy engine brings whole strips and counts their bytes on a barrier; before, all threads copy 16 bytes each.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr bool kCopyEngine = true;
#else
constexpr bool kCopyEngine = false;
#endif
__device__ __forceinline__ void arrivals_init(uint64_t* barriers, int n) {  // by the whole block; visible after the next __syncthreads
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if (static_cast<int>(threadIdx.x) < n) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barriers + threadIdx.x)));
  if (static_cast<int>(threadIdx.x) < n) asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
// One thread: `bytes` (a multiple of 16) will arrive.
__device__ __forceinline__ void expect_bytes(uint64_t* barrier, uint32_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
#endif
}
// One thread with the copy engine, the whole block without.
__device__ __forceinline__ void pull(void* to, const void* from, uint32_t bytes, uint64_t* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier)) : "memory");
#else
  for (uint32_t i = 16 * threadIdx.x; i < bytes; i += 16 * blockDim.x)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to) + i), "l"(static_cast<const uint8_t*>(from) + i) : "memory");
#endif
}
// By the whole block; barrier: its shared_address.
__device__ __forceinline__ void await_arrival(uint32_t barrier, uint32_t parity) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("{\n .reg .pred p;\n W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n @!p bra W;\n}" ::"r"(barrier), "r"(parity) : "memory");
#else
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
#endif
}

// ---- where a stage's input comes from -----------------------------------------------------------------------------------

__device__ __forceinline__ float quick_sigmoid(float x) {  // without the care that __expf and __fdividef take of the smallest numbers
  float e, y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(-1.4426950408889634f * x));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(1.0f + e));
  return y;
}
__device__ __forceinline__ float quick_rsqrt(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float activated(Activation kind, float g) {
  if (kind == Activation::silu) return g * quick_sigmoid(g);
  return g * quick_sigmoid(1.5957691216057308f * (g + 0.044715f * g * g * g));  // 0.5 (1 + tanh z) = sigmoid(2 z)
}

// A lane's inputs of a chunk: pairs 8 apart. `whole`: pairs are aligned and within the row; else zeros behind its end.
template <int N> struct Pairs { float2 at[N]; };
CALLA_BOTH inline bool aligned_pairs(const Source& s) { return ((reinterpret_cast<uintptr_t>(s.x) | reinterpret_cast<uintptr_t>(s.gain) | static_cast<uintptr_t>(4 * s.x_stride)) & 7) == 0; }
template <int N> __device__ __forceinline__ Pairs<N> read_pairs(const float* row, int k, int cols, bool whole) {
  Pairs<N> out;
  if (whole) {
#pragma unroll
    for (int i = 0; i < N; i++) out.at[i] = *reinterpret_cast<const float2*>(row + k + 8 * i);
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) out.at[i] = float2{k + 8 * i < cols ? row[k + 8 * i] : 0.0f, k + 8 * i + 1 < cols ? row[k + 8 * i + 1] : 0.0f};
  }
  return out;
}
template <int N> __device__ __forceinline__ Pairs<N> ones() {
  Pairs<N> out;
#pragma unroll
  for (int i = 0; i < N; i++) out.at[i] = {1, 1};
  return out;
}

// How one warp makes the operands of its chunks. Gated: sources with a second input. Regular: rows are whole chunks, and aligned.
template <Codes C, int G, bool Gated, bool Regular> struct Maker {
  using Shape = Chunk<C, G>;
  static constexpr int N = Shape::pairs;
  struct Raw { Pairs<N> x, g; };
  const Source& source;
  int cols, offset, lane, own;  // own: the lane's first input of a chunk
  bool even;                    // rows and gains begin at multiples of 8 bytes
  __device__ __forceinline__ Maker(const Source& s, int cols, int offset, int lane) : source(s), cols(cols), offset(offset), lane(lane), own(Shape::first_input(lane)) {
    even = Regular || (aligned_pairs(s) && (!Gated || ((reinterpret_cast<uintptr_t>(s.g) | 4 * s.g_stride) & 7) == 0));
  }
  __device__ __forceinline__ bool whole(int chunk) const { return Regular || (even && (chunk + 1) * Shape::inputs <= cols); }
  // Does not depend on other kernels.
  __device__ __forceinline__ Pairs<N> weights(int chunk) const {
    return !Gated && source.gain ? read_pairs<N>(source.gain, chunk * Shape::inputs + own, cols, whole(chunk)) : ones<N>();
  }
  __device__ __forceinline__ Raw read(int row, int chunk) const {
    Raw out;
    out.x = read_pairs<N>(source.x + row * source.x_stride, chunk * Shape::inputs + own, cols, whole(chunk));
    if constexpr (Gated) out.g = read_pairs<N>(source.g + row * source.g_stride, chunk * Shape::inputs + own, cols, whole(chunk));
    return out;
  }
  // Of heads: what a chunk's products are multiplied by.
  __device__ __forceinline__ const float4* head_parts(int row, int chunk) const {
    return reinterpret_cast<const float4*>(source.squares) + static_cast<int64_t>(row) * (cols / source.head_dim) + chunk * Shape::inputs / source.head_dim;
  }
  __device__ __forceinline__ float head_factor(const float4& parts, float share) const { return quick_rsqrt(fmaf((parts.x + parts.y) + (parts.z + parts.w), share, source.eps)); }
  // squares: of rms the sum over the lane's x; the caller multiplies by the row's own factor afterwards, so that nobody has to wait for it.
  __device__ __forceinline__ void values(const Raw& raw, const Pairs<N>& weights, float2 (&v)[N], float& squares) const {
    if constexpr (!Gated) {
      float own_squares = 0;
#pragma unroll
      for (int i = 0; i < N; i++) own_squares = fmaf(raw.x.at[i].x, raw.x.at[i].x, own_squares), own_squares = fmaf(raw.x.at[i].y, raw.x.at[i].y, own_squares);
      squares = __fadd_rn(squares, own_squares);
#pragma unroll
      for (int i = 0; i < N; i++) v[i] = {raw.x.at[i].x * weights.at[i].x, raw.x.at[i].y * weights.at[i].y};
    } else if (source.kind == SourceKind::paired) {
#pragma unroll
      for (int i = 0; i < N; i++) v[i] = {activated(source.activation, raw.x.at[i].x) * raw.g.at[i].x, activated(source.activation, raw.x.at[i].y) * raw.g.at[i].y};
    } else {
#pragma unroll
      for (int i = 0; i < N; i++) v[i] = {raw.x.at[i].x * quick_sigmoid(raw.g.at[i].x), raw.x.at[i].y * quick_sigmoid(raw.g.at[i].y)};
    }
  }
  __device__ __forceinline__ Operand make(int row, int chunk, const Raw& raw, const Pairs<N>& weights, float& squares) const {
    float2 v[N];
    values(raw, weights, v, squares);
    Operand out = operand_of<C, G>(v, offset, lane);
    if (!Gated && source.kind == SourceKind::heads) out.scale *= head_factor(*head_parts(row, chunk), 1.0f / static_cast<float>(source.head_dim));
    return out;
  }
};

// ---- sums of the warps --------------------------------------------------------------------------------------------------

// [strip][row of the step][16 rows][kSumStride warps]
constexpr int kSumStride = kStageWarps + 4;
__device__ __forceinline__ float sum_of_warps(const float* from) {
  float4 v[kStageWarps / 4];
#pragma unroll
  for (int i = 0; i < kStageWarps / 4; i++) v[i] = reinterpret_cast<const float4*>(from)[i];
  float sum[kStageWarps / 4];
#pragma unroll
  for (int i = 0; i < kStageWarps / 4; i++) sum[i] = __fadd_rn(__fadd_rn(v[i].x, v[i].y), __fadd_rn(v[i].z, v[i].w));
  return __fadd_rn(__fadd_rn(sum[0], sum[1]), __fadd_rn(sum[2], sum[3]));
}
// What the products of a row are multiplied by. squares: [row of the step][warps]
__device__ __forceinline__ float row_factor(const Source& source, int cols, const float* squares, int m) {
  if (source.kind != SourceKind::rms) return 1;
  return quick_rsqrt(fmaf(sum_of_warps(squares + m * kStageWarps), 1.0f / static_cast<float>(cols), source.eps));
}

}  // namespace cuda
