// tile: weights out of packed tiles (device/cpu/packed.h). A lane takes one row's 16 inputs of a chunk of 32, so that the 16 lanes of half a
// warp read 64 adjacent bytes.
#pragma once
#include "device/cuda/common.cuh"

namespace cuda {

__constant__ static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
__constant__ static const int8_t e2m1_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

template <PackCodes C> constexpr bool is_float_code = C == PackCodes::f32 || C == PackCodes::f16 || C == PackCodes::bf16;
template <PackCodes C> constexpr int chunk_bytes_of = static_cast<int>(cpu::chunk_bytes(C));

__device__ __forceinline__ uint32_t word_at(const uint8_t* p) { return __ldg(reinterpret_cast<const unsigned int*>(p)); }

// Codes of quad `quad` (0..7) of a chunk, row `row`, as four integers. A quad is four inputs.
template <PackCodes C> __device__ __forceinline__ void quad_codes(const uint8_t* chunk, int row, int quad, int (&out)[4]) {
  if constexpr (C == PackCodes::s8) {
    const uint32_t w = word_at(chunk + 64 * quad + 4 * row);
#pragma unroll
    for (int i = 0; i < 4; i++) out[i] = static_cast<int8_t>(w >> (8 * i));
    return;
  }
  if constexpr (C == PackCodes::u2 || C == PackCodes::u3) {
    const uint32_t w = word_at(chunk + 64 * (quad / 4) + 4 * row) >> (2 * (quad & 3));
#pragma unroll
    for (int i = 0; i < 4; i++) out[i] = static_cast<int>(w >> (8 * i)) & 3;
  } else {
    const uint32_t w = word_at(chunk + 64 * (quad / 2) + 4 * row) >> (4 * (quad & 1));
#pragma unroll
    for (int i = 0; i < 4; i++) out[i] = static_cast<int>(w >> (8 * i)) & 15;
  }
  const auto plane = [&](int at, int shift) {
    const uint32_t bits = chunk[at + 8 * quad + row / 2] >> (4 * (row & 1));
#pragma unroll
    for (int i = 0; i < 4; i++) out[i] |= static_cast<int>(bits >> i & 1) << shift;
  };
  if constexpr (C == PackCodes::u3) plane(128, 2);
  if constexpr (C == PackCodes::u5 || C == PackCodes::u6) plane(256, 4);
  if constexpr (C == PackCodes::u6) plane(320, 5);
  if constexpr (C == PackCodes::iq4 || C == PackCodes::e2m1) {
#pragma unroll
    for (int i = 0; i < 4; i++) out[i] = C == PackCodes::iq4 ? iq4_values[out[i]] : e2m1_values[out[i]];
  }
}

struct Affine { float scale, min; };
// Of group g of a block that has `groups` of them.
template <PackScales S> __device__ __forceinline__ Affine group_scale(const PackLayout& l, const uint8_t* block, int groups, int g, int row) {
  const auto u16 = [&](int at) { return *reinterpret_cast<const uint16_t*>(block + at + 2 * row); };
  const auto f32 = [&](int at) { return *reinterpret_cast<const float*>(block + at + 4 * row); };
  if constexpr (S == PackScales::f16) return {half_value(u16(32 * g)), 0};
  if constexpr (S == PackScales::f16_min) return {half_value(u16(64 * g)), half_value(u16(64 * g + 32))};
  if constexpr (S == PackScales::bf16_min) return {bf16_value(u16(64 * g)), bf16_value(u16(64 * g + 32))};
  if constexpr (S == PackScales::f32_min) return {f32(128 * g), f32(128 * g + 64)};
  if constexpr (S == PackScales::e8m0) return {__uint_as_float(static_cast<uint32_t>(block[16 * g + row]) << 23), 0};
  if constexpr (S == PackScales::super || S == PackScales::super_min) {
    const uint8_t sub = block[64 + 16 * g + row];
    const float scale = half_value(u16(0)) * (l.signed_scales ? static_cast<float>(static_cast<int8_t>(sub)) : static_cast<float>(sub));
    const float min = S == PackScales::super_min ? -half_value(u16(32)) * static_cast<float>(block[64 + 16 * (groups + g) + row]) : 0.0f;
    return {scale, min};
  }
  return {1, 0};
}

// Where the block of input k begins, where its codes do, and how many groups it has.
struct Block { const uint8_t *scales, *codes; int groups, first; };
template <PackCodes C> __device__ __forceinline__ Block block_of(const PackLayout& l, const uint8_t* tile, int cols, int k) {
  const int n = k / l.block, first = n * l.block, inputs = min(l.block, cols - first);
  const int whole = static_cast<int>(cpu::scale_bytes(l, l.block)) + l.block / 32 * chunk_bytes_of<C>;
  const uint8_t* scales = tile + static_cast<int64_t>(n) * whole;
  return {scales, scales + cpu::scale_bytes(l, inputs), (inputs + l.scale_group - 1) / l.scale_group, first};
}

// Four weights: inputs k .. k + 3 (k a multiple of 4) of a row, as stored values but for post_scale.
template <PackCodes C, PackScales S> __device__ __forceinline__ void quad_weights(const PackLayout& l, const uint8_t* tile, int cols, int row, int k, float (&out)[4]) {
  if constexpr (is_float_code<C>) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if constexpr (C == PackCodes::f32) out[i] = *reinterpret_cast<const float*>(tile + 64ll * (k + i) + 4 * row);
      else {
        const uint16_t bits = *reinterpret_cast<const uint16_t*>(tile + 32ll * (k + i) + 2 * row);
        out[i] = C == PackCodes::f16 ? half_value(bits) : bf16_value(bits);
      }
    }
  } else {
    const Block b = block_of<C>(l, tile, cols, k);
    const int e = k - b.first;
    int codes[4];
    quad_codes<C>(b.codes + e / 32 * chunk_bytes_of<C>, row, e % 32 / 4, codes);
    const Affine a = group_scale<S>(l, b.scales, b.groups, e / l.scale_group, row);
#pragma unroll
    for (int i = 0; i < 4; i++) out[i] = a.scale * static_cast<float>(codes[i] - l.offset) + a.min;
  }
}

// Every pair of codes and scales that formats are packed into.
#define CALLA_PAIRS(X)                                                                                                                    \
  X(u4, f16) X(u4, f16_min) X(u4, super_min) X(u4, bf16_min) X(u4, f32_min) X(u5, f16) X(u5, f16_min) X(u5, super_min) X(u5, bf16_min)     \
  X(u5, f32_min) X(s8, f16) X(s8, bf16_min) X(s8, f32_min) X(u6, super) X(u6, bf16_min) X(u6, f32_min) X(u3, super) X(u3, bf16_min)        \
  X(u3, f32_min) X(u2, super_min) X(u2, bf16_min) X(u2, f32_min) X(iq4, f16) X(iq4, super) X(e2m1, e8m0) X(e2m1, f16) X(f32, none)         \
  X(f16, none) X(bf16, none)

// The same through a switch over all pairs: where speed does not matter.
__device__ __forceinline__ void any_quad(const Matrix& m, const uint8_t* tile, int row, int k, float (&out)[4]) {
#define CALLA_PAIR(c, s) \
  if (m.layout.codes == PackCodes::c && m.layout.scales == PackScales::s) return quad_weights<PackCodes::c, PackScales::s>(m.layout, tile, m.cols, row, k, out);
  CALLA_PAIRS(CALLA_PAIR)
#undef CALLA_PAIR
}

}  // namespace cuda
