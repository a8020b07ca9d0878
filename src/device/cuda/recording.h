// recording: kernel launches of one step, in order, each with its arguments as bytes, so that steps can be compared and replayed.
#pragma once
#include <cuda_runtime_api.h>
#include <cstring>
#include <type_traits>
#include <vector>

namespace cuda {

// One kernel; its arguments are `bytes` of Recording::arguments from `at` on. No byte is left undefined: steps are told apart by their bytes.
struct Launch { const char* name; const void* kernel; dim3 grid, block; uint32_t shared_bytes, at, bytes, cluster; };
struct Recording {
  std::vector<Launch> launches;
  std::vector<std::byte> arguments;
  void clear() { launches.clear(), arguments.clear(); }
  template <class Args> void push(const char* name, const void* kernel, dim3 grid, int block, size_t shared_bytes, const Args& args, uint32_t cluster = 1) {
    static_assert(std::is_trivially_copyable_v<Args>);
    const auto at = static_cast<uint32_t>((arguments.size() + 15) / 16 * 16);
    arguments.resize(at + sizeof args);
    Args defined = args;
    __builtin_clear_padding(&defined);
    std::memcpy(arguments.data() + at, static_cast<const void*>(&defined), sizeof args);
    launches.push_back({name, kernel, grid, dim3(static_cast<unsigned>(block)), static_cast<uint32_t>(shared_bytes), at, sizeof args, cluster});
  }
};

}  // namespace cuda
