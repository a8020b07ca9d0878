// gemm_kernels: the matrix product kernels of a list of kinds; each gemm_*.cu makes some of them, so that they compile side by side.
#pragma once
#include "device/cuda/gemm_hopper.cuh"
#include "device/cuda/gemm_mma.cuh"

namespace cuda {

template <Codes C, Scales S, int G> const void* gemm_of(bool pair, bool hopper) {
  if (hopper) return pair ? reinterpret_cast<const void*>(gemm_hopper<C, S, G, true, kHopperGroups>) : reinterpret_cast<const void*>(gemm_hopper<C, S, G, false, kHopperGroups>);
  return pair ? reinterpret_cast<const void*>(gemm_mma<C, S, G, true>) : reinterpret_cast<const void*>(gemm_mma<C, S, G, false>);
}
#define CALLA_GEMM_OF(c, s, g) template const void* gemm_of<Codes::c, Scales::s, g>(bool pair, bool hopper);

}  // namespace cuda
