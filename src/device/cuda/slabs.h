// slabs: GPU memory for weights: small matrices and vectors share slabs, large ones have pieces of their own. Sizes are known without a GPU.
#pragma once
#include <memory>
#include "core/core.h"

namespace cuda {

class Slabs {
 public:
  explicit Slabs(bool dry) : dry_(dry) {}  // dry: only counts, what is handed out must not be touched
  // 256-byte aligned, freed with the last piece of its slab; null when the device has no more.
  std::shared_ptr<std::byte> take(size_t bytes);
  size_t bytes() const { return bytes_; }  // taken of the device so far

 private:
  std::shared_ptr<std::byte> slab(size_t bytes);
  const bool dry_;
  std::shared_ptr<std::byte> slab_;
  size_t size_ = 0, used_ = 0, bytes_ = 0;
};

}  // namespace cuda
