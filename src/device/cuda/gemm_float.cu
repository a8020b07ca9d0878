// gemm_float: matrix products of halves, and all formats without kernels of their own.
#include "device/cuda/gemm_kernels.cuh"

namespace cuda {
CALLA_GEMM_OF(s8, f32_min, 4) CALLA_GEMM_OF(f16, none, 0)
}  // namespace cuda
