// arena: chunks that are never given back while the device lives, because recorded steps point into them.
#include "device/cuda/arena.h"

#include <cuda_runtime_api.h>
#include <algorithm>

namespace cuda {

Arena::~Arena() {
  for (const Chunk& c : chunks_) cudaFree(c.data);
}

void* Arena::take(size_t bytes) {
  constexpr size_t kAlign = 256, kLeast = size_t{64} << 20;
  bytes = (bytes + kAlign - 1) / kAlign * kAlign;
  for (; now_.chunk < chunks_.size(); now_ = {now_.chunk + 1, 0}) {
    const Chunk& c = chunks_[now_.chunk];
    if (now_.at + bytes > c.size) continue;
    now_.at += bytes;
    return c.data + now_.at - bytes;
  }
  void* data = nullptr;
  const size_t size = std::max(bytes, kLeast);
  if (cudaMalloc(&data, size) != cudaSuccess) {
    cudaGetLastError();
    failed_ = true;
    return nullptr;
  }
  chunks_.push_back({static_cast<std::byte*>(data), size});
  now_ = {chunks_.size() - 1, bytes};
  return data;
}

size_t Arena::bytes() const {
  size_t sum = 0;
  for (const Chunk& c : chunks_) sum += c.size;
  return sum;
}

}  // namespace cuda
