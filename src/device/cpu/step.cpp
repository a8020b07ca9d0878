// step: the arenas, the places that need a barrier, and the replay loop.
#include "device/cpu/step.h"

#include <algorithm>
#include <chrono>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace cpu {
namespace {

// Numbers below 1e-38 count as zero while a step runs: decays reach them, and computing with them is a hundred times slower.
class FlushDenormals {
#if defined(__x86_64__)
 public:
  FlushDenormals() { _mm_setcsr(before_ | 0x8040); }  // flush to zero, denormals are zero
  ~FlushDenormals() { _mm_setcsr(before_); }

 private:
  unsigned before_ = _mm_getcsr();
#elif defined(__aarch64__)
 public:
  FlushDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" ::"r"(before_ | uint64_t{1} << 24));
  }
  ~FlushDenormals() { asm volatile("msr fpcr, %0" ::"r"(before_)); }

 private:
  uint64_t before_ = 0;
#endif
};

}  // namespace

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

size_t Arena::bytes() const {
  size_t bytes = 0;
  for (const Block& block : blocks_) bytes += block.size;
  return bytes;
}

OwnArena::OwnArena(int members) : size_(kBytes * static_cast<size_t>(members)) {
  void* p = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(p != MAP_FAILED);
  base_ = static_cast<std::byte*>(p);
}
OwnArena::~OwnArena() { ::munmap(base_, size_); }

void Step::reset() {
  arena.reset();
  own.reset();
  lasting.reset();
  ops_.clear();
  read_.clear();
  written_.clear();
  barriers_ = 0;
}

bool Step::needs_barrier(std::span<const Range> reads, std::span<const Range> writes) {
  const auto meets = [](const std::vector<Range>& seen, const Range& r) {
    const auto begin = [](const Range& x) { return reinterpret_cast<uintptr_t>(x.begin); };
    return std::ranges::any_of(seen, [&](const Range& s) { return begin(s) < begin(r) + r.bytes && begin(r) < begin(s) + s.bytes; });
  };
  bool wait = false;
  for (const Range& r : reads) wait = wait || meets(written_, r);
  for (const Range& r : writes) wait = wait || meets(written_, r) || meets(read_, r);
  if (wait) {
    read_.clear();
    written_.clear();
  }
  for (const Range& r : reads)
    if (r.bytes > 0 && !is_own(r.begin)) read_.push_back(r);
  for (const Range& r : writes)
    if (r.bytes > 0 && !is_own(r.begin)) written_.push_back(r);
  return wait;
}

void Step::await(Team& team, const Worker& w, size_t i) const {
  for (size_t j = i; j < ops_.size() && (j == i || !ops_[j].barrier); j++)
    if (ops_[j].ahead) {
      ops_[j].ahead(ops_[j].op, w);
      break;
    }
  team.barrier(w.member);
}

void Step::run_all(Team& team, const Worker& w) const {
  for (size_t i = 0; i < ops_.size(); i++) {
    if (ops_[i].barrier) await(team, w, i);
    ops_[i].run(ops_[i].op, w);
  }
}

void Step::run_timed(Team& team, const Worker& w) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); };
  for (size_t i = 0; i < ops_.size(); i++) {
    const auto same = [&](const OpTime& t) { return t.name == ops_[i].name; };
    auto at = std::ranges::find_if(times, same);
    if (at == times.end()) at = times.insert(at, OpTime{ops_[i].name});
    const Clock::time_point arrived = Clock::now();
    if (ops_[i].barrier) await(team, w, i);
    const double waited = since(arrived);
    ops_[i].run(ops_[i].op, w);
    at->calls++;
    at->waited += waited;
    at->seconds += since(arrived) - waited;
  }
}

void Step::replay(Team& team, const Kernels& kernels, std::vector<std::vector<float>>& scratch) {
  team.run([&](int member) {
    const FlushDenormals flush;
    const Worker w{member, team.size(), &kernels, scratch[static_cast<size_t>(member)].data(), reinterpret_cast<uintptr_t>(own.base())};
    if (profile && member == 0) run_timed(team, w);
    else run_all(team, w);
  });
}

}  // namespace cpu
