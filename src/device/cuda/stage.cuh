// stage: what the kernels of decoding are made of. A block of 16 warps owns some strips of a matrix and pulls them into shared memory before it waits for
// its input; each warp multiplies its share of the inputs on tensor cores, rows of the step being the 8 columns of an instruction; the warps' sums are added in order.
#pragma once
#include "device/cuda/common.cuh"
#include "device/cuda/project.h"
#include "device/cuda/source.h"
#include "device/cuda/strips.h"

namespace cuda {

constexpr int kHeldBlocks = 2;  // blocks of 64 inputs whose activations a warp holds in registers

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
// By the whole block.
__device__ __forceinline__ void await_arrival(uint64_t* barrier, uint32_t parity) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("{\n .reg .pred p;\n W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n @!p bra W;\n}" ::"r"(shared_address(barrier)), "r"(parity) : "memory");
#else
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
#endif
}

// ---- tensor cores -------------------------------------------------------------------------------------------------------

__device__ __forceinline__ void multiply_halves(float (&sum)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ uint32_t half_pair(float v) {
  const __half2 pair = __float2half2_rn(v);
  return reinterpret_cast<const uint32_t&>(pair);
}
__device__ __forceinline__ uint32_t halves_of(float low, float high) {  // saturating
  const __half2 pair = __floats2half2_rn(fminf(fmaxf(low, -65504.0f), 65504.0f), fminf(fmaxf(high, -65504.0f), 65504.0f));
  return reinterpret_cast<const uint32_t&>(pair);
}

template <Codes C> constexpr bool is_nibbles = C == Codes::u4 || C == Codes::u5 || C == Codes::u6;

// Codes of a block as a lane holds them, and the A fragment of one slab: halves 1024 + code, of odd slabs of nibbles 1024 + 16 * code, of bytes 1152 + code.
template <Codes C> struct LaneCodes {
  uint4 words[C == Codes::f16 ? 4 : C == Codes::s8 ? 2 : 1];
  uint32_t planes[2];
  __device__ __forceinline__ void read(const uint8_t* codes, int lane) {
#pragma unroll
    for (int i = 0; i < (C == Codes::f16 ? 4 : C == Codes::s8 ? 2 : 1); i++) words[i] = *reinterpret_cast<const uint4*>(codes + 512 * i + 16 * lane);
    if constexpr (C == Codes::u5 || C == Codes::u6) planes[0] = *reinterpret_cast<const uint32_t*>(codes + 512 + 4 * lane);
    if constexpr (C == Codes::u6) planes[1] = *reinterpret_cast<const uint32_t*>(codes + 640 + 4 * lane);
  }
  __device__ __forceinline__ static uint32_t moved(uint32_t plane, int from, int to) { return (from <= to ? plane << (to - from) : plane >> (from - to)) & (0x00010001u << to); }
  template <int Slab> __device__ __forceinline__ void slab(uint32_t (&a)[4]) const {
    if constexpr (C == Codes::f16) {
      a[0] = words[Slab].x, a[1] = words[Slab].y, a[2] = words[Slab].z, a[3] = words[Slab].w;
    } else if constexpr (C == Codes::s8) {
      const uint32_t low = (Slab & 1 ? words[Slab / 2].z : words[Slab / 2].x) ^ 0x80808080u, high = (Slab & 1 ? words[Slab / 2].w : words[Slab / 2].y) ^ 0x80808080u;
      a[0] = __byte_perm(low, 0x64646464u, 0x4140), a[1] = __byte_perm(high, 0x64646464u, 0x4140), a[2] = __byte_perm(low, 0x64646464u, 0x4342), a[3] = __byte_perm(high, 0x64646464u, 0x4342);
    } else {
      constexpr bool odd = Slab & 1;
      constexpr uint32_t mask = odd ? 0x00f000f0u : 0x000f000fu;
      const uint32_t low = Slab < 2 ? words[0].x : words[0].z, high = Slab < 2 ? words[0].y : words[0].w;
      a[0] = (low & mask) | 0x64006400u, a[1] = (high & mask) | 0x64006400u, a[2] = (low >> 8 & mask) | 0x64006400u, a[3] = (high >> 8 & mask) | 0x64006400u;
      if constexpr (C == Codes::u5 || C == Codes::u6) {
        constexpr int pair = 8 * (Slab / 2) + 2 * odd, to = odd ? 8 : 4;
        a[0] |= moved(planes[0], pair, to), a[2] |= moved(planes[0], pair + 1, to), a[1] |= moved(planes[0], pair + 4, to), a[3] |= moved(planes[0], pair + 5, to);
        if constexpr (C == Codes::u6) a[0] |= moved(planes[1], pair, to + 1), a[2] |= moved(planes[1], pair + 1, to + 1), a[1] |= moved(planes[1], pair + 4, to + 1), a[3] |= moved(planes[1], pair + 5, to + 1);
      }
    }
  }
};

struct RowScales { float scale[2], min[2]; };  // of rows r and r + 8
template <Scales S, int G> __device__ __forceinline__ RowScales row_scales(const uint8_t* block, int g, int r) {
  const auto pair_of_halves = [](uint32_t bits) { return __half22float2(reinterpret_cast<const __half2&>(bits)); };
  RowScales out{};
  if constexpr (S == Scales::f16) {
    const float2 s = pair_of_halves(*reinterpret_cast<const uint32_t*>(block + 32 * g + 4 * r));
    out.scale[0] = s.x, out.scale[1] = s.y;
  } else if constexpr (S == Scales::f16_min || S == Scales::bf16_min) {
    const uint2 bits = *reinterpret_cast<const uint2*>(block + 64 * g + 8 * r);
    if constexpr (S == Scales::bf16_min) {
      out.scale[0] = __uint_as_float(bits.x << 16), out.scale[1] = __uint_as_float(bits.x & 0xffff0000u), out.min[0] = __uint_as_float(bits.y << 16), out.min[1] = __uint_as_float(bits.y & 0xffff0000u);
    } else {
      const float2 s = pair_of_halves(bits.x), m = pair_of_halves(bits.y);
      out.scale[0] = s.x, out.scale[1] = s.y, out.min[0] = m.x, out.min[1] = m.y;
    }
  } else if constexpr (S == Scales::f32_min) {
    const float4 v = *reinterpret_cast<const float4*>(block + 128 * g + 16 * r);
    out.scale[0] = v.x, out.scale[1] = v.y, out.min[0] = v.z, out.min[1] = v.w;
  } else if constexpr (S == Scales::super) {
    const float2 d = pair_of_halves(*reinterpret_cast<const uint32_t*>(block + 4 * r));
    const uint16_t sub = *reinterpret_cast<const uint16_t*>(block + 32 + 16 * g + 2 * r);
    out.scale[0] = d.x * static_cast<float>(static_cast<int8_t>(sub & 255)), out.scale[1] = d.y * static_cast<float>(static_cast<int8_t>(sub >> 8));
  } else if constexpr (S == Scales::super_min) {
    const uint2 bits = *reinterpret_cast<const uint2*>(block + 8 * r);
    const uint32_t sub = *reinterpret_cast<const uint32_t*>(block + 64 + 32 * g + 4 * r);
    const float2 d = pair_of_halves(bits.x), m = pair_of_halves(bits.y);
    out.scale[0] = d.x * static_cast<float>(sub & 255), out.scale[1] = d.y * static_cast<float>(sub >> 8 & 255);
    out.min[0] = -m.x * static_cast<float>(sub >> 16 & 255), out.min[1] = -m.y * static_cast<float>(sub >> 24);
  }
  return out;
}

// ---- activations --------------------------------------------------------------------------------------------------------

// B fragments of up to kHeldBlocks blocks: lane (n = lane / 4, c = lane % 4) holds inputs 2c, 2c + 1 and 2c + 8, 2c + 9 of each slab, of row n.
struct Inputs { uint32_t b[kHeldBlocks][kSlabs][2]; };

// From halves in shared memory, [rows][stride], first the warp's own block 0; rows beyond n are read from 16 bytes of zeros.
template <Codes C> __device__ __forceinline__ void load_inputs(Inputs& in, const __half* x, int stride, int n, const void* zeros, int n_blocks, int lane) {
#pragma unroll
  for (int i = 0; i < kHeldBlocks; i++) {
    if (i >= n_blocks) break;
#pragma unroll
    for (int s = 0; s < kSlabs; s += 2) {
      const int row = lane & 7, piece = lane >> 3;
      const uint32_t at = shared_address(row < n ? static_cast<const void*>(x + row * stride + 64 * i + 16 * s + 8 * piece) : zeros);
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(in.b[i][s][0]), "=r"(in.b[i][s][1]), "=r"(in.b[i][s + 1][0]), "=r"(in.b[i][s + 1][1]) : "r"(at) : "memory");
      if constexpr (is_nibbles<C>) {  // odd slabs' codes come times 16
#pragma unroll
        for (int j = 0; j < 2; j++) {
          const __half2 v = __hmul2(reinterpret_cast<const __half2&>(in.b[i][s + 1][j]), __float2half2_rn(0.0625f));
          in.b[i][s + 1][j] = reinterpret_cast<const uint32_t&>(v);
        }
      }
    }
  }
}

// What does not depend on the weights, a group and a row each: what the sums start with (minus what the halves of codes have too much), and the sum of
// the inputs for mins. Tables [block][group][8 rows].
template <Codes C, Scales S, int G> __device__ __forceinline__ void fill_tables(const Inputs& in, int offset, int n_blocks, float* start, float* sums, int lane) {
  if constexpr (C == Codes::f16) {
    return;
  } else {
    const uint32_t even = half_pair(C == Codes::s8 ? -1152.0f - offset : -1024.0f - offset), odd = half_pair(C == Codes::s8 ? -1152.0f - offset : -1024.0f - 16.0f * offset);
    const uint32_t one = half_pair(1.0f), sixteen = half_pair(is_nibbles<C> ? 16.0f : 1.0f);
#pragma unroll
    for (int i = 0; i < kHeldBlocks; i++) {
      if (i >= n_blocks) break;
#pragma unroll
      for (int g = 0; g < G; g++) {
        float begin[4] = {}, sum[4] = {};
#pragma unroll
        for (int s = g * kSlabs / G; s < (g + 1) * kSlabs / G; s++) {
          const uint32_t a = s & 1 ? odd : even, w = s & 1 ? sixteen : one;
          multiply_halves(begin, a, a, a, a, in.b[i][s]);
          if constexpr (has_min(S)) multiply_halves(sum, w, w, w, w, in.b[i][s]);
        }
        if (lane < 4) {
          *reinterpret_cast<float2*>(start + (i * G + g) * 8 + 2 * lane) = float2{begin[0], begin[1]};
          if constexpr (has_min(S)) *reinterpret_cast<float2*>(sums + (i * G + g) * 8 + 2 * lane) = float2{sum[0], sum[1]};
        }
      }
    }
  }
}

// acc += one block of a strip (in shared memory) times its inputs. acc: rows r (0, 1) and r + 8 (2, 3), columns 2c and 2c + 1.
template <Codes C, Scales S, int G>
__device__ __forceinline__ void block_product(const uint8_t* block, const uint32_t (&b)[kSlabs][2], const float* start, const float* sums, int lane, float (&acc)[4]) {
  const int r = lane >> 2, c = lane & 3;
  LaneCodes<C> codes;
  codes.read(block + scale_bytes(S, G), lane);
  uint32_t a[kSlabs][4];
  codes.template slab<0>(a[0]), codes.template slab<1>(a[1]), codes.template slab<2>(a[2]), codes.template slab<3>(a[3]);
  if constexpr (C == Codes::f16) {
#pragma unroll
    for (int s = 0; s < kSlabs; s++) multiply_halves(acc, a[s][0], a[s][1], a[s][2], a[s][3], b[s]);
  } else {
#pragma unroll
    for (int g = 0; g < G; g++) {
      const float2 begin = *reinterpret_cast<const float2*>(start + g * 8 + 2 * c);
      float sum[4] = {begin.x, begin.y, begin.x, begin.y};
#pragma unroll
      for (int s = g * kSlabs / G; s < (g + 1) * kSlabs / G; s++) multiply_halves(sum, a[s][0], a[s][1], a[s][2], a[s][3], b[s]);
      const RowScales rows = row_scales<S, G>(block, g, r);
#pragma unroll
      for (int i = 0; i < 4; i++) acc[i] = fmaf(rows.scale[i / 2], sum[i], acc[i]);
      if constexpr (has_min(S)) {
        const float2 x = *reinterpret_cast<const float2*>(sums + g * 8 + 2 * c);
        acc[0] = fmaf(rows.min[0], x.x, acc[0]), acc[1] = fmaf(rows.min[0], x.y, acc[1]), acc[2] = fmaf(rows.min[1], x.x, acc[2]), acc[3] = fmaf(rows.min[1], x.y, acc[3]);
      }
    }
  }
}

// This lane's sums of one strip into [rows][16].
__device__ __forceinline__ void store_sums(float* to, const float (&acc)[4], int n, int lane) {
  const int r = lane >> 2, column = 2 * (lane & 3);
  if (column < n) to[column * kStripRows + r] = acc[0], to[column * kStripRows + r + 8] = acc[2];
  if (column + 1 < n) to[(column + 1) * kStripRows + r] = acc[1], to[(column + 1) * kStripRows + r + 8] = acc[3];
}

// ---- where a stage's input comes from -----------------------------------------------------------------------------------

// Code that runs once a launch is fetched once a launch: what most stages do not need stays out of line.
__device__ __forceinline__ float quick_sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }
__device__ __forceinline__ float activated(Activation kind, float g) {
  if (kind == Activation::silu) return g * quick_sigmoid(g);
  return g * quick_sigmoid(1.5957691216057308f * (g + 0.044715f * g * g * g));  // 0.5 (1 + tanh z) = sigmoid(2 z)
}

// Four floats of a row of `cols`, zeros behind its end.
__device__ __noinline__ inline float4 ragged_quad(const float* row, int k, int cols) { return {k < cols ? row[k] : 0.0f, k + 1 < cols ? row[k + 1] : 0.0f, k + 2 < cols ? row[k + 2] : 0.0f, k + 3 < cols ? row[k + 3] : 0.0f}; }
__device__ __forceinline__ float4 quad_at(const float* row, int k, int cols) {
  if ((cols & 3) == 0) return k < cols ? *reinterpret_cast<const float4*>(row + k) : float4{0, 0, 0, 0};
  return ragged_quad(row, k, cols);
}

// Of normed_heads: 1 / rms of a head, by one warp; all lanes get it.
__device__ __forceinline__ float head_factor(const Source& s, int m, int head, int lane) {
  const float* x = s.x + static_cast<int64_t>(m) * s.x_stride + static_cast<int64_t>(head) * s.head_dim;
  float squares = 0;
  for (int i = lane; i < s.head_dim; i += 32) squares += x[i] * x[i];
  return rsqrtf(warp_sum(squares) / static_cast<float>(s.head_dim) + s.eps);
}
__device__ __forceinline__ float4 source_weights(const Source& s, int k, int cols) {
  if (s.kind == SourceKind::normed_heads) return k < cols ? quad_at(s.gain, k % s.head_dim, s.head_dim) : float4{0, 0, 0, 0};
  return s.gain ? quad_at(s.gain, k, cols) : float4{1, 1, 1, 1};
}
// 1 / rms of the heads in which 128 inputs from `first` on lie, for any head width: the lane's own.
__device__ __noinline__ inline float any_head_factor(const Source& s, int m, int k, int cols, int lane) {
  const int first = __shfl_sync(~0u, k, 0), last = min(first + 127, cols - 1);
  float factor = 1;
  for (int head = first / s.head_dim; head <= last / s.head_dim; head++) {
    const float f = head_factor(s, m, head, lane);
    if (k / s.head_dim == head) factor = f;
  }
  return factor;
}
// Inputs k .. k + 3 of row m of a source with a gate, by one warp whose lanes hold neighbouring quads.
__device__ __forceinline__ float4 gated_quad(const Source& s, int m, int k, int cols, const float4& weights, int lane, bool whole_heads) {
  float4 v = quad_at(s.x + static_cast<int64_t>(m) * s.x_stride, k, cols), g = quad_at(s.g + static_cast<int64_t>(m) * s.g_stride, k, cols);
  if (s.kind == SourceKind::paired) return {activated(s.activation, v.x) * g.x, activated(s.activation, v.y) * g.y, activated(s.activation, v.z) * g.z, activated(s.activation, v.w) * g.w};
  const float4 gate{quick_sigmoid(g.x), quick_sigmoid(g.y), quick_sigmoid(g.z), quick_sigmoid(g.w)};
  if (s.kind == SourceKind::gated) return {v.x * gate.x, v.y * gate.y, v.z * gate.z, v.w * gate.w};
  const float factor = s.head_dim == 128 && whole_heads ? rsqrtf(warp_sum(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w) * (1.0f / 128) + s.eps) : any_head_factor(s, m, k, cols, lane);
  g.x *= gate.x, g.y *= gate.y, g.z *= gate.z, g.w *= gate.w;
  return {v.x * factor * weights.x * g.x, v.y * factor * weights.y * g.y, v.z * factor * weights.z * g.z, v.w * factor * weights.w * g.w};
}
// The same for any source. whole_heads: the warp's 128 inputs begin at a multiple of 128. `weights`: source_weights, read ahead. Of rms the caller multiplies by the row's own factor afterwards: it is the same for all
// inputs, so nobody has to wait for it; `squares` gets what it is made of.
__device__ __forceinline__ float4 source_quad(const Source& s, int m, int k, int cols, const float4& weights, int lane, bool whole_heads, float& squares) {
  if (s.kind > SourceKind::rms) return gated_quad(s, m, k, cols, weights, lane, whole_heads);
  const float4 v = quad_at(s.x + static_cast<int64_t>(m) * s.x_stride, k, cols);
  squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  if (s.kind == SourceKind::plain) return v;
  return {v.x * weights.x, v.y * weights.y, v.z * weights.z, v.w * weights.w};
}

// A warp's inputs as halves in shared memory, [n][stride]: blocks [warp * each, (warp + 1) * each) of rows first_row .. + n of the source. Of rms also the sum of
// their squares, to squares[warp * n + row]. `ahead`: source_weights of the lane's first quad. All lanes take part.
__device__ __forceinline__ void make_inputs(const Source& source, int cols, int each, int first_row, int n, __half* to, int stride, float* squares, int warp, int lane, const float4& ahead) {
  const int first = warp * each * kBlockInputs, inputs = each * kBlockInputs;
#pragma unroll 1
  for (int m = 0; m < n; m++) {
    float sum = 0;
#pragma unroll 1
    for (int p = 4 * lane; p < inputs + 4 * lane; p += 128) {
      const int k = first + p;
      const float4 weights = p < 128 ? ahead : source_weights(source, k, cols);
      const float4 v = source_quad(source, first_row + m, p < inputs ? k : cols, cols, weights, lane, (each & 1) == 0, sum);
      if (p < inputs) *reinterpret_cast<uint2*>(to + m * stride + p) = uint2{halves_of(v.x, v.y), halves_of(v.z, v.w)};
    }
    if (source.kind == SourceKind::rms) {
      sum = warp_sum(sum);
      if (lane == 0) squares[warp * n + m] = sum;
    }
  }
}
// What the products of a row are multiplied by.
__device__ __forceinline__ float row_factor(const Source& source, int cols, const float* squares, int n, int m) {
  if (source.kind != SourceKind::rms) return 1;
  float sum = 0;
#pragma unroll
  for (int w = 0; w < kStageWarps; w++) sum += squares[w * n + m];
  return rsqrtf(__fdividef(sum, static_cast<float>(cols)) + source.eps);
}

}  // namespace cuda
