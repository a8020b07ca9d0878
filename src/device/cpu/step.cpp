// step: the arena's blocks and the replay loop.
#include "device/cpu/step.h"

#include <algorithm>

namespace cpu {

void* Arena::take(size_t bytes) {
  constexpr size_t kAlign = 64, kBlock = size_t{4} << 20;
  bytes = (bytes + kAlign - 1) / kAlign * kAlign;
  for (; block_ < blocks_.size(); block_++, used_ = 0)
    if (used_ + bytes <= blocks_[block_].size) break;
  if (block_ == blocks_.size()) {
    const size_t size = std::max(bytes, kBlock);
    blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size + kAlign), size});
    used_ = 0;
  }
  auto base = reinterpret_cast<uintptr_t>(blocks_[block_].data.get());
  base = (base + kAlign - 1) / kAlign * kAlign;
  void* p = reinterpret_cast<void*>(base + used_);
  used_ += bytes;
  return p;
}

void Step::replay(Team& team, const Kernels& kernels, std::vector<std::vector<float>>& scratch) {
  team.run([&](int member) {
    const Worker shared{member, team.size(), &kernels, scratch[static_cast<size_t>(member)].data()};
    const Worker alone{0, 1, &kernels, shared.scratch};
    for (size_t i = 0; i < ops_.size(); i++) {
      if (!ops_[i].serial) ops_[i].run(ops_[i].op, shared);
      else if (member == 0) ops_[i].run(ops_[i].op, alone);
      const bool next_also_serial = ops_[i].serial && i + 1 < ops_.size() && ops_[i + 1].serial;
      if (!next_also_serial) team.barrier();
    }
  });
}

}  // namespace cpu
