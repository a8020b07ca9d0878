// slabs: address space comes in slabs; memory comes when a page is first written.
#include "device/cpu/slabs.h"

#include <algorithm>
#include <sys/mman.h>

namespace cpu {
namespace {
constexpr size_t kHugePage = size_t{2} << 20, kSlab = size_t{256} << 20;
constexpr size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
}  // namespace

std::byte* reserve_aligned(size_t bytes) {
  const size_t wanted = round_up(bytes, kHugePage);
  void* p = ::mmap(nullptr, wanted + kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(p);
  auto* const aligned = begin + (round_up(reinterpret_cast<uintptr_t>(p), kHugePage) - reinterpret_cast<uintptr_t>(p));
  if (aligned > begin) ::munmap(begin, static_cast<size_t>(aligned - begin));
  if (std::byte *const end = aligned + wanted, *const all = begin + wanted + kHugePage; all > end) ::munmap(end, static_cast<size_t>(all - end));
  return aligned;
}

void release_aligned(const std::byte* p, size_t bytes) { ::munmap(const_cast<std::byte*>(p), round_up(bytes, kHugePage)); }

std::shared_ptr<std::byte> Slabs::take(size_t bytes) {
  const size_t wanted = round_up(bytes, 64);
  if (used_ + wanted + kPrefetchTail > size_) {
    const size_t size = round_up(std::max(wanted + kPrefetchTail, kSlab), kHugePage);
    std::byte* const p = reserve_aligned(size);
    if (!p) return nullptr;
    if (::mprotect(p, size, PROT_READ | PROT_WRITE) != 0) return release_aligned(p, size), nullptr;
#if defined(MADV_HUGEPAGE)
    ::madvise(p, size, MADV_HUGEPAGE);  // 10-15 % of decode speed (docs/performance.md)
#endif
    slab_ = {p, [size](std::byte* slab) { release_aligned(slab, size); }};
    size_ = size;
    used_ = 0;
  }
  std::byte* const at = slab_.get() + used_;
  used_ += wanted;
  return {slab_, at};
}

}  // namespace cpu
