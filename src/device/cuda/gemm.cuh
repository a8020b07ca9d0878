// gemm: what both matrix product kernels share: which tile a block takes, and where its sums go.
#pragma once
#include "device/cuda/fragments.cuh"
#include "device/cuda/gemm.h"

namespace cuda {

struct TileAt { int expert, first, count, out_tile; };  // rows first .. first + count - 1

__device__ __forceinline__ int tiles_of(const GemmArgs& a) { return (a.tiles ? *a.n_tiles : (a.x.rows + a.tile_rows - 1) / a.tile_rows) * a.out_tiles; }
__device__ __forceinline__ TileAt tile_at(const GemmArgs& a, int t) {
  const int row_tile = t / a.out_tiles, out_tile = t % a.out_tiles;
  if (a.tiles) {
    const int4 v = *reinterpret_cast<const int4*>(a.tiles + row_tile);
    return {v.x, v.y, v.z, out_tile};
  }
  return {0, row_tile * a.tile_rows, min(a.tile_rows, a.x.rows - row_tile * a.tile_rows), out_tile};
}

// The matrix and strip behind slot `slot` of a tile with `slots` strips: of a pair the first half of the slots are gate, the others up. Null data: behind the last.
struct StripAt {
  const GemmMatrix* matrix;
  int strip;
  bool exists;
  __device__ __forceinline__ const uint8_t* data(int expert) const { return matrix->data + expert * matrix->expert_bytes + strip * matrix->strip_bytes; }
};
template <bool Pair> __device__ __forceinline__ StripAt strip_at(const GemmArgs& a, int out_tile, int slot, int slots) {
  if constexpr (Pair) {
    const int strip = out_tile * (slots / 2) + slot % (slots / 2);
    return {&a.matrices[slot >= slots / 2], strip, strip < a.strips};
  }
  const int v = out_tile * slots + slot;
  int m = 0;
  while (m + 1 < a.n_matrices && v >= a.matrices[m + 1].first_strip) m++;
  return {&a.matrices[m], v - a.matrices[m].first_strip, v < a.strips};
}

__device__ __forceinline__ uint32_t transposed(uint32_t v) {  // of 8 x 8 halves over a warp
  uint32_t r;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(v));
  return r;
}
__device__ __forceinline__ float activate(Activation kind, float g) { return kind == Activation::silu ? silu(g) : gelu_tanh(g); }

// Where one warp's 16 outputs go. Rows are those of y or hidden.
template <bool Pair> class Writer {
 public:
  __device__ __forceinline__ Writer(const GemmArgs& a, const TileAt& tile, int warp, int warps) : a_(a), tile_(tile) {
    if constexpr (Pair) {
      out_ = (tile.out_tile * (warps / 2) + warp / 2) * kStripRows + 8 * (warp & 1);
    } else {
      at_ = strip_at<false>(a, tile.out_tile, warp, warps);
      out_ = at_.strip * kStripRows;
    }
  }
  // d: as of mma.m16n8k16, rows 8 j .. 8 j + 7 of the tile.
  __device__ __forceinline__ void write(int j, const float (&d)[4]) const {
    if (8 * j >= tile_.count) return;
    if constexpr (Pair) write_hidden(j, d);
    else if (!at_.exists) return;
    else if (a_.halves) write_halves(j, d);
    else write_floats(j, d);
  }

 private:
  __device__ __forceinline__ void write_hidden(int j, const float (&d)[4]) const {
    const int lane = threadIdx.x & 31;
    if (out_ >= (a_.hidden.cols + kBlockInputs - 1) / kBlockInputs * kBlockInputs) return;
    const float gate = a_.matrices[0].scale, up = a_.matrices[1].scale;
    const bool is = out_ + lane / 4 < a_.hidden.cols;
    const float h0 = activate(a_.activation, d[0] * gate) * (d[2] * up), h1 = activate(a_.activation, d[1] * gate) * (d[3] * up);
    const uint32_t v = transposed(saturated(is ? h0 : 0.0f, is ? h1 : 0.0f));
    *reinterpret_cast<uint32_t*>(a_.hidden.data + half_at(a_.hidden.padded_rows, tile_.first + 8 * j, out_) + 2 * lane) = v;
  }
  __device__ __forceinline__ void write_halves(int j, const float (&d)[4]) const {
    const int lane = threadIdx.x & 31, row = 8 * j + lane / 4, out = out_ + 2 * (lane & 3);
    const float scale = at_.matrix->scale;
    const uint32_t first = transposed(saturated(d[0] * scale, d[1] * scale)), second = transposed(saturated(d[2] * scale, d[3] * scale));
    if (row >= tile_.count) return;
    uint16_t* to = a_.halves + static_cast<int64_t>(tile_.first + row) * at_.matrix->stride + out;
    if (out < at_.matrix->stride) *reinterpret_cast<uint32_t*>(to) = first;
    if (out + 8 < at_.matrix->stride) *reinterpret_cast<uint32_t*>(to + 8) = second;
  }
  __device__ __forceinline__ void write_floats(int j, const float (&d)[4]) const {
    const int lane = threadIdx.x & 31;
    const GemmMatrix& m = *at_.matrix;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int row = 8 * j + 2 * (lane & 3) + (i & 1), out = out_ + lane / 4 + 8 * (i / 2);
      if (row >= tile_.count || out >= m.rows) continue;
      const int64_t at = static_cast<int64_t>(tile_.first + row) * m.stride + out;
      float v = d[i] * m.scale;
      if (m.bias) v += m.bias[out];
      if (m.residual) v += m.residual[at];
      m.y[at] = v;
    }
  }

  const GemmArgs& a_;
  const TileAt tile_;
  StripAt at_{};
  int out_;
};

}  // namespace cuda
