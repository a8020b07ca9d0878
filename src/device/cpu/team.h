// team: the CPU's threads. One job at a time, run by all of them; barriers spin briefly, then park, so a busy machine does not collapse.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace cpu {

// The calling thread is member 0; the others are owned. Not itself thread-safe: one caller at a time.
class Team {
 public:
  Team(int n_threads, bool pin);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  int size() const { return n_; }
  // Runs job(member) on every member and returns when all have finished. No allocation.
  template <class Job> void run(Job&& job) {
    start([](void* context, int member) { (*static_cast<std::remove_reference_t<Job>*>(context))(member); }, &job);
  }
  void barrier(int member);  // inside a job: waits for every member

 private:
  using Entry = void (*)(void*, int);
  void start(Entry entry, void* context);
  void work(int member);
  static void wait_while_equal(std::atomic<uint32_t>& word, uint32_t value);

  int n_;
  std::vector<std::thread> threads_;
  Entry entry_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<uint32_t> job_{0};         // number of the current job; odd values never skipped
  // The barrier counts in groups of four and then the groups: sixteen members in one line of cache would queue up for it.
  static constexpr int kGroup = 4;
  struct alignas(64) Arrivals { std::atomic<uint32_t> count{0}; };
  std::unique_ptr<Arrivals[]> groups_;
  Arrivals full_groups_;
  alignas(64) std::atomic<uint32_t> generation_{0};
  std::atomic<bool> quit_{false};
};

}  // namespace cpu
