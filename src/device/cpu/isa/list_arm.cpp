// list_arm: the ISAs of a build for 64-bit Arm, best first, the scalar reference last.
#include "device/cpu/features.h"
#include "device/cpu/kernels.h"

namespace cpu {

std::vector<IsaEntry> isa_list() {
  return {
      {"neon", &neon_kernels, features().neon ? "" : "this processor lacks the dot-product instructions (asimddp)"},
      {"scalar", &scalar_kernels, ""},
  };
}

}  // namespace cpu
