// audit fuzz: any bytes as an audit log, verified and added up.
#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include "privacy/audit.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string path = (std::filesystem::temp_directory_path() / ("calla-fuzz-audit-" + std::to_string(getpid()) + ".jsonl")).string();
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return 0;
  std::fwrite(data, 1, size, file);
  std::fclose(file);
  const auto check = verify_audit(path, "", "");
  if (check && check->ok && size == 0) std::abort();
  static_cast<void>(audit_stats(path, "", ""));
  unlink(path.c_str());
  return 0;
}
