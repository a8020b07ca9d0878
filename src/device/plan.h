// plan: which device would run a model, and what the model would take of its memory, found by loading it and recording its steps without memory and
// without arithmetic.
#pragma once
#include <functional>
#include <optional>
#include "device/device.h"

struct DeviceChoice {
  std::string device;  // what DeviceOptions::device says for just this one: "cpu", "cuda:0"
  std::string why;     // in words, with what it is and why nothing better: "cuda:0, NVIDIA H200: the best GPU of 1"
};
// Fails when the device that `options` name cannot be used; "auto" finds one.
Result<DeviceChoice> choose_device(const DeviceOptions& options);

// Of a device that has memory of its own. Some is never planned for: it goes to what the driver keeps for contexts, kernels and graphs.
struct DeviceMemory {
  size_t free_bytes = 0, total_bytes = 0, kept_bytes = 0;
  size_t available_bytes() const { return free_bytes - std::min(free_bytes, kept_bytes); }
};
std::optional<DeviceMemory> device_memory(const std::string& device);  // nothing for one that uses the machine's

// Uploads only count, state is address space alone, and nothing that is recorded may be run.
struct DryDevice {
  std::unique_ptr<Device> device;
  std::function<size_t()> scratch_bytes;  // what steps have needed so far beside weights and state; valid as long as the device
};
Result<DryDevice> make_dry_device(const DeviceOptions& options);  // "auto" is none: see choose_device
Result<DryDevice> make_dry_cpu_device(const DeviceOptions& options);
Result<DryDevice> make_dry_cuda_device(const DeviceOptions& options);  // needs no GPU

Result<DeviceChoice> choose_cuda_device(const DeviceOptions& options);
std::optional<DeviceMemory> cuda_memory(const std::string& device);
