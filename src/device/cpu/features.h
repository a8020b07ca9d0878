// features: what this processor can do and how many cores it has.
#pragma once
#include <string>

namespace cpu {

struct Features {
  bool avx2 = false;        // AVX2, FMA, F16C
  bool avx512 = false;      // F, BW, VL, DQ and VNNI, with the operating system saving the registers
  bool amx_int8 = false;    // tiles, int8, and permission from the kernel
  bool neon = false;        // AArch64 with the dot-product instructions
  int physical_cores = 1;   // that this process may use
  std::string describe() const;
};
const Features& features();

}  // namespace cpu
