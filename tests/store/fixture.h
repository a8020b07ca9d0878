// fixture: a fresh cache folder and a hub server of our own for one test.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include "store/store.h"

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";

inline std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

inline void put(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("no_proxy", "*", 1);
    std::string pattern = (fs::temp_directory_path() / "calla-store-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    options_.cache_dir = (root_ / "hub").string();
    options_.retry_base_ms = 10;
    options_.max_retries = 3;
    options_.endpoint = "http://127.0.0.1:1";
  }
  void TearDown() override {
    if (server_ > 0) {
      ::close(to_server_);
      ::waitpid(server_, nullptr, 0);
    }
    fs::remove_all(root_);
  }
  void start_hub() {
    int in[2], out[2];
    ASSERT_EQ(::pipe2(in, O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(out, O_CLOEXEC), 0);
    const std::string script = CALLA_SOURCE_DIR "/tests/store/hub_server.py", log = log_path();
    server_ = ::fork();
    if (server_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::execlp("python3", "python3", "-S", script.c_str(), log.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_server_ = in[1];
    std::string port;
    for (char c = 0; ::read(out[0], &c, 1) == 1 && c != '\n';) port += c;
    ::close(out[0]);
    ASSERT_FALSE(port.empty()) << "the hub server did not start";
    options_.endpoint = "http://127.0.0.1:" + port;
  }
  std::string log_path() const { return (root_ / "requests.log").string(); }
  size_t requests(const std::string& containing) const {
    std::istringstream lines(contents(log_path()));
    size_t count = 0;
    for (std::string line; std::getline(lines, line);) count += line.find(containing) != line.npos;
    return count;
  }
  Result<Pulled> pull(const std::string& name) { return pull_model(name, options_, nullptr, {}); }
  std::string error_of(const std::string& name) {
    const auto pulled = pull(name);
    return pulled ? "no error" : pulled.error().message;
  }
  fs::path repo(const std::string& folder) const { return fs::path(options_.cache_dir) / folder; }
  size_t blobs(const std::string& folder) const {
    size_t count = 0;
    if (fs::exists(repo(folder) / "blobs"))
      for (const auto& entry : fs::directory_iterator(repo(folder) / "blobs")) count += entry.is_regular_file();
    return count;
  }

  fs::path root_;
  StoreOptions options_;
  pid_t server_ = 0;
  int to_server_ = -1;
};
