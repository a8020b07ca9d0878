// slabs: the driver hands memory out in units of 2 MiB.
#include "device/cuda/slabs.h"

#include <cuda_runtime_api.h>

namespace cuda {
namespace {
constexpr size_t kUnit = size_t{2} << 20, kSlab = size_t{64} << 20, kAlone = size_t{16} << 20, kAlign = 256;
constexpr size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
}  // namespace

std::shared_ptr<std::byte> Slabs::slab(size_t bytes) {
  void* data = reinterpret_cast<void*>(kUnit);
  if (!dry_ && cudaMalloc(&data, bytes) != cudaSuccess) return nullptr;  // the caller reads the error
  bytes_ += bytes;
  return {static_cast<std::byte*>(data), [dry = dry_](std::byte* p) {
            if (!dry) cudaFree(p);
          }};
}

std::shared_ptr<std::byte> Slabs::take(size_t bytes) {
  const size_t wanted = round_up(std::max<size_t>(bytes, 1), kAlign);
  if (wanted >= kAlone) return slab(round_up(wanted, kUnit));
  if (used_ + wanted > size_) {
    auto fresh = slab(kSlab);
    if (!fresh) return nullptr;
    slab_ = std::move(fresh), size_ = kSlab, used_ = 0;
  }
  std::byte* const at = slab_.get() + used_;
  used_ += wanted;
  return {slab_, at};
}

}  // namespace cuda
