// memory: MemAvailable of /proc/meminfo.
#include "core/memory.h"

#include <unistd.h>
#include <cstdio>

size_t available_memory_bytes() {
  if (FILE* file = std::fopen("/proc/meminfo", "r")) {
    char line[128];
    unsigned long long kib = 0;
    bool found = false;
    while (!found && std::fgets(line, sizeof line, file)) found = std::sscanf(line, "MemAvailable: %llu kB", &kib) == 1;
    std::fclose(file);
    if (found) return static_cast<size_t>(kib) << 10;
  }
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);  // no such figure here: half of what is built in
  return pages > 0 && size > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(size) / 2 : size_t{1} << 30;
}
