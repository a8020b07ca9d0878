// start: driver, GPU, kernels for it: asked in this order, each with its own refusal.
#include "device/cuda/start.h"

#include "device/cuda/calls.h"
#include "device/cuda/kernels.h"
#include "device/cuda/refusals.h"
#include "device/plan.h"

namespace cuda {
namespace {

constexpr size_t kKeptBytes = size_t{384} << 20;  // kernels are loaded when first used, recorded steps take memory, and what others need

std::string words(cudaError_t code) { return std::string(cudaGetErrorName(code)) + ", " + cudaGetErrorString(code); }

RuntimeSeen look() {
  RuntimeSeen seen;
  seen.runtime = CUDART_VERSION;
  if (cudaDriverGetVersion(&seen.driver) != cudaSuccess) seen.driver = 0;
  if (seen.driver == 0) return seen;
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess) {
    cudaGetLastError();
    seen.driver_too_old = code == cudaErrorInsufficientDriver;
    if (code != cudaErrorNoDevice) seen.error = words(code);
    return seen;
  }
  for (int i = 0; i < count; i++) {
    cudaDeviceProp p{};
    if (const cudaError_t code = cudaGetDeviceProperties(&p, i); code != cudaSuccess) seen.error = words(code);
    seen.gpus.push_back({p.name, p.major, p.minor, p.totalGlobalMem});
  }
  return seen;
}

}  // namespace

Limits limits_of(const DeviceOptions& options, const Gpu& gpu) { return {options.precision == Precision::exact, gpu.multiprocessors, 10 * gpu.major + gpu.minor, gpu.most_shared, options.batch_invariant ? kMostFewRows : kFewRows}; }

Result<Gpu> start_gpu(const DeviceOptions& options) {
  const RuntimeSeen seen = look();
  TRY(const int index, choose_gpu(seen, options.device == "auto" ? -1 : wanted_gpu(options.device).value_or(-1)));
  const GpuSeen& gpu = seen.gpus[static_cast<size_t>(index)];
  if (const cudaError_t code = cudaSetDevice(index); code != cudaSuccess) return failed("start " + gpu.name, code);
  cudaFuncAttributes attributes{};
  if (const cudaError_t code = cudaFuncGetAttributes(&attributes, embed_kernel()); code != cudaSuccess) {
    cudaGetLastError();
    if (code == cudaErrorNoKernelImageForDevice || code == cudaErrorInvalidDeviceFunction || code == cudaErrorUnsupportedPtxVersion) return no_kernels(gpu, words(code));
    return failed("start " + gpu.name, code);
  }
  cudaDeviceProp properties{};
  if (const cudaError_t code = cudaGetDeviceProperties(&properties, index); code != cudaSuccess) return failed("ask the GPU what it is", code);
  const std::string all = std::to_string(seen.gpus.size());
  return Gpu{index, gpu.name, gpu.major, gpu.minor, properties.multiProcessorCount, properties.sharedMemPerBlockOptin, options.device.starts_with("cuda:") ? "asked for" : seen.gpus.size() == 1 ? "the only GPU here" : "the best of " + all + " GPUs"};
}

}  // namespace cuda

Result<DeviceChoice> choose_cuda_device(const DeviceOptions& options) {
  TRY(const cuda::Gpu gpu, cuda::start_gpu(options));
  const std::string device = "cuda:" + std::to_string(gpu.index);
  return DeviceChoice{device, device + ", " + gpu.name + ", compute capability " + std::to_string(gpu.major) + "." + std::to_string(gpu.minor) + ": " + gpu.why};
}

std::optional<DeviceMemory> cuda_memory(const std::string& device) {
  DeviceMemory memory;
  memory.kept_bytes = cuda::kKeptBytes;
  const int index = std::max(0, cuda::wanted_gpu(device).value_or(0));
  if (cudaSetDevice(index) != cudaSuccess || cudaMemGetInfo(&memory.free_bytes, &memory.total_bytes) != cudaSuccess) cudaGetLastError(), memory = {};
  return memory;
}
