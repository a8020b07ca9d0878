// operand: few rows of inputs as tensor cores take them beside strips, and their products with one strip.
//
// A warp takes its inputs in chunks: 128 inputs, or 64 where scales are of 16. Beside codes of up to 8 bits inputs are 16-bit integers, scaled by the largest
// of the row's chunk: high and low byte are two columns of an int8 product, exact whatever the order. One row fills all 8 columns: columns 2 q and 2 q + 1 take
// quarter q of a chunk alone, so that one chain of instructions yields what each scale multiplies. Beside f16 codes inputs are halves, and column n takes the n-th 16.
// Several rows share a strip's codes, four of them an instruction; their sums are formed in the same order, so that each row's are the same to the last bit.
#pragma once
#include "device/cuda/common.cuh"
#include "device/cuda/source.h"
#include "device/cuda/strips.h"

namespace cuda {

template <Codes C> constexpr bool is_nibbles = C == Codes::u4 || C == Codes::u5 || C == Codes::u6;
template <Codes C, int G> struct Chunk {
  static constexpr bool halves = C == Codes::f16, fine = !halves && G == 4;
  static constexpr int blocks = fine ? 1 : 2, inputs = blocks * kBlockInputs;
  static constexpr int pairs = halves || fine ? 2 : 4;  // of neighbouring inputs that a lane brings in: 8 inputs apart from the first on
  __device__ __forceinline__ static int first_input(int lane) { return (halves ? 16 * (lane >> 2) : fine ? 16 * (lane >> 3) : 32 * (lane >> 3)) + 2 * (lane & 3); }
  // Over the inputs of a chunk: lanes hold each input once (halves) or twice.
  __device__ __forceinline__ static float sum(float v) {
    v += __shfl_xor_sync(~0u, v, 1), v += __shfl_xor_sync(~0u, v, 2);
    if constexpr (halves) v += __shfl_xor_sync(~0u, v, 4);
    v += __shfl_xor_sync(~0u, v, 8);
    return v + __shfl_xor_sync(~0u, v, 16);
  }
  template <int N> __device__ __forceinline__ static void sum_all(float (&v)[N]) {  // side by side
#pragma unroll
    for (int apart = 1; apart < 32; apart *= 2) {
      if (apart == 4 && !halves) continue;
#pragma unroll
      for (int i = 0; i < N; i++) v[i] += __shfl_xor_sync(~0u, v[i], apart);
    }
  }
};

// ---- tensor cores -------------------------------------------------------------------------------------------------------

__device__ __forceinline__ void multiply_halves(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <bool Signed> __device__ __forceinline__ void multiply_bytes(int (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (Signed)
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ uint32_t halves_of(float low, float high) {  // saturating
  const __half2 pair = __floats2half2_rn(fminf(fmaxf(low, -65504.0f), 65504.0f), fminf(fmaxf(high, -65504.0f), 65504.0f));
  return reinterpret_cast<const uint32_t&>(pair);
}

// Codes of a block as a lane holds them. half<H>: bytes of 32 inputs, u4 times 16; slab<S>: halves of 16 inputs.
template <Codes C> constexpr int code_factor = C == Codes::u4 ? 16 : 1;
template <Codes C> struct LaneCodes {
  static constexpr int n = C == Codes::f16 ? 4 : C == Codes::s8 ? 2 : 1;
  uint4 words[n];
  uint32_t planes[2];
  __device__ __forceinline__ void read(const uint8_t* codes, int lane) { read(codes + 16 * lane, codes + 512 + 4 * lane); }
  __device__ __forceinline__ void read(const uint8_t* own_words, const uint8_t* own_planes) {
#pragma unroll
    for (int i = 0; i < n; i++) words[i] = *reinterpret_cast<const uint4*>(own_words + 512 * i);
    if constexpr (C == Codes::u5 || C == Codes::u6) planes[0] = *reinterpret_cast<const uint32_t*>(own_planes);
    if constexpr (C == Codes::u6) planes[1] = *reinterpret_cast<const uint32_t*>(own_planes + 128);
  }
  template <int Slab> __device__ __forceinline__ void slab(uint32_t (&a)[4]) const { a[0] = words[Slab].x, a[1] = words[Slab].y, a[2] = words[Slab].z, a[3] = words[Slab].w; }
  // Bits t, t + 1, t + 16 and t + 17 of a plane, to bit `To` of bytes 0, 1, 2 and 3.
  template <int T, int To> __device__ __forceinline__ static uint32_t spread(uint32_t plane) {
    constexpr uint32_t even = 0x00010001u << To, odd = even << 8;
    const uint32_t a = T <= To ? plane << (To - T & 31) : plane >> (T - To & 31);
    constexpr int up = 8 + To - T - 1;
    const uint32_t b = up >= 0 ? plane << (up & 31) : plane >> (-up & 31);
    return (a & even) | (b & odd);
  }
  template <int Half> __device__ __forceinline__ void half(uint32_t (&a)[4]) const {
    if constexpr (C == Codes::s8) {
      a[0] = words[Half].x, a[1] = words[Half].y, a[2] = words[Half].z, a[3] = words[Half].w;
    } else {
      const uint32_t low = Half ? words[0].z : words[0].x, high = Half ? words[0].w : words[0].y;
      if constexpr (C == Codes::u4) {
        a[0] = low * 16 & 0xf0f0f0f0u, a[1] = high * 16 & 0xf0f0f0f0u, a[2] = low & 0xf0f0f0f0u, a[3] = high & 0xf0f0f0f0u;
      } else {
        a[0] = low & 0x0f0f0f0fu, a[1] = high & 0x0f0f0f0fu, a[2] = low >> 4 & 0x0f0f0f0fu, a[3] = high >> 4 & 0x0f0f0f0fu;
        a[0] |= spread<8 * Half, 4>(planes[0]), a[1] |= spread<8 * Half + 4, 4>(planes[0]), a[2] |= spread<8 * Half + 2, 4>(planes[0]), a[3] |= spread<8 * Half + 6, 4>(planes[0]);
        if constexpr (C == Codes::u6)
          a[0] |= spread<8 * Half, 5>(planes[1]), a[1] |= spread<8 * Half + 4, 5>(planes[1]), a[2] |= spread<8 * Half + 2, 5>(planes[1]), a[3] |= spread<8 * Half + 6, 5>(planes[1]);
      }
    }
  }
};

struct RowScales { float scale[2], min[2]; };  // of rows r and r + 8
__device__ __forceinline__ float2 pair_of_halves(uint32_t bits) { return __half22float2(reinterpret_cast<const __half2&>(bits)); }
// Bytes from one row, and one group, to the next; super forms: `own` of what a group has, `shared` of what its block has once.
template <Scales S> struct ScaleSteps {
  static constexpr bool super = S == Scales::super || S == Scales::super_min;
  static constexpr int once = S == Scales::super ? 32 : S == Scales::super_min ? 64 : 0, once_row = once / 8;
  static constexpr int group = scale_bytes(S, 2) - scale_bytes(S, 1), row = group / 8;
};
template <Scales S> __device__ __forceinline__ RowScales row_scales(const uint8_t* own, const uint8_t* once) {
  RowScales out{};
  if constexpr (S == Scales::f16) {
    const float2 s = pair_of_halves(*reinterpret_cast<const uint32_t*>(own));
    out.scale[0] = s.x, out.scale[1] = s.y;
  } else if constexpr (S == Scales::f16_min || S == Scales::bf16_min) {
    const uint2 bits = *reinterpret_cast<const uint2*>(own);
    if constexpr (S == Scales::bf16_min) {
      out.scale[0] = __uint_as_float(bits.x << 16), out.scale[1] = __uint_as_float(bits.x & 0xffff0000u), out.min[0] = __uint_as_float(bits.y << 16), out.min[1] = __uint_as_float(bits.y & 0xffff0000u);
    } else {
      const float2 s = pair_of_halves(bits.x), m = pair_of_halves(bits.y);
      out.scale[0] = s.x, out.scale[1] = s.y, out.min[0] = m.x, out.min[1] = m.y;
    }
  } else if constexpr (S == Scales::f32_min) {
    const float4 v = *reinterpret_cast<const float4*>(own);
    out.scale[0] = v.x, out.scale[1] = v.y, out.min[0] = v.z, out.min[1] = v.w;
  } else if constexpr (S == Scales::super) {
    const float2 d = pair_of_halves(*reinterpret_cast<const uint32_t*>(once));
    const uint16_t sub = *reinterpret_cast<const uint16_t*>(own);
    out.scale[0] = d.x * static_cast<float>(static_cast<int8_t>(sub & 255)), out.scale[1] = d.y * static_cast<float>(static_cast<int8_t>(sub >> 8));
  } else if constexpr (S == Scales::super_min) {
    const uint2 bits = *reinterpret_cast<const uint2*>(once);
    const uint32_t sub = *reinterpret_cast<const uint32_t*>(own);
    const float2 d = pair_of_halves(bits.x), m = pair_of_halves(bits.y);
    out.scale[0] = d.x * static_cast<float>(sub & 255), out.scale[1] = d.y * static_cast<float>(sub >> 8 & 255);
    out.min[0] = -m.x * static_cast<float>(sub >> 16 & 255), out.min[1] = -m.y * static_cast<float>(sub >> 24);
  }
  return out;
}
template <Scales S, int G> __device__ __forceinline__ RowScales row_scales(const uint8_t* block, int g, int r) {
  using Steps = ScaleSteps<S>;
  return row_scales<S>(block + Steps::once + Steps::group * g + Steps::row * r, block + Steps::once_row * r);
}

// Where a lane finds its part of a chunk, in bytes from the chunk's beginning. Opaque to the compiler, which would rather compute them again for every strip.
template <Codes C, Scales S, int G> struct LanePlace {
  uint32_t words, planes, scales, once;
  __device__ __forceinline__ explicit LanePlace(int lane) {
    using Steps = ScaleSteps<S>;
    constexpr int first = scale_bytes(S, G);
    const int r = lane >> 2, c = lane & 3, block = Chunk<C, G>::blocks == 2 && c >= 2 ? block_bytes(C, S, G) : 0, g = G == 2 ? c & 1 : G == 4 ? c : 0;
    words = first + 16 * lane, planes = first + 512 + 4 * lane, scales = block + Steps::once + Steps::group * g + Steps::row * r, once = block + Steps::once_row * r;
    asm volatile("" : "+r"(words));
    if constexpr (C == Codes::u5 || C == Codes::u6) asm volatile("" : "+r"(planes));
    if constexpr (S != Scales::none) asm volatile("" : "+r"(scales));
    if constexpr (Steps::super) asm volatile("" : "+r"(once));
  }
};

// ---- operands -----------------------------------------------------------------------------------------------------------

// One row's chunk. b is the lane's own: of columns lane / 4; start and sum belong to quarter lane % 4: what integer sums begin with (minus the codes' offset
// times all inputs), and all inputs. Products are multiplied by scale.
struct Operand {
  uint32_t b[2];
  int start;
  float sum, scale;
};

// Larger floats win, NaN wins over all.
__device__ __forceinline__ float larger(float a, float b) {
  float m;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b));
  return m;
}

// v: the lane's inputs, as Chunk says.
template <Codes C, int G> __device__ __forceinline__ Operand operand_of(const float2 (&v)[Chunk<C, G>::pairs], int offset, int lane) {
  Operand out{};
  out.scale = 1;
  if constexpr (C == Codes::f16) {
    out.b[0] = halves_of(v[0].x, v[0].y), out.b[1] = halves_of(v[1].x, v[1].y);
  } else {
    constexpr int pairs = Chunk<C, G>::pairs;
    float peak = 0;
#pragma unroll
    for (int i = 0; i < pairs; i++) peak = larger(peak, larger(fabsf(v[i].x), fabsf(v[i].y)));
    peak = __uint_as_float(__reduce_max_sync(~0u, __float_as_uint(peak)));
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(fmaxf(peak, 1e-30f)));
    const float to_integer = 32512.0f * inverse;
    const bool low = lane & 4;
    const uint32_t select = low ? 0x40 : 0x51, flip = low ? 0x80808080u : 0;
    uint32_t bytes[2 * pairs];  // integer + 128 in the lower 16 bits: its high byte, and its low byte with the sign turned, are the two columns
#pragma unroll
    for (int i = 0; i < pairs; i++)
      bytes[2 * i] = __float_as_uint(fmaf(v[i].x, to_integer, 12582912.0f + 128)), bytes[2 * i + 1] = __float_as_uint(fmaf(v[i].y, to_integer, 12582912.0f + 128));
#pragma unroll
    for (int i = 0; i < pairs / 2; i++) {
      const uint32_t* t = bytes + 4 * i;
      const uint32_t first = is_nibbles<C> ? __byte_perm(t[0], t[2], select) : __byte_perm(t[0], t[1], select), second = is_nibbles<C> ? __byte_perm(t[1], t[3], select) : __byte_perm(t[2], t[3], select);
      out.b[i] = __byte_perm(first, second, 0x5410) ^ flip;
    }
    int sums[4] = {};
    const uint32_t ones[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
    multiply_bytes<true>(sums, ones, out.b[0], out.b[1]);
    const int all = (256 * sums[0] + sums[1]) * code_factor<C>;
    out.start = -offset * all, out.sum = static_cast<float>(all), out.scale = peak * (1.0f / (32512.0f * code_factor<C>));
  }
  return out;
}

// p[0], p[1] += this lane's part of rows lane / 4 and lane / 4 + 8 of a chunk of a strip. Pair: the chunk has a second block; else its inputs are zero.
template <Codes C, Scales S, int G> __device__ __forceinline__ void add_product(const uint8_t* chunk, const LanePlace<C, S, G>& place, const Operand& x, int lane, float (&p)[2], bool pair = true) {
  constexpr int blocks = Chunk<C, G>::blocks, block_size = block_bytes(C, S, G);
  LaneCodes<C> codes[blocks];
  codes[0].read(chunk + place.words, chunk + place.planes);
  if constexpr (blocks == 2) codes[1].read(chunk + place.words + (pair ? block_size : 0), chunk + place.planes + (pair ? block_size : 0));
  uint32_t a[4];
  if constexpr (C == Codes::f16) {
    float sum[4] = {};
    const auto slab = [&](int at) { multiply_halves(sum, a, lane >> 2 == at ? x.b[0] : 0, lane >> 2 == at ? x.b[1] : 0); };
    codes[0].template slab<0>(a), slab(0), codes[0].template slab<1>(a), slab(1), codes[0].template slab<2>(a), slab(2), codes[0].template slab<3>(a), slab(3);
    codes[1].template slab<0>(a), slab(4), codes[1].template slab<1>(a), slab(5), codes[1].template slab<2>(a), slab(6), codes[1].template slab<3>(a), slab(7);
    p[0] = fmaf(x.scale, __fadd_rn(sum[0], sum[1]), p[0]), p[1] = fmaf(x.scale, __fadd_rn(sum[2], sum[3]), p[1]);
  } else {
    int sum[4] = {0, x.start, 0, x.start};
    const auto half = [&](int at) {
      if constexpr (Chunk<C, G>::fine)
        multiply_bytes<C == Codes::s8>(sum, a, lane >> 3 == 2 * at ? x.b[0] : 0, lane >> 3 == 2 * at + 1 ? x.b[0] : 0);
      else
        multiply_bytes<C == Codes::s8>(sum, a, lane >> 3 == at ? x.b[0] : 0, lane >> 3 == at ? x.b[1] : 0);
    };
    codes[0].template half<0>(a), half(0), codes[0].template half<1>(a), half(1);
    if constexpr (blocks == 2) codes[1].template half<0>(a), half(2), codes[1].template half<1>(a), half(3);
    const int back = blocks == 2 && !pair && (lane & 2) ? block_size : 0;
    const RowScales rows = row_scales<S>(chunk + place.scales - back, chunk + place.once - back);
    float first = __fmul_rn(rows.scale[0], static_cast<float>(256 * sum[0] + sum[1])), last = __fmul_rn(rows.scale[1], static_cast<float>(256 * sum[2] + sum[3]));
    if constexpr (has_min(S)) first = fmaf(rows.min[0], x.sum, first), last = fmaf(rows.min[1], x.sum, last);
    p[0] = fmaf(x.scale, first, p[0]), p[1] = fmaf(x.scale, last, p[1]);
  }
}
// Sums over the lanes of a row of the strip: even lanes get row lane / 4, odd ones row lane / 4 + 8.
__device__ __forceinline__ float row_sum(const float (&p)[2], int lane) {
  const bool odd = lane & 1;
  float v = __fadd_rn(odd ? p[1] : p[0], __shfl_xor_sync(~0u, odd ? p[0] : p[1], 1));
  return __fadd_rn(v, __shfl_xor_sync(~0u, v, 2));
}

// ---- several rows -------------------------------------------------------------------------------------------------------

// Operands of several rows in shared memory: b of each lane, then for each quarter its start and sum, then the scale.
struct OperandPlace {
  static constexpr int bytes = 256 + 32 + 16;
  __device__ __forceinline__ static void put(uint8_t* at, const Operand& x, int lane) {
    reinterpret_cast<uint2*>(at)[lane] = uint2{x.b[0], x.b[1]};
    if (lane < 4) reinterpret_cast<int2*>(at + 256)[lane] = int2{x.start, __float_as_int(x.sum)};
    if (lane == 0) *reinterpret_cast<float*>(at + 288) = x.scale;
  }
  __device__ __forceinline__ static Operand get(const uint8_t* at, int lane) {  // the same lane's
    const uint2 b = reinterpret_cast<const uint2*>(at)[lane];
    const int2 sums = reinterpret_cast<const int2*>(at + 256)[lane & 3];
    return {{b.x, b.y}, sums.x, __int_as_float(sums.y), *reinterpret_cast<const float*>(at + 288)};
  }
};

// What a lane sums of up to 8 rows: codes of bytes: rows c and c + 4 of the step, strip rows r and r + 8; halves: rows 2 c and 2 c + 1. Apart by the lane that
// would sum it if the row were alone.
struct ManySums { float p[4][4]; };

// operands: of the chunk, `row_bytes` between rows.
template <Codes C, Scales S, int G> __device__ __forceinline__ void add_products(const uint8_t* chunk, int second, const uint8_t* operands, int row_bytes, int n, int lane, ManySums& sums) {
  constexpr int scales = scale_bytes(S, G), blocks = Chunk<C, G>::blocks;
  const int r = lane >> 2, c = lane & 3;
  uint32_t a[4];
  LaneCodes<C> codes;
  if constexpr (C == Codes::f16) {
    const uint8_t* mine = operands + min(r, n - 1) * row_bytes;
    const float scale[2] = {*reinterpret_cast<const float*>(operands + min(2 * c, n - 1) * row_bytes + 288), *reinterpret_cast<const float*>(operands + min(2 * c + 1, n - 1) * row_bytes + 288)};
#pragma unroll
    for (int block = 0; block < 2; block++) {
      codes.read(chunk + block * second + scales, lane);
      float sum[4][4] = {};
      const auto slab = [&](int at) {
        const uint2 b = reinterpret_cast<const uint2*>(mine)[(4 * block + at) * 4 + c];
        multiply_halves(sum[at], a, b.x, b.y);
      };
      codes.template slab<0>(a), slab(0), codes.template slab<1>(a), slab(1), codes.template slab<2>(a), slab(2), codes.template slab<3>(a), slab(3);
#pragma unroll
      for (int i = 0; i < 4; i++) {
        sums.p[2 * block][i] = fmaf(scale[i & 1], __fadd_rn(sum[0][i], sum[1][i]), sums.p[2 * block][i]);
        sums.p[2 * block + 1][i] = fmaf(scale[i & 1], __fadd_rn(sum[2][i], sum[3][i]), sums.p[2 * block + 1][i]);
      }
    }
  } else {
#pragma unroll
    for (int j = 0; j < 4; j++) {  // quarters
      const uint8_t* block = chunk + (blocks == 2 && j >= 2 ? second : 0);
      if (j == 0 || (blocks == 2 && j == 2)) codes.read(block + scales, lane);
      if (blocks == 2 ? j & 1 : j >> 1) codes.template half<1>(a);
      else codes.template half<0>(a);
      const RowScales rows = row_scales<S, G>(block, G == 2 ? j & 1 : G == 4 ? j : 0, r);
#pragma unroll
      for (int set = 0; set < 2; set++) {
        if (4 * set >= n) break;
        const uint2 b = reinterpret_cast<const uint2*>(operands + min(4 * set + (lane >> 3), n - 1) * row_bytes)[8 * j + (lane & 7)];
        const uint8_t* mine = operands + min(4 * set + c, n - 1) * row_bytes;
        const int2 all = reinterpret_cast<const int2*>(mine + 256)[j];
        const float scale = *reinterpret_cast<const float*>(mine + 288);
        int sum[4] = {0, all.x, 0, all.x};
        if constexpr (Chunk<C, G>::fine)
          multiply_bytes<C == Codes::s8>(sum, a, j & 1 ? 0 : b.x, j & 1 ? b.x : 0);
        else
          multiply_bytes<C == Codes::s8>(sum, a, b.x, b.y);
        float first = __fmul_rn(rows.scale[0], static_cast<float>(256 * sum[0] + sum[1])), last = __fmul_rn(rows.scale[1], static_cast<float>(256 * sum[2] + sum[3]));
        if constexpr (has_min(S)) first = fmaf(rows.min[0], __int_as_float(all.y), first), last = fmaf(rows.min[1], __int_as_float(all.y), last);
        sums.p[j][2 * set] = fmaf(scale, first, sums.p[j][2 * set]), sums.p[j][2 * set + 1] = fmaf(scale, last, sums.p[j][2 * set + 1]);
      }
    }
  }
}
// f(row of the step, row of the strip, sum) for all of the lane's that exist.
template <Codes C, class F> __device__ __forceinline__ void for_each_sum(const ManySums& s, int n, int lane, F&& f) {
  const int r = lane >> 2, c = lane & 3;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int row = C == Codes::f16 ? 2 * c + (i & 1) : 4 * (i >> 1) + c, out = C == Codes::f16 ? r + 8 * (i >> 1) : r + 8 * (i & 1);
    if (row < n) f(row, out, __fadd_rn(__fadd_rn(s.p[0][i], s.p[1][i]), __fadd_rn(s.p[2][i], s.p[3][i])));
  }
}

}  // namespace cuda
