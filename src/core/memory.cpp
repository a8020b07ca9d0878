// memory: /proc/meminfo, /proc/self and the limits of control groups.
#include "core/memory.h"

#include <unistd.h>
#include <algorithm>
#include <fstream>
#include <string>

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

size_t first_number(const std::string& path) {
  std::ifstream file(path);
  size_t value = 0;
  return file >> value ? value : 0;  // "max" is no number
}

size_t stat_value(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string name;
  size_t value = 0;
  while (file >> name >> value)
    if (name == key) return value;
  return 0;
}

// Pages of files that were read once count as used, and are given back when memory is short.
void limit_by(MemorySize& size, const std::string& folder, const char* limit_file, const char* usage_file) {
  const size_t limit = first_number(folder + limit_file);
  if (limit == 0 || size.total_bytes == 0 || limit >= size.total_bytes) return;
  const size_t used = first_number(folder + usage_file), reclaimable = stat_value(folder + "/memory.stat", "inactive_file");
  size.total_bytes = limit;
  size.available_bytes = std::min(size.available_bytes, limit - std::min(used - std::min(used, reclaimable), limit));
}

// "/system.slice/calla.service" of the line "0::/system.slice/calla.service"; "" in a container that shows its own group as the root.
std::string own_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::/")) return line.substr(3) == "/" ? "" : line.substr(3);
  return "";
}

}  // namespace

MemorySize memory_size() {
  MemorySize size{meminfo("MemTotal"), meminfo("MemAvailable")};
  for (std::string group = own_group();; group.resize(group.rfind('/'))) {
    limit_by(size, "/sys/fs/cgroup" + group, "/memory.max", "/memory.current");
    if (group.empty()) break;
  }
  limit_by(size, "/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes");
  return size;
}

size_t available_memory_bytes() {
  if (const size_t available = memory_size().available_bytes; available > 0) return available;
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(size) / 2 : size_t{1} << 30;
}

size_t resident_memory_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t all = 0, resident = 0;
  const long page = ::sysconf(_SC_PAGESIZE);
  return file >> all >> resident && page > 0 ? resident * static_cast<size_t>(page) : 0;
}
