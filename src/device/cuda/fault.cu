// fault: a write to an address that is nobody's.
#include "device/cuda/fault.h"

namespace cuda {
namespace {
__global__ void write_to(volatile int* nowhere) { *nowhere = 1; }
}  // namespace

cudaError_t enqueue_fault(cudaStream_t stream) {
  write_to<<<1, 1, 0, stream>>>(reinterpret_cast<int*>(16));
  return cudaGetLastError();
}

}  // namespace cuda
