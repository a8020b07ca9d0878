// gemm_u4: matrix products of Q4_0 and its like.
#include "device/cuda/gemm_kernels.cuh"

namespace cuda {
CALLA_GEMM_OF(u4, f16, 2) CALLA_GEMM_OF(u4, f16_min, 2)
}  // namespace cuda
