// step: one recorded step of the CPU device: an arena for activations and a list of operations that the team replays.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>
#include "device/cpu/kernels.h"
#include "device/cpu/team.h"

namespace cpu {

// Memory for one step. Blocks are kept between steps, so a step of a size seen before allocates nothing.
class Arena {
 public:
  struct Mark { size_t block = 0, used = 0; };
  void reset() { rewind({}); }
  Mark mark() const { return {block_, used_}; }
  void rewind(Mark m) { block_ = m.block, used_ = m.used; }  // what was taken since may be overwritten
  void* take(size_t bytes);  // 64-byte aligned, uninitialised
  template <class T> T* array(int64_t n) { return static_cast<T*>(take(static_cast<size_t>(n) * sizeof(T))); }

 private:
  struct Block { std::unique_ptr<std::byte[]> data; size_t size = 0; };
  std::vector<Block> blocks_;
  size_t block_ = 0, used_ = 0;
};

// One member's view while it runs an operation.
struct Worker {
  int member = 0, size = 1;
  const Kernels* kernels = nullptr;
  float* scratch = nullptr;  // scratch_floats of this member
  // Static share of n items: [begin, end).
  std::pair<int64_t, int64_t> share(int64_t n) const { return {n * member / size, n * (member + 1) / size}; }
};

// Items of an operation handed out one after another; which member computes an item never changes its result.
struct Counter {
  mutable int64_t next = 0;
  int64_t take(int64_t n = 1) const { return std::atomic_ref<int64_t>(next).fetch_add(n, std::memory_order_relaxed); }
};

// A recorded list of operations. An operation is a trivially copyable struct with `void run(const Worker&) const`.
class Step {
 public:
  Arena arena;    // activations: an operation may reuse memory whose last reader was recorded before it
  Arena lasting;  // operations themselves and what lives as long as the step
  void reset() {
    arena.reset();
    lasting.reset();
    ops_.clear();
  }
  // `serial`: so little work that member 0 does it alone; neighbours of that kind share one barrier.
  template <class Op> void push(const Op& op, bool serial) {
    static_assert(std::is_trivially_copyable_v<Op> && std::is_trivially_destructible_v<Op>);
    ops_.push_back({[](const void* p, const Worker& w) { static_cast<const Op*>(p)->run(w); }, new (lasting.take(sizeof(Op))) Op(op), serial});
  }
  void replay(Team& team, const Kernels& kernels, std::vector<std::vector<float>>& scratch);

 private:
  struct Entry { void (*run)(const void*, const Worker&); const void* op; bool serial; };
  std::vector<Entry> ops_;
};

// Below this many floats read or written an operation is not worth a barrier.
constexpr int64_t kSerialFloats = 16384;

}  // namespace cpu
