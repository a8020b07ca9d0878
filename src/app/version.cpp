// version: which calla this is, and what it can compute with here.
#include <fmt/format.h>
#include "app/commands.h"
#include "app/console.h"
#include "device/plan.h"

namespace {
constexpr const char* kVersion = "0.1.0";  // project() in CMakeLists.txt
}

int version_command(const Options& options) {
  DeviceOptions probe;
  probe.threads = 1;
  const auto device = make_cpu_device(probe);
  const std::string name = device ? (*device)->name() : device.error().message;
  probe.device = "cuda";
  const auto gpu = choose_device(probe);
  const std::string gpu_name = gpu ? gpu->why : gpu.error().message;
  if (options.json) {
    print_json({{"version", kVersion}, {"compiler", __VERSION__}, {"device", name}, {"gpu", gpu_name}});
  } else {
    fmt::print("calla {} ({}; {}; {})\n", kVersion, __VERSION__, name, gpu_name);
  }
  return 0;
}
