// few: products of packed tiles with a few rows whose activations are 16-bit integers in two planes of 8: 16-byte loads of weights, dp4a, nothing but
// integers until a group's scale. What decoding is made of.
#pragma once
#include "device/cuda/tile.cuh"

namespace cuda {

// Which codes have this path; others go through tile.cuh.
template <PackCodes C> constexpr bool has_few = C == PackCodes::u4 || C == PackCodes::u5 || C == PackCodes::u6 || C == PackCodes::s8;
template <PackCodes C> constexpr int few_inputs = C == PackCodes::s8 ? 4 : 8;  // inputs of each of four rows that a lane takes at a time
template <PackCodes C> constexpr int few_chunks = C == PackCodes::s8 ? 1 : 2;  // chunks of 32 inputs that a warp takes at a time

// Four bits, one each into the lowest bit of four bytes.
__device__ __forceinline__ uint32_t spread(uint32_t bits) { return bits * 0x00204081u & 0x01010101u; }

// What a lane takes: rows 4 * (lane % 4) .. + 3 and inputs `at` .. of the warp's chunks.
template <PackCodes C> struct FewCodes {
  uint32_t first[4], second[4];  // four inputs of each row, and the four after them
  __device__ __forceinline__ void read(const uint8_t* chunks, int lane) {
    if constexpr (C == PackCodes::s8) {
      const uint4 w = __ldg(reinterpret_cast<const uint4*>(chunks + 16 * lane));
      first[0] = w.x, first[1] = w.y, first[2] = w.z, first[3] = w.w;
      return;
    }
    const uint8_t* chunk = chunks + lane / 16 * chunk_bytes_of<C>;
    const int piece = lane % 16, j = piece / 4, rows = piece % 4;
    const uint4 w = __ldg(reinterpret_cast<const uint4*>(chunk + 16 * piece));
    const uint32_t words[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
    for (int r = 0; r < 4; r++) first[r] = words[r] & 0x0f0f0f0fu, second[r] = words[r] >> 4 & 0x0f0f0f0fu;
    const auto plane = [&](int at, int shift) {
      const uint32_t a = *reinterpret_cast<const uint16_t*>(chunk + at + 16 * j + 2 * rows), b = *reinterpret_cast<const uint16_t*>(chunk + at + 16 * j + 8 + 2 * rows);
#pragma unroll
      for (int r = 0; r < 4; r++) first[r] |= spread(a >> (4 * r) & 15) << shift, second[r] |= spread(b >> (4 * r) & 15) << shift;
    };
    if constexpr (C == PackCodes::u5 || C == PackCodes::u6) plane(256, 4);
    if constexpr (C == PackCodes::u6) plane(320, 5);
  }
};
template <PackCodes C> __device__ __forceinline__ int few_at(int lane) { return C == PackCodes::s8 ? lane / 4 * 4 : lane / 16 * 32 + lane % 16 / 4 * 8; }

// Scales and mins of rows 4 * quarter .. + 3 of group g.
template <PackScales S> __device__ __forceinline__ void few_scales(const PackLayout& l, const uint8_t* block, int groups, int g, int quarter, float (&scale)[4], float (&min)[4]) {
  const auto halves = [&](int at, float(&to)[4], bool brain) {
    const uint2 v = __ldg(reinterpret_cast<const uint2*>(block + at + 8 * quarter));
    const uint32_t words[2] = {v.x, v.y};
#pragma unroll
    for (int i = 0; i < 2; i++) {
      if (brain) {
        to[2 * i] = bf16_value(words[i] & 0xffff), to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
      } else {
        const float2 f = __half22float2(reinterpret_cast<const __half2&>(words[i]));
        to[2 * i] = f.x, to[2 * i + 1] = f.y;
      }
    }
  };
  const auto floats = [&](int at, float(&to)[4]) {
    const float4 v = __ldg(reinterpret_cast<const float4*>(block + at + 16 * quarter));
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
  };
  if constexpr (S == PackScales::f16) halves(32 * g, scale, false);
  if constexpr (S == PackScales::f16_min || S == PackScales::bf16_min) halves(64 * g, scale, S == PackScales::bf16_min), halves(64 * g + 32, min, S == PackScales::bf16_min);
  if constexpr (S == PackScales::f32_min) floats(128 * g, scale), floats(128 * g + 64, min);
  if constexpr (S == PackScales::super || S == PackScales::super_min) {
    halves(0, scale, false);
    const uint32_t sub = word_at(block + 64 + 16 * g + 4 * quarter);
#pragma unroll
    for (int r = 0; r < 4; r++) scale[r] *= l.signed_scales ? static_cast<float>(static_cast<int8_t>(sub >> (8 * r))) : static_cast<float>(sub >> (8 * r) & 255);
    if constexpr (S == PackScales::super_min) {
      halves(32, min, false);
      const uint32_t sub_min = word_at(block + 64 + 16 * (groups + g) + 4 * quarter);
#pragma unroll
      for (int r = 0; r < 4; r++) min[r] *= -static_cast<float>(sub_min >> (8 * r) & 255);
    }
  }
}
template <PackScales S> constexpr bool has_min = S == PackScales::f16_min || S == PackScales::bf16_min || S == PackScales::f32_min || S == PackScales::super_min;

__device__ __forceinline__ int dot4(uint32_t weights, int x, int sum, bool is_signed) {
  if (is_signed) return __dp4a(static_cast<int>(weights), x, sum);
  asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(weights), "r"(x));
  return sum;
}

// One warp's piece of a tile: the codes and scales of some inputs of four rows a lane. Reading it needs nothing that another kernel writes.
template <PackCodes C, PackScales S> struct FewPiece {
  FewCodes<C> codes;
  float scale[4], least[4];  // value = scale * code + least
  int k;  // the lane's first input; negative: none
  __device__ __forceinline__ void read(const Matrix& w, const uint8_t* tile, int lane, int i) {
    constexpr int step = 32 * few_chunks<C>;
    const PackLayout& l = w.layout;
    const int per_block = l.block / step, block = i / per_block, e = i % per_block * step, first = block * l.block, inputs = min(l.block, w.cols - first), mine = few_at<C>(lane);
    k = first + e + mine;
    if (inputs <= 0 || e + mine >= inputs) {
      k = -1;
      return;
    }
    const int whole = static_cast<int>(cpu::scale_bytes(l, l.block)) + l.block / 32 * chunk_bytes_of<C>;
    const uint8_t* scales = tile + static_cast<int64_t>(block) * whole;
    codes.read(scales + cpu::scale_bytes(l, inputs) + e / 32 * chunk_bytes_of<C>, lane);
    few_scales<S>(l, scales, (inputs + l.scale_group - 1) / l.scale_group, (e + mine) / l.scale_group, lane & 3, scale, least);
  }
  template <int M> __device__ __forceinline__ void multiply(const Matrix& w, const Acts& x, int64_t first_row, int n, float (&acc)[M][4]) const {
    if (k < 0) return;
#pragma unroll
    for (int m = 0; m < M; m++) {
      if (m >= n) break;
      const int64_t at = (first_row + m) * w.cols + k;
      const float unit = x.scale[at / 16];
      int high[2], low[2];
      if constexpr (C == PackCodes::s8) {
        high[0] = *reinterpret_cast<const int*>(x.high + at), low[0] = *reinterpret_cast<const int*>(x.low + at);
      } else {
        const int2 h = *reinterpret_cast<const int2*>(x.high + at), o = *reinterpret_cast<const int2*>(x.low + at);
        high[0] = h.x, high[1] = h.y, low[0] = o.x, low[1] = o.y;
      }
      int sum_high = __dp4a(high[0], 0x01010101, 0), sum_low = __dp4a(low[0], 0x01010101, 0);
      if constexpr (C != PackCodes::s8) sum_high = __dp4a(high[1], 0x01010101, sum_high), sum_low = __dp4a(low[1], 0x01010101, sum_low);
      const int sum = 256 * sum_high + sum_low;
#pragma unroll
      for (int r = 0; r < 4; r++) {
        constexpr bool is_signed = C == PackCodes::s8;
        int a = dot4(codes.first[r], high[0], 0, is_signed), b = dot4(codes.first[r], low[0], 0, is_signed);
        if constexpr (C != PackCodes::s8) a = dot4(codes.second[r], high[1], a, false), b = dot4(codes.second[r], low[1], b, false);
        const float part = scale[r] * static_cast<float>(256 * a + b - w.layout.offset * sum);
        acc[m][r] += unit * (has_min<S> ? part + least[r] * static_cast<float>(sum) : part);
      }
    }
  }
};
template <PackCodes C> __device__ __forceinline__ int few_steps(int cols) { return (cols + 32 * few_chunks<C> - 1) / (32 * few_chunks<C>); }

// acc[m][r] += row 4 * (lane % 4) + r of the tile times row m of x, over this warp's share of the inputs; lanes with the same lane % 4 hold parts.
// The first pieces are read before `ready` is called, which waits until x is there.
template <PackCodes C, PackScales S, int M, int Ahead, class Ready>
__device__ __forceinline__ void few_product(const Matrix& w, const uint8_t* tile, const Acts& x, int64_t first_row, int n, int lane, int warp, int n_warps, float (&acc)[M][4], Ready&& ready) {
  const int steps = few_steps<C>(w.cols);
  FewPiece<C, S> pieces[Ahead];
#pragma unroll
  for (int p = 0; p < Ahead; p++) {
    pieces[p].k = -1;
    if (warp + p * n_warps < steps) pieces[p].read(w, tile, lane, warp + p * n_warps);
  }
  ready();
  for (int i = warp; i < steps; i += Ahead * n_warps) {
#pragma unroll
    for (int p = 0; p < Ahead; p++) {
      pieces[p].template multiply<M>(w, x, first_row, n, acc);
      const int next = i + (p + Ahead) * n_warps;
      pieces[p].k = -1;
      if (next < steps) pieces[p].read(w, tile, lane, next);
    }
  }
}

// Adds the lanes' parts up: afterwards lanes 0 to 3 hold rows 4 * lane + r.
template <int M> __device__ __forceinline__ void few_reduce(float (&acc)[M][4], int n) {
#pragma unroll
  for (int m = 0; m < M; m++) {
    if (m >= n) break;
#pragma unroll
    for (int r = 0; r < 4; r++)
#pragma unroll
      for (int o = 16; o >= 4; o >>= 1) acc[m][r] += __shfl_xor_sync(~0u, acc[m][r], o);
  }
}

// 16 neighbouring threads hold 16 neighbouring values at `at` (a multiple of 16, plus the thread's place): their 16-bit integers.
__device__ __forceinline__ void quantise16(const Acts& to, int64_t at, float v) {
  const unsigned half = 0xffffu << (threadIdx.x & 16);
  float peak = fabsf(v);
#pragma unroll
  for (int o = 8; o; o >>= 1) peak = fmaxf(peak, __shfl_xor_sync(half, peak, o));
  const int q = peak > 0 ? __float2int_rn(v * (32512.0f / peak)) : 0, high = (q + 128) >> 8;  // 127 * 256: the high part never leaves 8 bits
  to.high[at] = static_cast<int8_t>(high), to.low[at] = static_cast<int8_t>(q - 256 * high);
  if (at % 16 == 0) to.scale[at / 16] = peak / 32512.0f;
}

}  // namespace cuda
