// isas: the instruction sets that tests run through.
#pragma once
#include <algorithm>
#include "device/cpu/kernels.h"

#if defined(__has_feature)
#define CALLA_SANITIZED_BY(x) __has_feature(x)
#else
#define CALLA_SANITIZED_BY(x) 0
#endif

namespace cpu {
const Kernels& emulated_amx_kernels();  // amx_emulated.cpp

inline std::vector<IsaEntry> runnable_isas() {
  std::vector<IsaEntry> list = isa_list();
  std::erase_if(list, [](const IsaEntry& e) { return !e.why_not.empty(); });
#if CALLA_SANITIZED_BY(thread_sanitizer)
  list.resize(1);  // all of them share the code that threads run; under this sanitizer one takes a minute
#elif CALLA_SANITIZED_BY(address_sanitizer)
  std::erase_if(list, [](const IsaEntry& e) { return std::string_view(e.name) == "scalar"; });
#elif defined(__x86_64__)
  if (std::ranges::any_of(list, [](const IsaEntry& e) { return std::string_view(e.name) == "avx512"; })) list.push_back({"amx-emulated", &emulated_amx_kernels(), ""});
#endif
  return list;
}
}  // namespace cpu
