// calls: failures in words.
#include "device/cuda/calls.h"

#include "device/cuda/refusals.h"

namespace cuda {

Error failed(const std::string& attempt, cudaError_t code) { return {Code::device, call_failed(attempt, cudaGetErrorName(code), cudaGetErrorString(code))}; }

Error no_memory(const std::string& what, size_t bytes, cudaError_t code) {
  cudaGetLastError();
  if (code != cudaErrorMemoryAllocation) return failed("take GPU memory for " + what, code);
  size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) cudaGetLastError();
  return {Code::device, memory_refused(what, bytes, free, total)};
}

}  // namespace cuda
