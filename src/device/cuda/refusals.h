// refusals: which GPU is used, and why one cannot be: decided from what the runtime answered, so that it can be tested without a GPU.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"

namespace cuda {

struct GpuSeen { std::string name; int major = 0, minor = 0; size_t total_bytes = 0; };
struct RuntimeSeen {
  int driver = 0, runtime = 0;   // CUDA versions, 12040; driver 0: none is installed
  bool driver_too_old = false;   // the runtime says so itself
  std::string error;             // of counting GPUs: "NAME, TEXT"; "" when they were counted
  std::vector<GpuSeen> gpus;
};

// Index of the GPU to use: `wanted`, or when that is -1 the one of the latest kind, of several the largest, of those the first.
Result<int> choose_gpu(const RuntimeSeen& seen, int wanted);
// "cuda", "cuda:1": -1, 1; nothing for other words.
std::optional<int> wanted_gpu(std::string_view device);

Error no_kernels(const GpuSeen& gpu, const std::string& error);
std::string call_failed(const std::string& attempt, const std::string& name, const std::string& text);
// Of `bytes` for `what`; free and total 0: unknown.
std::string memory_refused(const std::string& what, size_t bytes, size_t free, size_t total);

}  // namespace cuda
