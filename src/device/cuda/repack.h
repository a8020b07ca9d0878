// repack: matrices as the CPU packs them (device/cpu/packed.h) into strips (strips.h), or for small precise ones into plain rows of floats.
#pragma once
#include <cuda_runtime_api.h>
#include "device/cuda/kernels.h"
#include "device/cuda/strips.h"

namespace cuda {

// Where a packed layout goes. Formats without fast kernels become 8-bit codes with float scales, or halves.
StripLayout strip_layout(const PackLayout& packed);
// The strips that n_experts stacked matrices of this shape become, without data; size in bytes.
Strips plan_strips(const PackLayout& packed, int64_t rows, int64_t cols, float post_scale);
inline int64_t strips_bytes(const Strips& s, int64_t n_experts) { return s.expert_bytes * n_experts; }

// Fill to.data from packed tiles, in pieces that lie in device memory one after the other, without waiting: `largest` (device memory, 0 before the first piece) must have seen every
// piece before floats are repacked. Tiles of all experts are numbered in a row; set_unit takes what `largest` holds in the end.
cudaError_t find_largest(const Matrix& piece, int64_t tiles, uint32_t* largest, cudaStream_t stream);
cudaError_t repack_piece(const Matrix& piece, int64_t first_tile, int64_t tiles, const Strips& to, const uint32_t* largest, cudaStream_t stream);
void set_unit(Strips& to, uint32_t largest);
// The same matrix as float32, [rows, cols].
cudaError_t unpack_rows(const Matrix& packed, float* to, cudaStream_t stream);

}  // namespace cuda
