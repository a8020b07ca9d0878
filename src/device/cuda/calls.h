// calls: what a failed call of the CUDA runtime becomes.
#pragma once
#include <cuda_runtime_api.h>
#include <string>
#include "core/core.h"

namespace cuda {

// "cannot ATTEMPT: CUDA says NAME, TEXT"
Error failed(const std::string& attempt, cudaError_t code);
// For allocations of `bytes` for `what`: with how much is free and how much there is when that is why.
Error no_memory(const std::string& what, size_t bytes, cudaError_t code);

#define CUDA_TRY(attempt, call) \
  if (const cudaError_t cuda_code_ = (call); cuda_code_ != cudaSuccess) return failed(attempt, cuda_code_)

}  // namespace cuda
