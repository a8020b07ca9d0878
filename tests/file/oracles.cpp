// oracles: every checkpoint of the shared oracle folder opens; set CALLA_LIST to print all tensors.
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include "file/file.h"

namespace {
namespace fs = std::filesystem;

std::optional<fs::path> data_folder() {
  const char* shared = std::getenv("CALLA_SHARED");
  const fs::path folder = fs::path(shared ? shared : std::string(CALLA_SOURCE_DIR) + "/../shared") / "oracles/data";
  std::error_code error;
  return fs::is_directory(folder, error) ? std::optional(folder) : std::nullopt;
}

void list(const fs::path& path, const WeightFile& file) {
  for (const auto& t : file.tensors()) {
    unsigned sum = 0;
    for (auto b : t.bytes) sum = sum * 31 + std::to_integer<unsigned>(b);
    std::printf("LIST %s %s %s %s %zu %u\n", path.c_str(), t.name.c_str(), t.format->name, to_string(t.shape).c_str(), t.bytes.size(), sum);
  }
}

void open_and_check(const fs::path& path) {
  auto file = open_weights(path.string());
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_FALSE((*file)->tensors().empty());
  size_t total = 0;
  for (const auto& tensor : (*file)->tensors()) {
    EXPECT_EQ((*file)->find(tensor.name), &tensor);
    total += tensor.bytes.size();
  }
  EXPECT_EQ(total, (*file)->weight_bytes());
  if (std::getenv("CALLA_LIST")) list(path, **file);
}

TEST(oracles, all_open) {
  const auto folder = data_folder();
  if (!folder) GTEST_SKIP() << "no oracle folder";
  int opened = 0;
  for (const auto& at : fs::recursive_directory_iterator(*folder)) {
    const bool is_model = at.is_directory() ? fs::exists(at.path() / "config.json") : at.path().extension() == ".gguf" || at.path().extension() == ".safetensors";
    if (!is_model) continue;
    SCOPED_TRACE(at.path().string());
    open_and_check(at.path());
    opened++;
  }
  EXPECT_GT(opened, 20);
}

}  // namespace
