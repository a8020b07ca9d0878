// arena: chunks that are never given back while the device lives, because recorded steps point into them.
#include "device/cuda/arena.h"

#include <cuda_runtime_api.h>
#include <algorithm>

namespace cuda {
namespace {
constexpr size_t kAlign = 256, kChunk = size_t{64} << 20;
constexpr size_t kEverything = size_t{1} << 46;  // one chunk that holds any step, where nothing is real
}  // namespace

Arena::~Arena() {
  if (dry_) return;
  for (const Chunk& c : chunks_) cudaFree(c.data);
}

bool Arena::reserve(size_t bytes) {
  void* data = reinterpret_cast<void*>(kChunk * (chunks_.size() + 1));
  bytes = std::max((bytes + kAlign - 1) / kAlign * kAlign, kAlign);
  if (!dry_ && cudaMalloc(&data, bytes) != cudaSuccess) return cudaGetLastError(), false;
  chunks_.push_back({static_cast<std::byte*>(data), bytes});
  return true;
}

void* Arena::take(size_t bytes) {
  bytes = (bytes + kAlign - 1) / kAlign * kAlign;
  for (; now_.chunk < chunks_.size(); now_ = {now_.chunk + 1, 0}) {
    const Chunk& c = chunks_[now_.chunk];
    if (now_.at + bytes > c.size) continue;
    now_.at += bytes;
    most_ = std::max(most_, now_.at);
    return c.data + now_.at - bytes;
  }
  if (refused_ > 0 || (!reserve(dry_ ? kEverything : std::max(bytes, kChunk)) && !reserve(bytes))) {
    if (refused_ == 0) refused_ = bytes;
    return nullptr;
  }
  now_ = {chunks_.size() - 1, bytes};
  most_ = std::max(most_, bytes);
  return chunks_.back().data;
}

size_t Arena::bytes() const {
  size_t sum = 0;
  for (const Chunk& c : chunks_) sum += c.size;
  return sum;
}

}  // namespace cuda
