// memory: how much of it this machine has, and how fast it can be read.
#pragma once
#include "core/core.h"

struct MemorySize { size_t total_bytes = 0, available_bytes = 0; };  // after the limit of a container, when there is one; 0: unknown
MemorySize memory_size();

// Bytes per second that `threads` threads read together from a buffer far beyond the caches (512 MB, 256 MB on small machines).
class BandwidthProbe {
 public:
  explicit BandwidthProbe(int threads);
  double measure();  // one pass of about half a second

 private:
  int threads_;
  std::vector<uint64_t> buffer_;
  volatile uint64_t sink_ = 0;
};
int physical_cores();
