// repack: matrices as the CPU packs them (device/cpu/packed.h) into strips (strips.h), or for small precise ones into plain rows of floats.
#pragma once
#include <cuda_runtime_api.h>
#include "device/cuda/kernels.h"
#include "device/cuda/strips.h"

namespace cuda {

// Where a packed layout goes. Formats without fast kernels become 8-bit codes with float scales, or halves.
StripLayout strip_layout(const PackLayout& packed);
bool is_generic(const PackLayout& packed);  // it was widened for want of kernels
// The strips that n_experts stacked matrices of this shape become, without data; size in bytes.
Strips plan_strips(const PackLayout& packed, int64_t rows, int64_t cols, float post_scale);
inline int64_t strips_bytes(const Strips& s, int64_t n_experts) { return s.expert_bytes * n_experts; }

// Fills to.data from packed tiles that lie in device memory, and sets to.unit and to.factor. `scratch`: 4 bytes of device memory. Waits for the stream once.
cudaError_t repack(const Matrix& packed, int64_t n_experts, Strips& to, uint32_t* scratch, cudaStream_t stream);
// The same matrix as float32, [rows, cols].
cudaError_t unpack_rows(const Matrix& packed, float* to, cudaStream_t stream);

}  // namespace cuda
