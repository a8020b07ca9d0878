// repack: one thread a lane of a block of strips, reading packed tiles through a switch over their layouts: runs once a matrix, at the speed of memory.
#include <algorithm>
#include <cmath>
#include <cstring>
#include "device/cuda/repack.h"
#include "device/cuda/tile.cuh"

namespace cuda {
namespace {

// Four stored numbers of a row: codes as integers with their scale and min, or floats in `value`.
struct Quad {
  int code[4];
  float value[4];
  float scale, min;
};
template <PackCodes C, PackScales S> __device__ void read_as(const Matrix& m, const uint8_t* tile, int row, int k, Quad& q) {
  if constexpr (is_float_code<C>) {
    quad_weights<C, S>(m.layout, tile, m.cols, row, k, q.value);
    q.scale = 1, q.min = 0;
  } else {
    const Block b = block_of<C>(m.layout, tile, m.cols, k);
    const int e = k - b.first;
    quad_codes<C>(b.codes + e / 32 * chunk_bytes_of<C>, row, e % 32 / 4, q.code);
    const Affine a = group_scale<S>(m.layout, b.scales, b.groups, e / m.layout.scale_group, row);
    q.scale = a.scale, q.min = a.min;
  }
}
// Inputs k .. k + 3 (k a multiple of 4) of a row of a tile; zeros behind the last input.
__device__ Quad read_quad(const Matrix& m, const uint8_t* tile, int row, int k) {
  Quad q{};
  if (k >= m.cols) return q;
#define CALLA_PAIR(c, s) \
  if (m.layout.codes == PackCodes::c && m.layout.scales == PackScales::s) read_as<PackCodes::c, PackScales::s>(m, tile, row, k, q);
  CALLA_PAIRS(CALLA_PAIR)
#undef CALLA_PAIR
  for (int i = 0; i < 4; i++)
    if (k + i >= m.cols) q.value[i] = 0;
  return q;
}

struct RepackArgs {
  Matrix from;
  uint8_t* to;
  int64_t strips;  // of all experts
  int32_t blocks;
  StripLayout layout;
  const uint32_t* largest;  // of floats only
};

// The power of two that brings `largest` near 1.
CALLA_BOTH float unit_for(uint32_t bits) {
  float largest = 0;
  memcpy(&largest, &bits, sizeof largest);
  int exponent = 0;
  if (largest > 0 && isfinite(largest)) frexpf(largest, &exponent);
  return ldexpf(1.0f, exponent < -100 ? 100 : exponent > 100 ? -100 : -exponent);
}

// Formats that are widened to 8 bits with float scales and mins: stored = code * factor - shift, so that codes fill the bytes. Kernels of prompts add
// (128 - stored zero) scales and the min in half precision: what they add must be no larger than the numbers themselves.
struct Widened { int factor, shift; };
__device__ Widened widened(const PackLayout& from, const StripLayout& to) {
  if (to.codes != Codes::s8 || to.scales != Scales::f32_min) return {1, from.offset - to.offset};
  switch (from.codes) {
    case PackCodes::u2: return {64, 128};
    case PackCodes::u3: return {32, 128};
    case PackCodes::u4: return {16, 128};
    case PackCodes::u5: return {8, 128};
    case PackCodes::u6: return {4, 128};
    case PackCodes::e2m1: return {8, 8 * from.offset};
    default: return {1, from.offset - to.offset};
  }
}

// What a lane holds of one block: two rows, four slabs, inputs 2c, 2c + 1, 2c + 8, 2c + 9.
struct LaneBlock {
  int code[2][kSlabs][4];
  float value[2][kSlabs][4];
};
__device__ void read_lane(const RepackArgs& a, const uint8_t* tile, int block, int r, int c, LaneBlock& out) {
  for (int half = 0; half < 2; half++)
    for (int s = 0; s < kSlabs; s++)
      for (int pair = 0; pair < 2; pair++) {
        const int k = block * kBlockInputs + 16 * s + 8 * pair + 2 * c;
        const Quad q = read_quad(a.from, tile, r + 8 * half, k & ~3);
        for (int i = 0; i < 2; i++) out.code[half][s][2 * pair + i] = q.code[(k & 3) + i], out.value[half][s][2 * pair + i] = q.value[(k & 3) + i];
      }
}

__device__ void write_nibbles(const LaneBlock& b, uint8_t* codes, int lane, int bits) {
  uint32_t words[4] = {}, planes[2] = {};
  for (int w = 0; w < 4; w++)
    for (int odd = 0; odd < 2; odd++) {
      const int* q = b.code[w & 1][w / 2 * 2 + odd];
      constexpr int at[4] = {0, 16, 8, 24};  // of inputs 2c, 2c + 1, 2c + 8, 2c + 9
      for (int i = 0; i < 4; i++) {
        words[w] |= static_cast<uint32_t>(q[i] & 15) << (at[i] + 4 * odd);
        const int pair = 4 * w + 2 * odd + i / 2;
        for (int p = 0; p < 2; p++) planes[p] |= static_cast<uint32_t>(q[i] >> (4 + p) & 1) << (pair + 16 * (i & 1));
      }
    }
  *reinterpret_cast<uint4*>(codes + 16 * lane) = uint4{words[0], words[1], words[2], words[3]};
  for (int p = 0; p < bits - 4; p++) *reinterpret_cast<uint32_t*>(codes + 512 + 128 * p + 4 * lane) = planes[p];
}
__device__ void write_bytes(const LaneBlock& b, uint8_t* codes, int lane, Widened as) {
  for (int half = 0; half < 2; half++) {
    uint32_t words[4] = {};
    for (int w = 0; w < 4; w++)
      for (int i = 0; i < 4; i++) words[w] |= static_cast<uint32_t>((b.code[w & 1][2 * half + w / 2][i] * as.factor - as.shift) & 255) << (8 * i);
    *reinterpret_cast<uint4*>(codes + 512 * half + 16 * lane) = uint4{words[0], words[1], words[2], words[3]};
  }
}
__device__ void write_halves(const LaneBlock& b, uint8_t* codes, int lane, float unit) {
  for (int s = 0; s < kSlabs; s++) {
    uint32_t words[4];
    for (int w = 0; w < 4; w++) {
      const float* v = &b.value[w & 1][s][w / 2 * 2];
      const __half2 pair = __floats2half2_rn(fminf(fmaxf(v[0] * unit, -65504.0f), 65504.0f), fminf(fmaxf(v[1] * unit, -65504.0f), 65504.0f));
      words[w] = reinterpret_cast<const uint32_t&>(pair);
    }
    *reinterpret_cast<uint4*>(codes + 512 * s + 16 * lane) = uint4{words[0], words[1], words[2], words[3]};
  }
}

__device__ uint16_t rounded_to(Scales s, float v) { return s == Scales::bf16_min ? static_cast<uint16_t>(__float_as_uint(v) >> 16) : __half_as_ushort(__float2half_rn(v)); }

// Scales of rows r and r + 8 of one block.
__device__ void write_scales(const RepackArgs& a, const uint8_t* tile, int block, int r, uint8_t* to) {
  const StripLayout& l = a.layout;
  if (l.scales == Scales::none) return;
  for (int half = 0; half < 2; half++)
    for (int g = 0; g < l.groups; g++) {
      const int k = block * kBlockInputs + g * (kBlockInputs / l.groups), row = r + 8 * half;
      if (l.scales == Scales::super || l.scales == Scales::super_min) {
        uint16_t d = 0, dmin = 0;
        uint8_t sub = 0, sub_min = 0;
        if (k < a.from.cols) {
          const PackLayout& p = a.from.layout;
          const int n = k / p.block, first = n * p.block, inputs = min(p.block, a.from.cols - first), groups = (inputs + p.scale_group - 1) / p.scale_group, at = (k - first) / p.scale_group;
          const int chunk = static_cast<int>(cpu::chunk_bytes(p.codes)), whole = static_cast<int>(cpu::scale_bytes(p, p.block)) + p.block / 32 * chunk;
          const uint8_t* from = tile + static_cast<int64_t>(n) * whole;
          d = *reinterpret_cast<const uint16_t*>(from + 2 * row);
          sub = from[64 + 16 * at + row];
          if (l.scales == Scales::super_min) dmin = *reinterpret_cast<const uint16_t*>(from + 32 + 2 * row), sub_min = from[64 + 16 * (groups + at) + row];
        }
        if (l.scales == Scales::super) {
          *reinterpret_cast<uint16_t*>(to + 4 * r + 2 * half) = d;
          to[32 + 16 * g + 2 * r + half] = sub;
        } else {
          *reinterpret_cast<uint16_t*>(to + 8 * r + 2 * half) = d, *reinterpret_cast<uint16_t*>(to + 8 * r + 4 + 2 * half) = dmin;
          to[64 + 32 * g + 4 * r + half] = sub, to[64 + 32 * g + 4 * r + 2 + half] = sub_min;
        }
        continue;
      }
      const Quad q = read_quad(a.from, tile, row, k);
      if (l.scales == Scales::f32_min) {
        // scale * (code - offset) + min = scale' * (stored - offset') + min'
        const Widened as = widened(a.from.layout, l);
        const int zero = a.from.layout.offset * as.factor - as.shift - l.offset;  // what is stored for 0, seen from offset'
        reinterpret_cast<float*>(to + 128 * g + 16 * r)[half] = q.scale / static_cast<float>(as.factor);
        reinterpret_cast<float*>(to + 128 * g + 16 * r)[2 + half] = q.min - q.scale / static_cast<float>(as.factor) * static_cast<float>(zero);
        continue;
      }
      const uint16_t scale = rounded_to(l.scales, q.scale), min = rounded_to(l.scales, q.min);
      if (l.scales == Scales::f16) reinterpret_cast<uint16_t*>(to + 32 * g + 4 * r)[half] = scale;
      else reinterpret_cast<uint16_t*>(to + 64 * g + 8 * r)[half] = scale, reinterpret_cast<uint16_t*>(to + 64 * g + 8 * r)[2 + half] = min;
    }
}

// A warp a block.
__global__ void __launch_bounds__(256) repack_blocks(const RepackArgs a) {
  const int64_t item = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32, strip = item / a.blocks;
  if (strip >= a.strips) return;
  const int block = static_cast<int>(item % a.blocks), lane = threadIdx.x & 31, r = lane / 4, c = lane & 3;
  const StripLayout& l = a.layout;
  const int scales = scale_bytes(l.scales, l.groups);
  uint8_t* to = a.to + item * (scales + code_bytes(l.codes));
  const uint8_t* tile = a.from.data + strip * a.from.tile_bytes;
  LaneBlock b;
  read_lane(a, tile, block, r, c, b);
  if (l.codes == Codes::f16) write_halves(b, to + scales, lane, unit_for(*a.largest));
  else if (l.codes == Codes::s8) write_bytes(b, to + scales, lane, widened(a.from.layout, l));
  else write_nibbles(b, to + scales, lane, l.codes == Codes::u4 ? 4 : l.codes == Codes::u5 ? 5 : 6);
  if (c == 0) write_scales(a, tile, block, r, to);
}

// The largest scale (or float weight) of all, as the bits of a float.
__global__ void __launch_bounds__(256) largest_scale(const Matrix m, int64_t strips, uint32_t* largest) {
  const int step = is_float(m.layout.codes) ? 4 : m.layout.scale_group, per_row = (m.cols + step - 1) / step;
  float most = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < strips * per_row * 16; i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const Quad q = read_quad(m, m.data + i / 16 / per_row * m.tile_bytes, static_cast<int>(i & 15), static_cast<int>(i / 16 % per_row) * step);
    if (!is_float(m.layout.codes)) most = fmaxf(most, fmaxf(fabsf(q.scale), fabsf(q.min) * 0.0625f));
    else
      for (int j = 0; j < 4; j++) most = fmaxf(most, fabsf(q.value[j]));
  }
  most = warp_max(most);
  if ((threadIdx.x & 31) == 0) atomicMax(largest, __float_as_uint(most));
}

__global__ void __launch_bounds__(256) unpack_floats(const Matrix m, float* to) {
  const int64_t quads = (m.cols + 3) / 4, i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= m.rows * quads) return;
  const int row = static_cast<int>(i / quads), k = static_cast<int>(i % quads) * 4;
  const Quad q = read_quad(m, m.data + row / 16 * m.tile_bytes, row % 16, k);
  for (int j = 0; j < 4 && k + j < m.cols; j++)
    to[static_cast<int64_t>(row) * m.cols + k + j] = (is_float(m.layout.codes) ? q.value[j] : q.scale * static_cast<float>(q.code[j] - m.layout.offset) + q.min) * m.post_scale;
}

}  // namespace

StripLayout strip_layout(const PackLayout& p) {
  const int groups = p.scale_group <= 0 ? 0 : p.scale_group >= 64 ? 1 : 64 / p.scale_group;
  if (is_float(p.codes)) return {Codes::f16, Scales::none, 0, 0};
  const auto kind = [&](Codes c, Scales s) { return StripLayout{c, s, groups, p.offset}; };
  if (p.codes == PackCodes::u4 && p.scales == PackScales::f16 && groups == 2) return kind(Codes::u4, Scales::f16);
  if (p.codes == PackCodes::u4 && p.scales == PackScales::f16_min && groups == 2) return kind(Codes::u4, Scales::f16_min);
  if (p.codes == PackCodes::u4 && p.scales == PackScales::bf16_min && groups <= 2) return kind(Codes::u4, Scales::bf16_min);
  if (p.codes == PackCodes::u4 && p.scales == PackScales::super_min && groups == 2) return kind(Codes::u4, Scales::super_min);
  if (p.codes == PackCodes::u5 && p.scales == PackScales::super_min && groups == 2) return kind(Codes::u5, Scales::super_min);
  if (p.codes == PackCodes::u6 && p.scales == PackScales::super && groups == 4 && p.signed_scales) return kind(Codes::u6, Scales::super);
  if (p.codes == PackCodes::s8 && p.scales == PackScales::f16 && groups == 2) return kind(Codes::s8, Scales::f16);
  if (p.codes == PackCodes::s8 && p.scales == PackScales::bf16_min && groups <= 2) return kind(Codes::s8, Scales::bf16_min);
  return {Codes::s8, Scales::f32_min, 4, p.codes == PackCodes::s8 ? p.offset : 0};
}

Strips plan_strips(const PackLayout& packed, int64_t rows, int64_t cols, float post_scale) {
  Strips s;
  s.layout = strip_layout(packed);
  s.rows = static_cast<int32_t>(rows), s.cols = static_cast<int32_t>(cols);
  s.blocks = (s.cols + kBlockInputs - 1) / kBlockInputs, s.strips = (s.rows + kStripRows - 1) / kStripRows;
  s.strip_bytes = int64_t{block_bytes(s.layout.codes, s.layout.scales, s.layout.groups)} * s.blocks;
  s.expert_bytes = s.strip_bytes * s.strips;
  s.factor = post_scale;
  return s;
}

void set_unit(Strips& to, uint32_t largest) {
  to.unit = unit_for(largest);
  if (to.layout.codes == Codes::f16) to.factor /= to.unit;
}

cudaError_t find_largest(const Matrix& piece, int64_t tiles, uint32_t* largest, cudaStream_t stream) {
  largest_scale<<<1024, 256, 0, stream>>>(piece, tiles, largest);
  return cudaGetLastError();
}

cudaError_t repack_piece(const Matrix& piece, int64_t first_tile, int64_t tiles, const Strips& to, const uint32_t* largest, cudaStream_t stream) {
  const int64_t items = tiles * to.blocks;
  uint8_t* at = const_cast<uint8_t*>(to.data) + first_tile * to.strip_bytes;
  repack_blocks<<<static_cast<unsigned>((items + 7) / 8), 256, 0, stream>>>(RepackArgs{piece, at, tiles, to.blocks, to.layout, largest});
  return cudaGetLastError();
}

cudaError_t unpack_rows(const Matrix& packed, float* to, cudaStream_t stream) {
  const int64_t quads = int64_t{packed.rows} * ((packed.cols + 3) / 4);
  unpack_floats<<<static_cast<unsigned>((quads + 255) / 256), 256, 0, stream>>>(packed, to);
  return cudaGetLastError();
}

}  // namespace cuda
