// refusals: texts and the order in which they apply.
#include "device/cuda/refusals.h"

#include <charconv>

namespace cuda {
namespace {

std::string version(int number) { return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); }
std::string capability(const GpuSeen& gpu) { return std::to_string(gpu.major) + "." + std::to_string(gpu.minor); }
std::string mib(size_t bytes) { return std::to_string((bytes + (size_t{1} << 20) - 1) >> 20) + " MiB"; }
Error refused(const std::string& why) { return {Code::unsupported, "cannot use an NVIDIA GPU: " + why}; }

constexpr int kLeastMajor = 8;

bool better(const GpuSeen& a, const GpuSeen& b) {
  const int x = a.major * 100 + a.minor, y = b.major * 100 + b.minor;
  return x != y ? x > y : a.total_bytes > b.total_bytes;
}

}  // namespace

std::optional<int> wanted_gpu(std::string_view device) {
  if (device == "cuda") return -1;
  if (!device.starts_with("cuda:")) return std::nullopt;
  device.remove_prefix(5);
  int index = -1;
  const auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), index);
  if (error != std::errc() || end != device.data() + device.size() || index < 0 || index > 1023) return std::nullopt;
  return index;
}

Result<int> choose_gpu(const RuntimeSeen& seen, int wanted) {
  if (seen.driver == 0) return refused("no driver is installed");
  if (seen.driver_too_old) return refused("the driver is too old: CUDA " + version(seen.runtime) + " needed, it knows CUDA " + version(seen.driver));
  if (!seen.error.empty()) return refused("CUDA says " + seen.error + " (driver for CUDA " + version(seen.driver) + ", CUDA " + version(seen.runtime) + " in this build)");
  if (seen.gpus.empty()) return refused("the driver sees none");
  const auto n = static_cast<int>(seen.gpus.size());
  if (wanted >= n) return refused("number " + std::to_string(wanted) + " was asked for, the driver sees " + std::to_string(n) + (n == 1 ? ", number 0" : ", numbers 0 to " + std::to_string(n - 1)));
  int best = wanted < 0 ? 0 : wanted;
  for (int i = 1; wanted < 0 && i < n; i++)
    if (better(seen.gpus[static_cast<size_t>(i)], seen.gpus[static_cast<size_t>(best)])) best = i;
  const GpuSeen& gpu = seen.gpus[static_cast<size_t>(best)];
  if (gpu.major < kLeastMajor) return refused("compute capability " + std::to_string(kLeastMajor) + ".0 or later needed, " + gpu.name + " has " + capability(gpu));
  return best;
}

Error no_kernels(const GpuSeen& gpu, const std::string& error) {
  return refused("this build has no kernels for " + gpu.name + ", compute capability " + capability(gpu) + ": CUDA says " + error + " (see CMAKE_CUDA_ARCHITECTURES)");
}

std::string call_failed(const std::string& attempt, const std::string& name, const std::string& text) { return "cannot " + attempt + ": CUDA says " + name + ", " + text; }

std::string memory_refused(const std::string& what, size_t bytes, size_t free, size_t total) {
  return "cannot take " + mib(bytes) + " of GPU memory for " + what + (total == 0 ? ": there is no more" : ": " + std::to_string(free >> 20) + " MiB of " + std::to_string(total >> 20) + " are free");
}

}  // namespace cuda
