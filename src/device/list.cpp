// list: the devices, best first; the CPU is always there.
#include <cstdio>
#include "device/plan.h"

namespace {

Result<DeviceChoice> choose_cpu(const DeviceOptions&) { return DeviceChoice{"cpu", "cpu"}; }
std::optional<DeviceMemory> none_of_its_own(const std::string&) { return std::nullopt; }

struct Entry {
  const char* name;
  Result<DeviceChoice> (*choose)(const DeviceOptions&);
  Result<std::unique_ptr<Device>> (*make)(const DeviceOptions&);
  Result<DryDevice> (*make_dry)(const DeviceOptions&);
  std::optional<DeviceMemory> (*memory)(const std::string&);
  Result<std::unique_ptr<Calibration>> (*calibrate)(const DeviceOptions&);
  bool is(const std::string& device) const { return device == name || device.starts_with(name + std::string(":")); }
};
constexpr Entry entries[] = {
    {"cuda", choose_cuda_device, make_cuda_device, make_dry_cuda_device, cuda_memory, make_cuda_calibration},
    {"cpu", choose_cpu, make_cpu_device, make_dry_cpu_device, none_of_its_own, make_cpu_calibration},
};

Result<const Entry*> find(const std::string& device) {
  std::string known;
  for (const Entry& e : entries) {
    if (e.is(device)) return &e;
    known += std::string(e.name) + ", ";
  }
  return Error{Code::invalid_request, "cannot start a device named " + device + ": one of " + known + "auto expected"};
}

// One entry, and options that name it.
struct Found {
  const Entry* entry;
  DeviceOptions options;
};
Result<Found> find_chosen(const DeviceOptions& options) {
  TRY(const DeviceChoice choice, choose_device(options));
  Found found{nullptr, options};
  found.options.device = choice.device;
  TRY(found.entry, find(choice.device));
  return found;
}

}  // namespace

Result<DeviceChoice> choose_device(const DeviceOptions& options) {
  if (options.device != "auto") {
    TRY(const Entry* const entry, find(options.device));
    return entry->choose(options);
  }
  std::string refusals;
  for (const Entry& e : entries) {
    auto choice = e.choose(options);
    if (options.trace_dispatch) std::fprintf(stderr, "dispatch: device %s: %s\n", e.name, choice ? "chosen" : choice.error().message.c_str());
    if (choice) {
      choice->why += refusals;
      return choice;
    }
    refusals += ": " + choice.error().message;
  }
  return Error{Code::unsupported, "cannot find a device" + refusals};
}

Result<std::unique_ptr<Device>> make_device(const DeviceOptions& options) {
  TRY(const Found found, find_chosen(options));
  return found.entry->make(found.options);
}

Result<std::unique_ptr<Calibration>> make_calibration(const DeviceOptions& options) {
  TRY(const Found found, find_chosen(options));
  return found.entry->calibrate(found.options);
}

Result<DryDevice> make_dry_device(const DeviceOptions& options) {
  TRY(const Entry* const entry, find(options.device));
  return entry->make_dry(options);
}

std::optional<DeviceMemory> device_memory(const std::string& device) {
  const auto entry = find(device);
  return entry ? (*entry)->memory(device) : std::nullopt;
}
