// team: starting, parking and pinning threads; the barrier.
#include "device/cpu/team.h"

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace cpu {
namespace {

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void pin_to(int core) {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(core), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);  // a refusal (container, fewer cores) only costs speed
#else
  (void)core;
#endif
}

// About 20 us of pauses: longer than any barrier between balanced threads, shorter than a scheduler tick.
constexpr int kSpins = 2000;

}  // namespace

Team::Team(int n_threads, bool pin) : n_(n_threads < 1 ? 1 : n_threads), groups_(std::make_unique<Arrivals[]>(static_cast<size_t>((n_ + kGroup - 1) / kGroup))) {
  for (int member = 1; member < n_; member++) {
    threads_.emplace_back([this, member, pin] {
      if (pin) pin_to(member);
      work(member);
    });
  }
}

Team::~Team() {
  quit_.store(true, std::memory_order_relaxed);
  job_.fetch_add(1, std::memory_order_release);
  job_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::wait_while_equal(std::atomic<uint32_t>& word, uint32_t value) {
  for (int i = 0; i < kSpins; i++) {
    if (word.load(std::memory_order_acquire) != value) return;
    relax();
  }
  while (word.load(std::memory_order_acquire) == value) word.wait(value, std::memory_order_acquire);
}

void Team::work(int member) {
  for (uint32_t seen = 0;;) {
    wait_while_equal(job_, seen);
    seen = job_.load(std::memory_order_acquire);
    if (quit_.load(std::memory_order_relaxed)) return;
    entry_(context_, member);
    barrier(member);
  }
}

void Team::start(Entry entry, void* context) {
  if (n_ == 1) return entry(context, 0);
  entry_ = entry;
  context_ = context;
  job_.fetch_add(1, std::memory_order_release);
  job_.notify_all();
  entry(context, 0);
  barrier(0);
}

void Team::barrier(int member) {
  if (n_ == 1) return;
  const uint32_t generation = generation_.load(std::memory_order_relaxed);
  const auto last_of = [](Arrivals& arrivals, int n) {  // the last one also clears the count for the next time
    if (arrivals.count.fetch_add(1, std::memory_order_acq_rel) + 1 < static_cast<uint32_t>(n)) return false;
    arrivals.count.store(0, std::memory_order_relaxed);
    return true;
  };
  const int group = member / kGroup, groups = (n_ + kGroup - 1) / kGroup, size = n_ - group * kGroup < kGroup ? n_ - group * kGroup : kGroup;
  if (last_of(groups_[static_cast<size_t>(group)], size) && last_of(full_groups_, groups)) {
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    return;
  }
  wait_while_equal(generation_, generation);
}

}  // namespace cpu
