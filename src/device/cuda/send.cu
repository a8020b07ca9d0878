// send: a kernel rather than a copy: one call for all tables, and no change from computing to copying and back between two steps.
#include <algorithm>
#include "device/cuda/send.h"

namespace cuda {
namespace {

__global__ void send(const SendArgs a) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= a.ends[SendArgs::n_parts - 1]) return;
  uint32_t value = __ldcv(a.from + i), begin = 0;
  int part = 0;
  while (i >= a.ends[part]) begin = a.ends[part++];
  if (part == SendArgs::ids && static_cast<int32_t>(value) < 0) value = static_cast<uint32_t>(max(0, a.drawn[-1 - static_cast<int32_t>(value)]));
  a.to[part][i - begin] = value;
}

}  // namespace

cudaError_t send_tables(const SendArgs& args, cudaStream_t stream) {
  constexpr uint32_t threads = 256;
  send<<<std::max(1u, (args.ends[SendArgs::n_parts - 1] + threads - 1) / threads), threads, 0, stream>>>(args);
  return cudaGetLastError();
}

}  // namespace cuda
