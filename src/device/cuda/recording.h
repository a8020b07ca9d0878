// recording: kernel launches of one step, in order, each with its arguments as bytes, so that steps can be compared and replayed.
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace cuda {

// One kernel; its arguments are `bytes` of Recording::arguments from `at` on. Steps are told apart by their bytes, so arguments are structs that were
// zeroed with {} before they were filled in, their padding too. (gcc 12's __builtin_clear_padding clears more than padding where structs hold arrays of structs.)
struct Launch { const char* name; const void* kernel; dim3 grid, block; uint32_t shared_bytes, at, bytes, cluster; };
struct Recording {
  std::vector<Launch> launches;
  std::vector<std::byte> arguments;
  uint64_t signature = 0;  // of both, once it was asked for; 0: not yet
  void clear() { launches.clear(), arguments.clear(), signature = 0; }
  template <class Args> void push(const char* name, const void* kernel, dim3 grid, int block, size_t shared_bytes, const Args& args, uint32_t cluster = 1) {
    static_assert(std::is_trivially_copyable_v<Args>);
    const auto at = static_cast<uint32_t>((arguments.size() + 15) / 16 * 16);
    arguments.resize(at + sizeof args);
    std::memcpy(arguments.data() + at, static_cast<const void*>(&args), sizeof args);
    launches.push_back({name, kernel, grid, dim3(static_cast<unsigned>(block)), static_cast<uint32_t>(shared_bytes), at, sizeof args, cluster});
  }
};

}  // namespace cuda
