// list: the devices, best first; the CPU is always there.
#include <cstdio>
#include "device/device.h"

namespace {

struct Entry {
  const char* name;
  Result<std::unique_ptr<Device>> (*make)(const DeviceOptions&);
  Result<std::unique_ptr<Calibration>> (*calibrate)(const DeviceOptions&);
};
constexpr Entry entries[] = {{"cuda", make_cuda_device, make_cuda_calibration}, {"cpu", make_cpu_device, make_cpu_calibration}};

}  // namespace

Result<std::unique_ptr<Device>> make_device(const DeviceOptions& options) {
  std::string known;
  for (const Entry& e : entries) {
    known += (known.empty() ? "" : ", ") + std::string(e.name);
    if (options.device != e.name && options.device != "auto") continue;
    auto device = e.make(options);
    if (options.trace_dispatch) std::fprintf(stderr, "dispatch: device %s: %s\n", e.name, device ? "chosen" : device.error().message.c_str());
    if (device || options.device == e.name || e.make == make_cpu_device) return device;
  }
  return Error{Code::invalid_request, "cannot start a device named " + options.device + ": one of " + known + " or auto expected"};
}

Result<std::unique_ptr<Calibration>> make_calibration(const DeviceOptions& options) {
  for (const Entry& e : entries) {
    if (options.device != e.name && options.device != "auto") continue;
    auto calibration = e.calibrate(options);
    if (calibration || options.device == e.name || e.calibrate == make_cpu_calibration) return calibration;
  }
  return Error{Code::invalid_request, "cannot measure a device named " + options.device};
}
