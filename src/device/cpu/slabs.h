// slabs: memory for packed weights: large 2 MB-aligned slabs of 2 MB pages, filled from the front, so that small matrices share pages.
#pragma once
#include <memory>
#include "core/core.h"

namespace cpu {

// Kernels prefetch, and never read, this far past the end of a matrix.
constexpr size_t kPrefetchTail = 16384;

class Slabs {
 public:
  // Zeroes, 64-byte aligned, freed with the last piece of its slab; null when the system refuses.
  std::shared_ptr<std::byte> take(size_t bytes);

 private:
  std::shared_ptr<std::byte> slab_;
  size_t size_ = 0, used_ = 0;
};

// Address space of `bytes` at a multiple of 2 MB that nothing may touch yet, to be mapped over; null when the system refuses.
std::byte* reserve_aligned(size_t bytes);
void release_aligned(const std::byte* p, size_t bytes);  // the same bytes

}  // namespace cpu
