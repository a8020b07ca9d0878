// machine: what this machine says about itself that explains a speed, and who else used its cores.
#pragma once
#include "core/core.h"

struct MachineFacts {
  std::string processor;        // "" when the system does not say, like all of these
  std::string huge_pages;       // always, madvise or never
  int numa_nodes = 1;
  size_t swapped_bytes = 0;     // of this process
};
MachineFacts machine_facts();

// Jiffies of all processors since they started, and those of /proc/stat's first line that were work (or taken by the host).
struct CpuTimes { double total = 0, busy = 0; };
CpuTimes parse_cpu_times(std::string_view first_line_of_proc_stat);

// Which share of all processors other programs (and the host) took since construction; 0 where the system does not say.
class ForeignShare {
 public:
  ForeignShare();
  double measure() const;

 private:
  CpuTimes begin_;
  double own_;
};
