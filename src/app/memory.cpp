// memory: /proc/meminfo and the limits of cgroups.
#include "app/memory.h"

#include <algorithm>
#include <fstream>

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
