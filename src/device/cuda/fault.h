// fault: a kernel that fails, for tests.
#pragma once
#include <cuda_runtime_api.h>

namespace cuda {

cudaError_t enqueue_fault(cudaStream_t stream);  // writes where nothing is: the context is lost

}  // namespace cuda
