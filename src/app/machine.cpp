// machine: /proc and /sys, read leniently: a fact that is not there explains nothing.
#include "app/machine.h"

#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

// What follows "KEY<blanks>:" in a file of such lines.
std::string value_of(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(key) || line.find_first_not_of(" \t", key.size()) != colon) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::string bracketed(const char* path) {  // "always [madvise] never"
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const size_t begin = line.find('['), end = line.find(']');
  return begin == std::string::npos || end == std::string::npos ? "" : line.substr(begin + 1, end - begin - 1);
}

int count_numa_nodes() {
  int nodes = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/node", none)) {
    const std::string name = entry.path().filename().string();
    nodes += name.size() > 4 && name.starts_with("node") && name.find_first_not_of("0123456789", 4) == std::string::npos;
  }
  return std::max(1, nodes);
}

CpuTimes cpu_times() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  return parse_cpu_times(line);
}

double own_jiffies() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return (seconds(used.ru_utime) + seconds(used.ru_stime)) * static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

MachineFacts machine_facts() {
  MachineFacts facts;
  facts.processor = value_of("/proc/cpuinfo", "model name");
  facts.huge_pages = bracketed("/sys/kernel/mm/transparent_hugepage/enabled");
  facts.numa_nodes = count_numa_nodes();
  facts.swapped_bytes = static_cast<size_t>(std::strtoull(value_of("/proc/self/status", "VmSwap").c_str(), nullptr, 10)) * 1024;
  return facts;
}

CpuTimes parse_cpu_times(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::string name;
  if (!(words >> name) || name != "cpu") return {};
  CpuTimes times;
  double jiffies = 0;
  for (int i = 0; i < 8 && words >> jiffies; i++) {  // user nice system idle iowait irq softirq steal; guests are counted in user already
    times.total += jiffies;
    if (i != 3 && i != 4) times.busy += jiffies;
  }
  return times;
}

ForeignShare::ForeignShare() : begin_(cpu_times()), own_(own_jiffies()) {}

double ForeignShare::measure() const {
  const CpuTimes now = cpu_times();
  const double total = now.total - begin_.total, foreign = now.busy - begin_.busy - (own_jiffies() - own_);
  return total > 0 ? std::clamp(foreign / total, 0.0, 1.0) : 0;
}
