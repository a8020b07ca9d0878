// plan: what a model would take of a device's memory, found by loading it and recording its steps without memory and without arithmetic.
#pragma once
#include <functional>
#include "device/device.h"

// Uploads only count, state is address space alone, and nothing that is recorded may be run.
struct DryDevice {
  std::unique_ptr<Device> device;
  std::function<size_t()> scratch_bytes;  // what steps have needed so far beside weights and state; valid as long as the device
};
Result<DryDevice> make_dry_cpu_device(const DeviceOptions& options);
