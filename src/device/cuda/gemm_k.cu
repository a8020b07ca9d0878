// gemm_k: matrix products of Q4_K, Q5_K and Q6_K.
#include "device/cuda/gemm_kernels.cuh"

namespace cuda {
CALLA_GEMM_OF(u4, super_min, 2) CALLA_GEMM_OF(u5, super_min, 2) CALLA_GEMM_OF(u6, super, 4)
}  // namespace cuda
