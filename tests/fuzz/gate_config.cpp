// gate config fuzz: any bytes as the gate's configuration: read, or refused in one line.
#include <cstdint>
#include <cstdlib>
#include "privacy/policy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 65536) return 0;
  const auto config = parse_gate_config("c.toml", {reinterpret_cast<const char*>(data), size});
  if (config) {
    if (config->policy.sha256.size() != 64) std::abort();
    static_cast<void>(decide(config->policy, {}));
  } else if (!config.error().message.starts_with("c.toml:") || config.error().message.find('\n') != std::string::npos) {
    std::abort();
  }
  return 0;
}
