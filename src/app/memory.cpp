// memory: /proc/meminfo, cgroup limits, and a plain streaming read.
#include "app/memory.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <fstream>
#include <set>
#include <thread>
#include "app/console.h"

namespace {

size_t meminfo(const std::string& key) {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  size_t kilobytes = 0;
  while (file >> name >> kilobytes) {
    std::getline(file, unit);
    if (name == key + ":") return kilobytes * 1024;
  }
  return 0;
}

size_t first_number(const char* path) {
  std::ifstream file(path);
  size_t value = 0;
  return file >> value ? value : 0;  // "max" is no number
}

// Eight independent sums, so that the loads and not the additions are the limit.
uint64_t read_all(std::span<const uint64_t> data) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i + 8 <= data.size(); i += 8)
    for (size_t lane = 0; lane < 8; lane++) sums[lane] += data[i + lane];
  uint64_t sum = 0;
  for (const uint64_t s : sums) sum += s;
  return sum;
}

}  // namespace

MemorySize memory_size() {
  MemorySize size{meminfo("MemTotal"), meminfo("MemAvailable")};
  const auto limit_by = [&](size_t limit, size_t used) {
    if (limit == 0 || size.total_bytes == 0 || limit >= size.total_bytes) return;
    size.total_bytes = limit;
    size.available_bytes = std::min(size.available_bytes, limit - std::min(used, limit));
  };
  limit_by(first_number("/sys/fs/cgroup/memory.max"), first_number("/sys/fs/cgroup/memory.current"));
  limit_by(first_number("/sys/fs/cgroup/memory/memory.limit_in_bytes"), first_number("/sys/fs/cgroup/memory/memory.usage_in_bytes"));
  return size;
}

int physical_cores() {
  std::set<std::string> cores;  // sibling lists: one per core
  for (unsigned cpu = 0; cpu < std::thread::hardware_concurrency(); cpu++) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    std::string siblings;
    if (file >> siblings) cores.insert(siblings);
  }
  return cores.empty() ? static_cast<int>(std::max(1u, std::thread::hardware_concurrency())) : static_cast<int>(cores.size());
}

BandwidthProbe::BandwidthProbe(int threads) : threads_(threads > 0 ? threads : physical_cores()) {
  const size_t bytes = memory_size().available_bytes > (size_t{2} << 30) ? size_t{512} << 20 : size_t{256} << 20;
  buffer_.assign(bytes / sizeof(uint64_t), 1);
}

double BandwidthProbe::measure() {
  std::atomic<uint64_t> passes = 0;
  std::barrier start(threads_ + 1);
  std::atomic<bool> stop = false;
  std::vector<std::thread> team;
  const size_t share = buffer_.size() / static_cast<size_t>(threads_);
  for (int t = 0; t < threads_; t++)
    team.emplace_back([&, t] {
      const std::span<const uint64_t> mine(buffer_.data() + static_cast<size_t>(t) * share, share);
      start.arrive_and_wait();
      uint64_t sum = 0;
      do {
        sum += read_all(mine);
        passes++;
      } while (!stop);
      sink_ = sum;
    });
  start.arrive_and_wait();
  const double begin = seconds_now();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  stop = true;
  for (std::thread& thread : team) thread.join();
  const double elapsed = seconds_now() - begin;
  return static_cast<double>(passes * share * sizeof(uint64_t)) / elapsed;
}
