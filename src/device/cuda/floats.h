// floats: products of many rows with small matrices that must stay precise (routers, decay gates): every float as two halves on tensor cores.
#pragma once
#include "device/cuda/project.h"

namespace cuda {

struct FloatsArgs {
  const float* x;  // [rows, cols]
  FloatTarget targets[kMostTargets];
  int32_t rows, cols, n_targets, n_outs;  // n_outs: rows of all targets
};
inline constexpr int kFloatsTileRows = 64, kFloatsTileOuts = 32, kFloatsThreads = 128;
const void* floats_kernel();  // grid (tiles of outs, tiles of rows)

}  // namespace cuda
