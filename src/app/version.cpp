// version: which calla this is, and what it can compute with here.
#include <fmt/format.h>
#include "app/commands.h"
#include "app/console.h"

namespace {
constexpr const char* kVersion = "0.1.0";  // project() in CMakeLists.txt
}

int version_command(const Options& options) {
  DeviceOptions probe;
  probe.threads = 1;
  const auto device = make_cpu_device(probe);
  const std::string name = device ? (*device)->name() : device.error().message;
  if (options.json) {
    print_json({{"version", kVersion}, {"compiler", __VERSION__}, {"device", name}});
  } else {
    fmt::print("calla {} ({}; best device {})\n", kVersion, __VERSION__, name);
  }
  return 0;
}
