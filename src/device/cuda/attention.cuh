// attention: what its kernels share: tensor core steps of 16 x 8 x 16, asynchronous copies, rows of paged caches, and norm and rotation of a head.
#pragma once
#include "device/cuda/attention.h"
#include "device/cuda/common.cuh"

namespace cuda::attention {

constexpr float kLog2e = 1.4426950408889634f;
constexpr uint32_t kFull = ~0u;

__device__ __forceinline__ float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float gated(float x, float gate) { return __fdividef(x, 1.0f + exp2_of(-gate * kLog2e)); }  // x * sigmoid(gate)
__device__ __forceinline__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
__device__ __forceinline__ void load_transposed(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
__device__ __forceinline__ uint32_t transpose(uint32_t r) {
  uint32_t t;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(t) : "r"(r));
  return t;
}
__device__ __forceinline__ void multiply(float* c, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
__device__ __forceinline__ uint32_t pack(float low, float high) {
  const __half2 h = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&h);
}
__device__ __forceinline__ __half saturated(float v) { return __float2half_rn(fminf(fmaxf(v, -65504.0f), 65504.0f)); }

// Worked out here, not where it is used: what is done before a wait costs nothing.
__device__ __forceinline__ void settle(uint32_t& x) { asm volatile("" : "+r"(x)); }
__device__ __forceinline__ void settle(float& x) { asm volatile("" : "+f"(x)); }
template <class T> __device__ __forceinline__ void settle(T*& x) {  // in global memory
  asm volatile("" : "+l"(x));
  __builtin_assume(__isGlobal(x));
}

// Two floats as halves, the largest half for what is beyond.
__device__ __forceinline__ uint32_t pack_saturated(float low, float high) {
  uint32_t r;
  asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

// 16 bytes; none is read and zeros are written where not `valid`.
__device__ __forceinline__ void copy16(uint32_t to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}
__device__ __forceinline__ void copy4(uint32_t to, const void* from, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(valid ? 4 : 0) : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Pending> __device__ __forceinline__ void wait_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory"); }

// Barriers in shared memory.
__device__ __forceinline__ void init_barrier(uint32_t barrier, int arrivals) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory"); }
__device__ __forceinline__ void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// What this thread has stored is seen by bulk copies and warpgroup products that start behind the next barrier.
__device__ __forceinline__ void make_visible() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void arrive(uint32_t barrier) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory"); }
__device__ __forceinline__ void arrive_when_copied(uint32_t barrier) { asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory"); }
__device__ __forceinline__ void wait_for(uint32_t barrier, int parity) {
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(barrier), "r"(parity) : "memory");
#else
  asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(barrier), "r"(parity) : "memory");
#endif
}

// Two bytes of x, each a signed code with its top bit flipped, as halves; `select` names them as prmt does.
template <uint32_t Select> __device__ __forceinline__ uint32_t two_codes(uint32_t x) {
  uint32_t r;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(0x64646464u), "n"(Select));
  const __half2 h = __hsub2(*reinterpret_cast<const __half2*>(&r), __half2half2(__ushort_as_half(0x6480)));  // 1024 + 128
  return *reinterpret_cast<const uint32_t*>(&h);
}

__device__ __forceinline__ uint32_t scaled(uint32_t codes, float scale) {
  const float2 v = __half22float2(*reinterpret_cast<const __half2*>(&codes));
  return pack(v.x * scale, v.y * scale);
}
// Eight codes as halves into 16 bytes of shared memory.
__device__ __forceinline__ void put_codes(uint32_t x, uint32_t y, float scale, uint32_t to) {
  x ^= 0x80808080u, y ^= 0x80808080u;
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(scaled(two_codes<0x4140>(x), scale)), "r"(scaled(two_codes<0x4342>(x), scale)), "r"(scaled(two_codes<0x4140>(y), scale)),
               "r"(scaled(two_codes<0x4342>(y), scale))
               : "memory");
}

// Where keys or values of one head lie, `data` being the one or the other.
template <bool Int8> struct CacheRows {
  static constexpr int kBytes = Int8 ? 1 : 2;
  int64_t stride;  // of pages
  int32_t page_tokens, n_kv_heads, dim, head;
  __device__ CacheRows(const CacheOnDevice& c, int32_t kv_head)
      : stride(page_stride(Int8 ? KvType::int8 : KvType::half, c.page_tokens, c.n_kv_heads, c.key_dim)), page_tokens(c.page_tokens), n_kv_heads(c.n_kv_heads), dim(c.key_dim), head(kv_head) {}
  __device__ uint8_t* row(void* data, int32_t page, int32_t token) const { return static_cast<uint8_t*>(data) + page * stride + (token * n_kv_heads + head) * dim * kBytes; }
  __device__ float* scale(void* data, int32_t page, int32_t token) const {
    return reinterpret_cast<float*>(static_cast<uint8_t*>(data) + page * stride + page_tokens * n_kv_heads * dim) + token * n_kv_heads + head;
  }
  __device__ int32_t token_bytes() const { return n_kv_heads * dim * kBytes; }
};

// cos and sin of a row's angles, times the magnitude: [half] each.
__device__ __forceinline__ void fill_angles(const HeadPreparation& p, int32_t position, float* table, int thread, int threads) {
  for (int i = thread; i < p.half; i += threads) {
    float s, c;
    sincosf(static_cast<float>(position) * p.inverse_frequencies[i], &s, &c);
    table[i] = c * p.magnitude, table[p.half + i] = s * p.magnitude;
  }
}

// One head of one row in a warp: lane l holds dims 4 l to 4 l + 3 of each 128; dims beyond `dim` are 0.
template <int Dim> struct Head {
  static constexpr int kQuads = (Dim + 127) / 128;
  float4 v[kQuads];
  static __device__ int at(int j) { return 4 * (threadIdx.x & 31) + 128 * j; }
  __device__ void load(const float* x, int dim) {
#pragma unroll
    for (int j = 0; j < kQuads; j++) v[j] = at(j) < dim ? *reinterpret_cast<const float4*>(x + at(j)) : float4{};
  }
  __device__ void load_gain(const float* gain, int dim) {
    if (gain) return load(gain, dim);
#pragma unroll
    for (int j = 0; j < kQuads; j++) v[j] = {1, 1, 1, 1};
  }
  __device__ void times(const Head& gain) {
#pragma unroll
    for (int j = 0; j < kQuads; j++) v[j] = {v[j].x * gain.v[j].x, v[j].y * gain.v[j].y, v[j].z * gain.v[j].z, v[j].w * gain.v[j].w};
  }
  __device__ void times(float f) {
#pragma unroll
    for (int j = 0; j < kQuads; j++) v[j] = {v[j].x * f, v[j].y * f, v[j].z * f, v[j].w * f};
  }
  // What the norm multiplies by, but for the gain.
  __device__ float unit(float per_dim, float eps) const {
    float sum = 0;
#pragma unroll
    for (int j = 0; j < kQuads; j++) sum += v[j].x * v[j].x + v[j].y * v[j].y + v[j].z * v[j].z + v[j].w * v[j].w;
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(warp_sum(sum) * per_dim + eps));
    return r;
  }
  __device__ void norm(const Head& gain, int dim, float eps) { times(unit(1.0f / dim, eps)), times(gain); }
  // The regular case, by shuffles: the first 2 * half <= 128 dims, partners half apart, half a multiple of 4.
  static __device__ bool is_regular(const HeadPreparation& p) { return !p.adjacent && p.half % 4 == 0 && p.half <= 64; }
  struct Turn { float4 c, s; int partner; };  // of this lane's first four dims
  static __device__ Turn turn_of(const HeadPreparation& p, const float* table) {
    const int d = at(0), i = d < p.half ? d : d - p.half, lane = threadIdx.x & 31;
    if (d >= 2 * p.half) return {{1, 1, 1, 1}, {}, lane};
    float4 s = *reinterpret_cast<const float4*>(table + p.half + i);
    if (d < p.half) s = {-s.x, -s.y, -s.z, -s.w};
    return {*reinterpret_cast<const float4*>(table + i), s, d < p.half ? lane + p.half / 4 : lane - p.half / 4};
  }
  __device__ void rotate(const Turn& t) {
    const float4 other = {__shfl_sync(kFull, v[0].x, t.partner), __shfl_sync(kFull, v[0].y, t.partner), __shfl_sync(kFull, v[0].z, t.partner), __shfl_sync(kFull, v[0].w, t.partner)};
    v[0] = {v[0].x * t.c.x + other.x * t.s.x, v[0].y * t.c.y + other.y * t.s.y, v[0].z * t.c.z + other.z * t.s.z, v[0].w * t.c.w + other.w * t.s.w};
  }
  // `scratch`: 2 * half floats of this warp's own.
  __device__ void rotate(const HeadPreparation& p, const float* table, float* scratch) {
    if (p.half == 0) return;
    if (p.adjacent || p.half % 4) return rotate_any(p, table, scratch);
    __syncwarp();
#pragma unroll
    for (int j = 0; j < kQuads; j++)
      if (at(j) < 2 * p.half) *reinterpret_cast<float4*>(scratch + at(j)) = v[j];
    __syncwarp();
#pragma unroll
    for (int j = 0; j < kQuads; j++) {
      if (at(j) >= 2 * p.half) continue;
      const bool second = at(j) >= p.half;
      const int i = second ? at(j) - p.half : at(j);
      const float4 c = *reinterpret_cast<const float4*>(table + i), other = *reinterpret_cast<const float4*>(scratch + (second ? i : i + p.half));
      float4 s = *reinterpret_cast<const float4*>(table + p.half + i);
      if (!second) s = {-s.x, -s.y, -s.z, -s.w};
      v[j] = {v[j].x * c.x + other.x * s.x, v[j].y * c.y + other.y * s.y, v[j].z * c.z + other.z * s.z, v[j].w * c.w + other.w * s.w};
    }
  }
  __device__ void rotate_any(const HeadPreparation& p, const float* table, float* scratch) {
    __syncwarp();
#pragma unroll
    for (int j = 0; j < kQuads; j++) {
      const float x[4] = {v[j].x, v[j].y, v[j].z, v[j].w};
#pragma unroll
      for (int i = 0; i < 4; i++)
        if (at(j) + i < 2 * p.half) scratch[at(j) + i] = x[i];
    }
    __syncwarp();
    const auto turn = [&](int d, float& x) {
      if (d >= 2 * p.half) return;
      const bool second = p.adjacent ? d & 1 : d >= p.half;
      const int i = p.adjacent ? d / 2 : second ? d - p.half : d;
      const float other = scratch[p.adjacent ? d ^ 1 : second ? d - p.half : d + p.half], c = table[i], s = table[p.half + i];
      x = second ? x * c + other * s : x * c - other * s;
    };
#pragma unroll
    for (int j = 0; j < kQuads; j++) turn(at(j), v[j].x), turn(at(j) + 1, v[j].y), turn(at(j) + 2, v[j].z), turn(at(j) + 3, v[j].w);
  }
  // Into a row of a cache, and of shared memory where `copy` is one.
  template <bool Int8> __device__ void store(const CacheRows<Int8>& rows, void* data, int32_t page, int32_t token, uint8_t* copy = nullptr, float* copied_scale = nullptr) const {
    uint8_t* row = rows.row(data, page, token);
    const int dim = rows.dim;
    if constexpr (Int8) {
      float peak = 0;
#pragma unroll
      for (int j = 0; j < kQuads; j++) peak = fmaxf(fmaxf(fmaxf(peak, fabsf(v[j].x)), fmaxf(fabsf(v[j].y), fabsf(v[j].z))), fabsf(v[j].w));
      peak = warp_max(peak);
      const float unit = peak / 127, inverse = peak > 0 ? 127 / peak : 0.0f;
      if ((threadIdx.x & 31) == 0) {
        *rows.scale(data, page, token) = unit;
        if (copy) *copied_scale = unit;
      }
#pragma unroll
      for (int j = 0; j < kQuads; j++) {
        const int a = __float2int_rn(v[j].x * inverse), b = __float2int_rn(v[j].y * inverse), c = __float2int_rn(v[j].z * inverse), d = __float2int_rn(v[j].w * inverse);
        const uint32_t codes = (a & 255) | (b & 255) << 8 | (c & 255) << 16 | static_cast<uint32_t>(d) << 24;
        if (at(j) < dim) *reinterpret_cast<uint32_t*>(row + at(j)) = codes;
        if (copy && at(j) < Dim) *reinterpret_cast<uint32_t*>(copy + at(j)) = codes;
      }
    } else {
#pragma unroll
      for (int j = 0; j < kQuads; j++) {
        const uint2 h = {pack_saturated(v[j].x, v[j].y), pack_saturated(v[j].z, v[j].w)};
        if (at(j) < dim) *reinterpret_cast<uint2*>(row + 2 * at(j)) = h;
        if (copy && at(j) < Dim) *reinterpret_cast<uint2*>(copy + 2 * at(j)) = h;
      }
    }
  }
};

// The irregular cases, apart from the regular one.
template <int Dim> __device__ __noinline__ Head<Dim> rotated(Head<Dim> head, const HeadPreparation& p, const float* table, float* scratch) {
  head.rotate(p, table, scratch);
  return head;
}

// Finished results of one row, dims k on of all heads: as floats, as halves, or both.
__device__ __forceinline__ void put_quad(float* y, const Halves& halves, int32_t row, int32_t width, int32_t k, float4 v) {
  if (y) *reinterpret_cast<float4*>(y + static_cast<int64_t>(row) * width + k) = v;
  if (!halves.data) return;
  const __half h[4] = {saturated(v.x), saturated(v.y), saturated(v.z), saturated(v.w)};
  *reinterpret_cast<uint2*>(halves.data + half_at(halves.padded_rows, row, k)) = *reinterpret_cast<const uint2*>(h);
}
__device__ __forceinline__ void put_pair(float* y, const Halves& halves, int32_t row, int32_t width, int32_t k, float2 v) {
  if (y) *reinterpret_cast<float2*>(y + static_cast<int64_t>(row) * width + k) = v;
  if (halves.data) *reinterpret_cast<__half2*>(halves.data + half_at(halves.padded_rows, row, k)) = __halves2half2(saturated(v.x), saturated(v.y));
}
// One row of one head from sums as products leave them: of each 8 dims this lane has 2, sums[8 m' + 2 i] and + 1 times `unit`. Gates are read many at a
// time: the compiler must assume that results overwrite them.
template <int N> __device__ __forceinline__ void put_row(const FlashAttentionArgs& a, const float (&sums)[N], int i, float unit, int32_t row, int32_t head) {
  const int32_t dim = a.cache.key_dim, first = head * dim + static_cast<int>(threadIdx.x & 3) * 2;
  constexpr int tiles = N / 4, batch = tiles < 16 ? tiles : 16;
#pragma unroll
  for (int begin = 0; begin < tiles; begin += batch) {
    float2 gate[batch];
#pragma unroll
    for (int m = 0; m < batch; m++)
      if (a.gate && 8 * (begin + m) < dim) gate[m] = *reinterpret_cast<const float2*>(a.gate + static_cast<int64_t>(row) * a.gate_stride + first + 8 * (begin + m));
#pragma unroll
    for (int m = 0; m < batch; m++) {
      if (8 * (begin + m) >= dim) continue;
      float2 v = {sums[4 * (begin + m) + 2 * i] * unit, sums[4 * (begin + m) + 2 * i + 1] * unit};
      if (a.gate) v = {gated(v.x, gate[m].x), gated(v.y, gate[m].y)};
      put_pair(a.y, a.halves, row, a.n_heads * dim, first + 8 * (begin + m), v);
    }
  }
}

// Positions [first, first + n) of a sequence that a block of flash attention takes, and the keys that any of them sees. The longest contexts start first.
struct FlashTile {
  SequenceOnDevice sequence;
  int32_t first, n, begin, end;
  __device__ int32_t index(int32_t position) const { return sequence.past + first + position; }
};
__device__ __forceinline__ bool find_tile(const FlashAttentionArgs& a, int32_t positions, FlashTile& t) {
  const int lane = threadIdx.x & 31;
  int32_t tile = static_cast<int32_t>(gridDim.y - 1 - blockIdx.y);
  for (int32_t at = 0; at < a.n_sequences; at += 32) {
    const int32_t rows = at + lane < a.n_sequences ? a.step.sequences[at + lane].n_rows : 0;
    int32_t upto = rows > 1 ? (rows + positions - 1) / positions : 0;
    const int32_t mine = upto;
#pragma unroll
    for (int o = 1; o < 32; o <<= 1) {
      const int32_t other = __shfl_up_sync(kFull, upto, o);
      if (lane >= o) upto += other;
    }
    const uint32_t behind = __ballot_sync(kFull, upto > tile);
    if (behind == 0) {
      tile -= __shfl_sync(kFull, upto, 31);
      continue;
    }
    const int found = __ffs(behind) - 1;
    t.sequence = a.step.sequences[at + found];
    t.first = (tile - __shfl_sync(kFull, upto - mine, found)) * positions;
    t.n = min(positions, t.sequence.n_rows - t.first);
    t.begin = a.window > 0 ? max(0, t.index(0) + 1 - a.window) : 0;
    t.end = a.causal ? t.index(t.n) : t.sequence.past + t.sequence.n_rows;
    return true;
  }
  return false;
}

}  // namespace cuda::attention
