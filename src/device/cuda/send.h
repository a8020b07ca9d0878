// send: a step's tables, from pinned memory of the host to where the step's kernels read them.
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>

namespace cuda {

// The tables lie one behind the other in `from`. Ids below 0 are what the step before drew (sampled_before): they are filled in here, so that
// no other kernel knows of them.
struct SendArgs {
  enum Part { specs, which, ids, positions, row_sequence, picked, sequences, pages, n_parts };
  const uint32_t* from = nullptr;
  const int32_t* drawn = nullptr;
  uint32_t* to[n_parts] = {};
  uint32_t ends[n_parts] = {};  // words
};
cudaError_t send_tables(const SendArgs& args, cudaStream_t stream);  // begins when everything before it has ended

}  // namespace cuda
