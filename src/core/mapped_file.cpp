// mapped_file: mmap, madvise and bounded reads of whole files.
#include "core/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Error failed(const std::string& attempt, const std::string& path, int error_number) {
  return {error_number == ENOENT ? Code::not_found : Code::io, "cannot " + attempt + " " + path + ": " + std::strerror(error_number)};
}

Result<size_t> open_regular(const std::string& path, Descriptor& file) {
  file.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer would wait for one
  if (file.fd < 0) return failed("open", path, errno);
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) return failed("read the size of", path, errno);
  if (!S_ISREG(info.st_mode)) return Error{Code::io, "cannot read " + path + ": not a regular file"};
  return static_cast<size_t>(info.st_size);
}

}  // namespace

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::string& path) {
  Descriptor file;
  TRY(const size_t size, open_regular(path, file));
  if (size == 0) return std::unique_ptr<MappedFile>(new MappedFile(path, nullptr, 0));
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) return failed("map", path, errno);
  return std::unique_ptr<MappedFile>(new MappedFile(path, static_cast<const std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::drop(std::span<const std::byte> range) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(range.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(range.data()) + range.size()) / page * page;
  if (end > begin) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void MappedFile::will_need(std::span<const std::byte> range) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE)), begin = reinterpret_cast<uintptr_t>(range.data()) / page * page;
  ::madvise(reinterpret_cast<void*>(begin), reinterpret_cast<uintptr_t>(range.data()) + range.size() - begin, MADV_WILLNEED);
}

Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  Descriptor file;
  TRY(const size_t size, open_regular(path, file));
  if (size > max_bytes)
    return Error{Code::too_large, "cannot read " + path + ": at most " + std::to_string(max_bytes) + " bytes expected, " + std::to_string(size) + " found"};
  std::string text(size, '\0');
  for (size_t at = 0; at < size;) {
    const ssize_t n = ::read(file.fd, text.data() + at, size - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("read", path, errno);
    if (n == 0) return Error{Code::io, "cannot read " + path + ": it shrank while being read"};
    at += static_cast<size_t>(n);
  }
  return text;
}
