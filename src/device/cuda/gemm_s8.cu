// gemm_s8: matrix products of Q8_0, and MLX of 8 bits.
#include "device/cuda/gemm_kernels.cuh"

namespace cuda {
CALLA_GEMM_OF(s8, f16, 2) CALLA_GEMM_OF(s8, bf16_min, 1) CALLA_GEMM_OF(s8, bf16_min, 2)
}  // namespace cuda
