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
// gelu_tanh is a sigmoid too: 0.5 (1 + tanh u) = sigmoid(2 u).
__device__ __forceinline__ float activate(Activation kind, float g) {
  const float at = kind == Activation::silu ? g : 1.5957691216f * (g + 0.044715f * g * g * g);
  return g * __fdividef(1.0f, 1.0f + __expf(-at));
}

// Where one warp's 16 outputs of a tile go.
template <bool Pair> class Writer {
 public:
  __device__ __forceinline__ Writer(const GemmArgs& a, const TileAt& tile, int warp, int warps) : a_(a), rows_(tile.count) {
    const int lane = threadIdx.x & 31;
    if constexpr (Pair) {
      const int out = (tile.out_tile * (warps / 2) + warp / 2) * kStripRows + 8 * (warp & 1);
      exists_ = out < (a.hidden.cols + kBlockInputs - 1) / kBlockInputs * kBlockInputs;
      first_ = out + lane / 4 < a.hidden.cols;
      halves_ = a.hidden.data + half_at(a.hidden.padded_rows, tile.first, out) + 2 * lane;
      return;
    }
    const StripAt at = strip_at<false>(a, tile.out_tile, warp, warps);
    matrix_ = at.matrix, exists_ = at.exists;
    if (a.halves) {
      const int out = at.strip * kStripRows + 2 * (lane & 3);
      first_ = out < matrix_->stride, second_ = out + 8 < matrix_->stride;
      halves_ = a.halves + static_cast<int64_t>(tile.first + lane / 4) * matrix_->stride + out;
    } else {
      const int out = at.strip * kStripRows + lane / 4;
      first_ = out < matrix_->rows, second_ = out + 8 < matrix_->rows;
      at_ = static_cast<int64_t>(tile.first + 2 * (lane & 3)) * matrix_->stride + out;
      if (matrix_->bias) bias_[0] = first_ ? matrix_->bias[out] : 0.0f, bias_[1] = second_ ? matrix_->bias[out + 8] : 0.0f;
    }
  }
  // d: as of mma.m16n8k16, rows 8 j .. 8 j + 7 of the tile.
  __device__ __forceinline__ void write(int j, const float (&d)[4]) const {
    if (8 * j >= rows_ || !exists_) return;
    if constexpr (Pair) write_hidden(j, d);
    else if (a_.halves) write_halves(j, d);
    else write_floats(j, d);
  }

 private:
  __device__ __forceinline__ void write_hidden(int j, const float (&d)[4]) const {
    const float gate = a_.matrices[0].scale, up = a_.matrices[1].scale;
    const float h0 = activate(a_.activation, d[0] * gate) * (d[2] * up), h1 = activate(a_.activation, d[1] * gate) * (d[3] * up);
    *reinterpret_cast<uint32_t*>(halves_ + j * 512) = transposed(saturated(first_ ? h0 : 0.0f, first_ ? h1 : 0.0f));
  }
  __device__ __forceinline__ void write_halves(int j, const float (&d)[4]) const {
    const float scale = matrix_->scale;
    const uint32_t first = transposed(saturated(d[0] * scale, d[1] * scale)), second = transposed(saturated(d[2] * scale, d[3] * scale));
    if (8 * j + static_cast<int>(threadIdx.x & 31) / 4 >= rows_) return;
    uint16_t* to = halves_ + static_cast<int64_t>(8 * j) * matrix_->stride;
    if (first_) *reinterpret_cast<uint32_t*>(to) = first;
    if (second_) *reinterpret_cast<uint32_t*>(to + 8) = second;
  }
  __device__ __forceinline__ void write_floats(int j, const float (&d)[4]) const {
    const int left = rows_ - 8 * j - 2 * static_cast<int>(threadIdx.x & 3);
#pragma unroll
    for (int row = 0; row < 2; row++) {
      if (row >= left) break;
      const int64_t at = at_ + static_cast<int64_t>(8 * j + row) * matrix_->stride;
#pragma unroll
      for (int half = 0; half < 2; half++) {
        if (!(half ? second_ : first_)) continue;
        float v = d[2 * half + row] * matrix_->scale + bias_[half];
        if (matrix_->residual) v += matrix_->residual[at + 8 * half];
        matrix_->y[at + 8 * half] = v;
      }
    }
  }

  const GemmArgs& a_;
  const GemmMatrix* matrix_ = nullptr;
  const int rows_;
  bool exists_, first_, second_ = false;  // the warp's outputs; this lane's, and those 8 on
  uint16_t* halves_ = nullptr;
  int64_t at_ = 0;
  float bias_[2] = {};
};

}  // namespace cuda
