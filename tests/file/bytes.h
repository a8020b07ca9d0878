// bytes: tiny files that tests write themselves, byte by byte.
#pragma once
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include "file/file.h"

namespace fs = std::filesystem;

// A folder that goes away with the test.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "calla-file-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) std::abort();
    folder_ = pattern;
  }
  ~Scratch() {
    std::error_code error;
    fs::remove_all(folder_, error);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    fs::remove(path(name));  // a truncated file would be flushed to disk on closing: 3 ms each, thousands of times
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  fs::path folder_;
};

template <class T> std::string raw(T value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

// Opens `path`, which must be refused in one line that contains `part`.
inline void expect_refused(const std::string& path, const std::string& part) {
  const auto file = open_weights(path);
  ASSERT_FALSE(file) << "expected: " << part;
  EXPECT_THAT(file.error().message, testing::HasSubstr(part));
  EXPECT_THAT(file.error().message, testing::Not(testing::HasSubstr("\n")));
  EXPECT_THAT(file.error().message, testing::HasSubstr("cannot load "));
}
