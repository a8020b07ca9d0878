// calibrate: how fast this machine's memory can be read and its int8 units can multiply, now, by all threads together.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <thread>
#if defined(__linux__)
#include <sys/mman.h>
#endif
#include "core/memory.h"
#include "device/cpu/features.h"
#include "device/cpu/kernels.h"

namespace cpu {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr auto kReadTime = std::chrono::milliseconds(300), kMultiplyTime = std::chrono::milliseconds(100);

// Eight independent sums, so that the loads and not the additions are the limit.
uint64_t read_all(std::span<const uint64_t> data) {
  uint64_t sums[8] = {};
  for (std::size_t i = 0; i + 8 <= data.size(); i += 8)
    for (std::size_t lane = 0; lane < 8; lane++) sums[lane] += data[i + lane];
  uint64_t sum = 0;
  for (const uint64_t s : sums) sum += s;
  return sum;
}

// Units per second of `n` threads that call work(thread, call) -> units until `time` has passed; each thread by its own clock, because a
// busy machine may start them, or this one, late.
template <class Work> double rate(int n, std::chrono::milliseconds time, const Work& work) {
  using Clock = std::chrono::steady_clock;
  std::atomic<bool> stop = false;
  std::barrier start(n + 1);
  std::vector<double> rates(static_cast<std::size_t>(n));
  std::vector<std::thread> team;
  for (int t = 0; t < n; t++)
    team.emplace_back([&, t] {
      start.arrive_and_wait();
      const Clock::time_point begin = Clock::now();
      int64_t units = 0;
      std::size_t call = 0;
      do units += work(static_cast<std::size_t>(t), call++);
      while (!stop);
      rates[static_cast<std::size_t>(t)] = static_cast<double>(units) / std::chrono::duration<double>(Clock::now() - begin).count();
    });
  start.arrive_and_wait();
  std::this_thread::sleep_for(time);
  stop = true;
  for (std::thread& thread : team) thread.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

class CpuCalibration final : public Calibration {
 public:
  CpuCalibration(const IsaEntry& isa, int n_threads, std::unique_ptr<uint64_t, decltype(&std::free)> memory, std::size_t mib)
      : kernels_(*isa.kernels), memory_(std::move(memory)), share_(mib / static_cast<std::size_t>(n_threads)) {
    threads = n_threads;
    unit = "int8";
    // Each thread touches its own share first. No two pages are alike: a host could keep equal ones once, and in its cache.
    rate(threads, std::chrono::milliseconds(0), [&](std::size_t t, std::size_t call) {
      uint64_t word = t + 1;
      for (std::size_t i = 0; call == 0 && i < share_; i++)
        for (uint64_t& w : mebibyte(t, i)) w = word = word * 6364136223846793005u + 1442695040888963407u;
      return 0;
    });
  }
  Ceilings measure() override {
    const auto read = [&](std::size_t t, std::size_t call) {
      volatile uint64_t sink = read_all(mebibyte(t, call % share_));
      return static_cast<void>(sink), static_cast<int64_t>(kMiB);
    };
    const auto multiply = [&](std::size_t, std::size_t) {
      float sink;
      return kernels_.int8_peak(10000, &sink);
    };
    return {rate(threads, kReadTime, read), rate(threads, kMultiplyTime, multiply)};
  }

 private:
  std::span<uint64_t> mebibyte(std::size_t thread, std::size_t i) const { return {memory_.get() + (thread * share_ + i) * (kMiB / 8), kMiB / 8}; }
  const Kernels& kernels_;
  std::unique_ptr<uint64_t, decltype(&std::free)> memory_;
  std::size_t share_;  // MiB of one thread
};

}  // namespace
}  // namespace cpu

Result<std::unique_ptr<Calibration>> make_cpu_calibration(const DeviceOptions& options) {
  using namespace cpu;
  const int threads = options.threads > 0 ? options.threads : features().physical_cores;
  const std::size_t free_mib = available_memory_bytes() / kMiB;
  const std::size_t mib = std::max<std::size_t>(free_mib > 8192 ? 1024 : free_mib > 2048 ? 512 : 256, static_cast<std::size_t>(threads));  // far beyond the caches
  std::unique_ptr<uint64_t, decltype(&std::free)> memory(static_cast<uint64_t*>(std::aligned_alloc(2 * kMiB, mib * kMiB)), &std::free);
  if (!memory) return Error{Code::too_large, "cannot measure the memory: " + std::to_string(mib) + " MiB free expected"};
#if defined(__linux__)
  madvise(memory.get(), mib * kMiB, MADV_HUGEPAGE);  // as the weights have them
#endif
  std::string best;
  for (const IsaEntry& isa : isa_list()) {
    if (!isa.why_not.empty()) continue;
    if (best.empty()) best = isa.name;
    if (!options.isa.empty() && options.isa != isa.name) continue;
    auto made = std::make_unique<CpuCalibration>(isa, threads, std::move(memory), mib);
    made->isa = isa.name;
    made->best_isa = best;
    made->physical_cores = features().physical_cores;
    return std::unique_ptr<Calibration>(std::move(made));
  }
  return Error{Code::unsupported, "cannot use instruction set " + options.isa + ": this machine or build lacks it"};
}
