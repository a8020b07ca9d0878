// file_descriptor: an open file that is closed once.
#pragma once
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor = -1) : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileDescriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

inline std::string last_system_error() { return std::strerror(errno); }

inline bool write_all(const FileDescriptor& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(file.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}
