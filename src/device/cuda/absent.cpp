// absent: what stands in for the CUDA device in builds without it.
#include "device/plan.h"

static Error absent() { return {Code::unsupported, "cannot use an NVIDIA GPU: not in this build, which was made without CUDA (cmake --preset cuda)"}; }
Result<std::unique_ptr<Device>> make_cuda_device(const DeviceOptions&) { return absent(); }
Result<std::unique_ptr<Calibration>> make_cuda_calibration(const DeviceOptions&) { return absent(); }
Result<DryDevice> make_dry_cuda_device(const DeviceOptions&) { return absent(); }
Result<DeviceChoice> choose_cuda_device(const DeviceOptions&) { return absent(); }
std::optional<DeviceMemory> cuda_memory(const std::string&) { return std::nullopt; }
