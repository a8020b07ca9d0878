// isas: the instruction sets that tests run through.
#pragma once
#include <algorithm>
#include "device/cpu/kernels.h"

namespace cpu {
const Kernels& emulated_amx_kernels();  // amx_emulated.cpp

inline std::vector<IsaEntry> runnable_isas() {
  std::vector<IsaEntry> list = isa_list();
  std::erase_if(list, [](const IsaEntry& e) { return !e.why_not.empty(); });
#if defined(__x86_64__)
  if (std::ranges::any_of(list, [](const IsaEntry& e) { return std::string_view(e.name) == "avx512"; })) list.push_back({"amx-emulated", &emulated_amx_kernels(), ""});
#endif
  return list;
}
}  // namespace cpu
