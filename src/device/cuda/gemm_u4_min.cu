// gemm_u4_min: matrix products of MLX, 4 bits.
#include "device/cuda/gemm_kernels.cuh"

namespace cuda {
CALLA_GEMM_OF(u4, bf16_min, 1) CALLA_GEMM_OF(u4, bf16_min, 2)
}  // namespace cuda
