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

// What a lane takes: rows 4 * (lane % 4) .. + 3 and inputs few_at .. of the warp's chunks. Reading only loads: nothing waits for memory before `unpack`,
// so that all pieces of a warp are on their way together.
template <PackCodes C> struct FewCodes {
  uint4 words;
  uint32_t planes[2];            // u5, u6: 16 bits of each half, for the fifth and the sixth bit
  uint32_t first[4], second[4];  // unpacked: four inputs of each row, and the four after them
  __device__ __forceinline__ void read(const uint8_t* chunks, int lane) {
    if constexpr (C == PackCodes::s8) {
      words = __ldg(reinterpret_cast<const uint4*>(chunks + 16 * lane));
      return;
    }
    const uint8_t* chunk = chunks + lane / 16 * chunk_bytes_of<C>;
    const int piece = lane % 16, j = piece / 4, rows = piece % 4;
    words = __ldg(reinterpret_cast<const uint4*>(chunk + 16 * piece));
    const auto plane = [&](int at) { return static_cast<uint32_t>(*reinterpret_cast<const uint16_t*>(chunk + at + 16 * j + 2 * rows)) | static_cast<uint32_t>(*reinterpret_cast<const uint16_t*>(chunk + at + 16 * j + 8 + 2 * rows)) << 16; };
    if constexpr (C == PackCodes::u5 || C == PackCodes::u6) planes[0] = plane(256);
    if constexpr (C == PackCodes::u6) planes[1] = plane(320);
  }
  __device__ __forceinline__ void unpack() {
    const uint32_t w[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int r = 0; r < 4; r++) {
      if constexpr (C == PackCodes::s8) {
        first[r] = w[r];
        continue;
      }
      first[r] = w[r] & 0x0f0f0f0fu, second[r] = w[r] >> 4 & 0x0f0f0f0fu;
      if constexpr (C == PackCodes::u5 || C == PackCodes::u6) first[r] |= spread(planes[0] >> (4 * r) & 15) << 4, second[r] |= spread(planes[0] >> (16 + 4 * r) & 15) << 4;
      if constexpr (C == PackCodes::u6) first[r] |= spread(planes[1] >> (4 * r) & 15) << 5, second[r] |= spread(planes[1] >> (16 + 4 * r) & 15) << 5;
    }
  }
};
template <PackCodes C> __device__ __forceinline__ int few_at(int lane) { return C == PackCodes::s8 ? lane / 4 * 4 : lane / 16 * 32 + lane % 16 / 4 * 8; }

// Scales and mins of rows 4 * quarter .. + 3 of one group: value = scale * code + least.
template <PackScales S> struct FewScales {
  uint4 words[2];  // as they are stored: up to four floats, or four halves in the first two words, of scales and of mins
  uint32_t sub, sub_min;
  __device__ __forceinline__ void read(const uint8_t* block, int groups, int g, int quarter) {
    const auto halves = [&](uint4& to, int at) {
      const uint2 v = __ldg(reinterpret_cast<const uint2*>(block + at + 8 * quarter));
      to.x = v.x, to.y = v.y;
    };
    if constexpr (S == PackScales::f16) halves(words[0], 32 * g);
    if constexpr (S == PackScales::f16_min || S == PackScales::bf16_min) halves(words[0], 64 * g), halves(words[1], 64 * g + 32);
    if constexpr (S == PackScales::f32_min) words[0] = __ldg(reinterpret_cast<const uint4*>(block + 128 * g + 16 * quarter)), words[1] = __ldg(reinterpret_cast<const uint4*>(block + 128 * g + 64 + 16 * quarter));
    if constexpr (S == PackScales::super || S == PackScales::super_min) halves(words[0], 0), sub = word_at(block + 64 + 16 * g + 4 * quarter);
    if constexpr (S == PackScales::super_min) halves(words[1], 32), sub_min = word_at(block + 64 + 16 * (groups + g) + 4 * quarter);
  }
  __device__ __forceinline__ void unpack(const PackLayout& l, float (&scale)[4], float (&least)[4]) const {
    const auto halves = [&](const uint4& from, float(&to)[4]) {
      const uint32_t w[2] = {from.x, from.y};
#pragma unroll
      for (int i = 0; i < 2; i++) {
        if constexpr (S == PackScales::bf16_min) {
          to[2 * i] = bf16_value(w[i] & 0xffff), to[2 * i + 1] = __uint_as_float(w[i] & 0xffff0000u);
        } else {
          const float2 f = __half22float2(reinterpret_cast<const __half2&>(w[i]));
          to[2 * i] = f.x, to[2 * i + 1] = f.y;
        }
      }
    };
    if constexpr (S == PackScales::f32_min) {
      const uint32_t a[4] = {words[0].x, words[0].y, words[0].z, words[0].w}, b[4] = {words[1].x, words[1].y, words[1].z, words[1].w};
#pragma unroll
      for (int r = 0; r < 4; r++) scale[r] = __uint_as_float(a[r]), least[r] = __uint_as_float(b[r]);
      return;
    }
    halves(words[0], scale);
    if constexpr (S == PackScales::f16_min || S == PackScales::bf16_min || S == PackScales::super_min) halves(words[1], least);
    if constexpr (S == PackScales::super || S == PackScales::super_min) {
#pragma unroll
      for (int r = 0; r < 4; r++) scale[r] *= l.signed_scales ? static_cast<float>(static_cast<int8_t>(sub >> (8 * r))) : static_cast<float>(sub >> (8 * r) & 255);
    }
    if constexpr (S == PackScales::super_min) {
#pragma unroll
      for (int r = 0; r < 4; r++) least[r] *= -static_cast<float>(sub_min >> (8 * r) & 255);
    }
  }
};
template <PackScales S> constexpr bool has_min = S == PackScales::f16_min || S == PackScales::bf16_min || S == PackScales::f32_min || S == PackScales::super_min;

__device__ __forceinline__ int dot4(uint32_t weights, int x, int sum, bool is_signed) {
  if (is_signed) return __dp4a(static_cast<int>(weights), x, sum);
  asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(weights), "r"(x));
  return sum;
}

// One warp's piece of a tile: the codes and scales of some inputs of four rows a lane. Reading it needs nothing that another kernel writes.
template <PackCodes C, PackScales S> struct FewPiece {
  FewCodes<C> codes;
  FewScales<S> scales;
  int k;  // the lane's first input; negative: none
  // Piece i of `steps`; one behind the last reads the first and counts for nothing.
  __device__ __forceinline__ void read(const Matrix& w, const uint8_t* tile, int lane, int i, int steps) {
    constexpr int step = 32 * few_chunks<C>;
    const PackLayout& l = w.layout;
    const int whole = static_cast<int>(cpu::scale_bytes(l, l.block)) + l.block / 32 * chunk_bytes_of<C>;
    const int piece = i < steps ? i : 0, per_block = l.block / step, block = piece / per_block, first = block * l.block, inputs = min(l.block, w.cols - first);
    const int e = (piece - block * per_block) * step, mine = few_at<C>(lane), at = e + mine < inputs ? e + mine : 0;
    k = i < steps && e + mine < inputs ? first + e + mine : -1;
    const uint8_t* block_at = tile + static_cast<int64_t>(block) * whole;
    codes.read(block_at + cpu::scale_bytes(l, inputs) + (e + mine < inputs ? e / 32 * chunk_bytes_of<C> : 0), e + mine < inputs ? lane : lane % 16);
    scales.read(block_at, (inputs + l.scale_group - 1) / l.scale_group, at / l.scale_group, lane & 3);
  }
  template <int M> __device__ __forceinline__ void multiply(const Matrix& w, const Acts& x, int64_t first_row, int n, float (&acc)[M][4]) {
    if (k < 0) return;
    codes.unpack();
    float scale[4], least[4];
    scales.unpack(w.layout, scale, least);
#pragma unroll
    for (int m = 0; m < M; m++) {
      if (m >= n) break;
      const int64_t at = (first_row + m) * w.cols + k;
      const float unit = x.scale[at / 16];
      const auto integers = [&](const int8_t* plane, int (&sums)[4], int& sum) {
        int v[2];
        if constexpr (C == PackCodes::s8) {
          v[0] = *reinterpret_cast<const int*>(plane + at);
        } else {
          const int2 both = *reinterpret_cast<const int2*>(plane + at);
          v[0] = both.x, v[1] = both.y;
        }
        sum = __dp4a(v[0], 0x01010101, 0);
        if constexpr (C != PackCodes::s8) sum = __dp4a(v[1], 0x01010101, sum);
#pragma unroll
        for (int r = 0; r < 4; r++) {
          sums[r] = dot4(codes.first[r], v[0], 0, C == PackCodes::s8);
          if constexpr (C != PackCodes::s8) sums[r] = dot4(codes.second[r], v[1], sums[r], false);
        }
      };
      int sums[4], sum;
      integers(x.high, sums, sum);
      if (x.low) {
        int fine[4], fine_sum;
        integers(x.low, fine, fine_sum);
        sum = 256 * sum + fine_sum;
#pragma unroll
        for (int r = 0; r < 4; r++) sums[r] = 256 * sums[r] + fine[r];
      }
#pragma unroll
      for (int r = 0; r < 4; r++) {
        const float part = scale[r] * static_cast<float>(sums[r] - w.layout.offset * sum);
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
  for (int p = 0; p < Ahead; p++) pieces[p].read(w, tile, lane, warp + p * n_warps, steps);
  ready();
  for (int i = warp;;) {
#pragma unroll
    for (int p = 0; p < Ahead; p++) pieces[p].template multiply<M>(w, x, first_row, n, acc);
    i += Ahead * n_warps;
    if (i >= steps) return;
#pragma unroll
    for (int p = 0; p < Ahead; p++) pieces[p].read(w, tile, lane, i + p * n_warps, steps);
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

// 16 neighbouring threads hold 16 neighbouring values at `at` (a multiple of 16, plus the thread's place): their integers.
__device__ __forceinline__ void quantise16(const Acts& to, int64_t at, float v) {
  const unsigned half = 0xffffu << (threadIdx.x & 16);
  float peak = fabsf(v);
#pragma unroll
  for (int o = 8; o; o >>= 1) peak = fmaxf(peak, __shfl_xor_sync(half, peak, o));
  const float most = to.low ? 32512.0f : 127.0f;  // 127 * 256: the high part never leaves 8 bits
  const int q = peak > 0 ? __float2int_rn(v * (most / peak)) : 0;
  if (to.low) {
    const int high = (q + 128) >> 8;
    to.high[at] = static_cast<int8_t>(high), to.low[at] = static_cast<int8_t>(q - 256 * high);
  } else {
    to.high[at] = static_cast<int8_t>(q);
  }
  if (at % 16 == 0) to.scale[at / 16] = peak / most;
}

}  // namespace cuda
