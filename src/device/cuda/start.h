// start: the GPU that is used.
#pragma once
#include <string>
#include "core/core.h"
#include "device/cuda/lower.h"

namespace cuda {

struct Gpu {
  int index = 0;
  std::string name;  // "NVIDIA H200"
  int major = 0, minor = 0;
  int multiprocessors = 1;
  size_t most_shared = 48 << 10;  // bytes a thread block may have
  std::string why;   // this one: "the only GPU here"
};
constexpr int liked_rows(Precision p) { return p == Precision::exact ? 2048 : 3072; }  // of a prompt in one step: what these take of scratch memory, with CUDA itself, stays below 1.5 GB
inline CacheKind cache_kind(const DeviceOptions& o) { return o.precision == Precision::exact ? CacheKind::f32 : o.kv == KvType::int8 ? CacheKind::int8 : CacheKind::half; }
Limits limits_of(const DeviceOptions& options, const Gpu& gpu);
// The one that `options` ask for, made current for the calling thread; unsupported, and why, where none can be used.
Result<Gpu> start_gpu(const DeviceOptions& options);

}  // namespace cuda
