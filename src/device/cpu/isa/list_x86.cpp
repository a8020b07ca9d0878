// list_x86: the ISAs of a build for x86-64, best first, the scalar reference last.
#include "device/cpu/features.h"
#include "device/cpu/kernels.h"

namespace cpu {

std::vector<IsaEntry> isa_list() {
  const Features& f = features();
  return {
      {"amx", &amx_kernels(), f.amx_int8 ? "" : "this processor or system lacks AMX int8 tiles"},
      {"avx512", &avx512_kernels, f.avx512 ? "" : "this processor lacks AVX-512 F, BW, VL, DQ or VNNI"},
      {"avx2", &avx2_kernels, f.avx2 ? "" : "this processor lacks AVX2, FMA or F16C"},
      {"scalar", &scalar_kernels, ""},
  };
}

}  // namespace cpu
