// step: one recorded step of the CPU device: memory for activations and a list of operations that the team replays.
//
// An operation runs in one of two ways. `shared`: the members share its work out, and its result is read by all of them. `own`: so
// little work that every member does all of it for itself, in memory of its own, which costs less than handing a result over. A step
// therefore needs a barrier only where an operation touches shared memory that another member may still be writing (or reading);
// push() finds these places from the ranges each operation declares. A decoded layer of a hybrid model has six of them.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
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
  size_t bytes() const;  // of all blocks

 private:
  struct Block { std::unique_ptr<std::byte[]> data; size_t size = 0; };
  std::vector<Block> blocks_;
  size_t block_ = 0, used_ = 0;
};

// Memory that every member has a copy of, at the same offset of its own stretch. Pointers are those of member 0; Worker::at moves them.
class OwnArena {
 public:
  explicit OwnArena(int members);
  ~OwnArena();
  OwnArena(const OwnArena&) = delete;
  OwnArena& operator=(const OwnArena&) = delete;
  static constexpr size_t kBytes = size_t{8} << 20;  // of one member; touched only as far as used
  void reset() { used_ = 0, lasting_ = kBytes; }
  size_t mark() const { return used_; }
  void rewind(size_t mark) { used_ = mark; }
  bool fits(size_t bytes) const { return used_ + bytes + 64 <= lasting_; }
  void* take(size_t bytes) { return base_ + std::exchange(used_, used_ + (bytes + 63) / 64 * 64); }
  void* take_lasting(size_t bytes) { return base_ + (lasting_ -= (bytes + 63) / 64 * 64); }  // survives rewind()
  bool holds(const void* p) const { return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(base_) < kBytes; }
  const std::byte* base() const { return base_; }

 private:
  std::byte* base_ = nullptr;
  size_t size_ = 0, used_ = 0, lasting_ = kBytes;
};

// One member's view while it runs an operation.
struct Worker {
  int member = 0, size = 1;
  const Kernels* kernels = nullptr;
  float* scratch = nullptr;       // scratch_floats of this member
  uintptr_t own = 0;              // where member 0's own memory begins
  template <class T> T* at(T* p) const {  // this member's copy of own memory; shared memory stays where it is
    const auto address = reinterpret_cast<uintptr_t>(p);
    return address - own < OwnArena::kBytes ? reinterpret_cast<T*>(address + static_cast<uintptr_t>(member) * OwnArena::kBytes) : p;
  }
  // Static share of n items: [begin, end).
  std::pair<int64_t, int64_t> share(int64_t n) const { return {n * member / size, n * (member + 1) / size}; }
  // The same for results in shared memory; all n of them for results in own memory.
  std::pair<int64_t, int64_t> part(int64_t n, bool of_own) const { return of_own ? std::pair<int64_t, int64_t>{0, n} : share(n); }
};

// Items of an operation handed out one after another; which member computes an item never changes its result.
struct Counter {
  mutable int64_t next = 0;
  int64_t take(int64_t n = 1) const { return std::atomic_ref<int64_t>(next).fetch_add(n, std::memory_order_relaxed); }
};

struct Range {
  const void* begin = nullptr;
  size_t bytes = 0;
  Range() = default;
  template <class T> Range(const T* p, int64_t n) : begin(p), bytes(static_cast<size_t>(n) * sizeof(T)) {}
  Range(const Tensor& t) : Range(t.data, t.shape.elements()) {}
};
using Ranges = std::initializer_list<Range>;

// A recorded list of operations. An operation is a trivially copyable struct with `void run(const Worker&) const` and, where it knows
// early what it will read, `void ahead(const Worker&) const`, which prefetches and is called while a member waits for the others.
class Step {
 public:
  explicit Step(int members) : own(members), members_(members) {}
  int members() const { return members_; }
  Arena arena;    // activations: an operation may reuse memory whose last reader was recorded before it
  OwnArena own;   // small activations
  Arena lasting;  // operations themselves and what lives as long as the step
  void reset();
  // The way an operation runs follows from where its result lies: small results go to own memory.
  bool is_small(int64_t elements) const { return elements < kOwnElements && own.fits(static_cast<size_t>(elements) * 16); }
  template <class T> T* take(int64_t n, bool in_own) { return in_own ? static_cast<T*>(own.take(static_cast<size_t>(n) * sizeof(T))) : arena.array<T>(n); }
  template <class T> T* take(int64_t n) { return take<T>(n, is_small(n)); }
  bool is_own(const void* p) const { return own.holds(p); }
  template <class Op> void push(const char* name, const Op& op, std::span<const Range> reads, std::span<const Range> writes) {
    static_assert(std::is_trivially_copyable_v<Op> && std::is_trivially_destructible_v<Op>);
    Entry e{name, [](const void* p, const Worker& w) { static_cast<const Op*>(p)->run(w); }, nullptr, new (lasting.take(sizeof(Op))) Op(op), false};
    if constexpr (requires(const Worker& w) { op.ahead(w); }) e.ahead = [](const void* p, const Worker& w) { static_cast<const Op*>(p)->ahead(w); };
    e.barrier = needs_barrier(reads, writes);
    barriers_ += e.barrier;
    ops_.push_back(e);
  }
  template <class Op> void push(const char* name, const Op& op, Ranges reads, Ranges writes) {
    push(name, op, std::span<const Range>(reads.begin(), reads.size()), std::span<const Range>(writes.begin(), writes.size()));
  }
  void replay(Team& team, const Kernels& kernels, std::vector<std::vector<float>>& scratch);
  int barriers() const { return barriers_; }  // of the step recorded last
  // Two empty lists for the ranges of one operation, so that collecting them allocates nothing.
  std::vector<Range>& ranges() { return lists_[0].clear(), lists_[0]; }
  std::vector<Range>& more_ranges() { return lists_[1].clear(), lists_[1]; }

  // Where the time of member 0 went, by name of operation, since profile was set; empty unless asked for.
  struct OpTime { const char* name; int64_t calls = 0; double seconds = 0, waited = 0; };  // waited: at the barrier in front
  std::vector<OpTime> times;
  bool profile = false;

  static constexpr int64_t kOwnElements = 24576;  // one row of a wide layer; copying that much takes a microsecond, a barrier longer

 private:
  using Call = void (*)(const void*, const Worker&);
  struct Entry { const char* name; Call run, ahead; const void* op; bool barrier; };  // barrier: in front of the operation
  void run_timed(Team& team, const Worker& w);
  void run_all(Team& team, const Worker& w) const;
  void await(Team& team, const Worker& w, size_t i) const;
  bool needs_barrier(std::span<const Range> reads, std::span<const Range> writes);

  std::vector<Entry> ops_;
  std::vector<Range> read_, written_;  // shared memory touched since the last barrier
  std::vector<Range> lists_[2];
  int members_, barriers_ = 0;
};

}  // namespace cpu
