// features: CPUID, core topology and free memory.
#include "device/cpu/features.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif
#endif

namespace cpu {
namespace {

// Cores, not hyper-threads: two threads on one core share its load ports and gain nothing in memory-bound work.
int count_physical_cores() {
  const int logical = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return logical;
  std::set<std::string> cores;
  int usable = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(static_cast<size_t>(cpu), &allowed)) continue;
    usable++;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    std::string siblings;
    if (std::getline(file, siblings)) cores.insert(siblings);
  }
  const int found = static_cast<int>(cores.size());
  if (2 * found >= usable && found > 0) return found;
  if (usable > 0) return usable;  // some virtual machines call all their processors siblings of each other
#endif
  return logical;
}

#if defined(__x86_64__) && defined(__linux__)
bool amx_permitted() {
  constexpr long arch_req_xcomp_perm = 0x1023, xfeature_xtiledata = 18;
  return ::syscall(SYS_arch_prctl, arch_req_xcomp_perm, xfeature_xtiledata) == 0;
}
bool cpuid_amx() {
  uint32_t a = 7, b = 0, c = 0, d = 0;
  asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return (d >> 24 & 1) && (d >> 25 & 1);
}
#endif

Features detect() {
  Features f;
#if defined(__x86_64__)
  __builtin_cpu_init();
  f.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  f.avx512 = f.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
#if defined(__linux__)
  f.amx_int8 = f.avx512 && cpuid_amx() && amx_permitted();
#endif
#elif defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long asimddp = 1ul << 20;
  f.neon = (::getauxval(AT_HWCAP) & asimddp) != 0;
#elif defined(__aarch64__)
  f.neon = true;  // every Apple core has the dot-product instructions
#endif
  f.physical_cores = count_physical_cores();
  return f;
}

}  // namespace

const Features& features() {
  static const Features found = detect();
  return found;
}

std::string Features::describe() const {
  std::string text;
  const auto say = [&](bool has, const char* name) { text += has ? std::string(text.empty() ? "" : " ") + name : ""; };
  say(avx2, "avx2");
  say(avx512, "avx512-vnni");
  say(amx_int8, "amx-int8");
  say(neon, "neon");
  return (text.empty() ? "baseline" : text) + ", " + std::to_string(physical_cores) + " cores";
}

}  // namespace cpu
