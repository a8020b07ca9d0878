// blob_file: a head of 64 bytes, then the payload.
#include "engine/blob_file.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/hash.h"

namespace {
struct Head {
  char magic[8] = {'c', 'a', 'l', 'l', 'a', 'k', 'v', '1'};
  uint8_t id[32] = {};
  uint64_t payload_bytes = 0, payload_sum = 0;
  uint64_t head_sum = 0;  // of everything above
};
static_assert(sizeof(Head) == 64);

Head make_head(const CacheId& id, std::span<const std::byte> payload) {
  Head head;
  std::memcpy(head.id, id.bytes.data(), sizeof head.id);
  head.payload_bytes = payload.size();
  head.payload_sum = xxh64(payload);
  head.head_sum = xxh64(std::as_bytes(std::span(&head, 1)).first(offsetof(Head, head_sum)));
  return head;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}
bool read_all(int fd, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::read(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}
Error failed(const char* what, const std::string& path) { return {Code::io, std::string("cannot ") + what + " " + path + ": " + std::strerror(errno)}; }
}  // namespace

size_t blob_file_bytes(size_t payload_bytes) { return sizeof(Head) + payload_bytes; }

Status write_blob(const std::string& path, const CacheId& id, std::span<const std::byte> payload) {
  const std::string partial = path + ".part";
  const Head head = make_head(id, payload);
  {
    const Descriptor file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file.get() < 0) return failed("create", partial);
    if (!write_all(file.get(), std::as_bytes(std::span(&head, 1))) || !write_all(file.get(), payload)) {
      Error error = failed("write", partial);
      ::unlink(partial.c_str());
      return error;
    }
  }
  if (::rename(partial.c_str(), path.c_str()) != 0) return failed("name", path);
  return ok_status();
}

Result<Bytes> read_blob(const std::string& path, const CacheId& id, size_t payload_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.get() < 0) return failed("open", path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return failed("look at", path);
  if (!S_ISREG(info.st_mode) || static_cast<uint64_t>(info.st_size) != blob_file_bytes(payload_bytes))
    return Error{Code::corrupt_file, "cannot use " + path + ": " + std::to_string(blob_file_bytes(payload_bytes)) + " bytes expected, " + std::to_string(info.st_size) + " found"};
  Head head;
  Bytes payload(payload_bytes);
  if (!read_all(file.get(), std::as_writable_bytes(std::span(&head, 1))) || !read_all(file.get(), payload.span())) return failed("read", path);
  const Head wanted = make_head(id, payload.span());
  if (std::memcmp(&head, &wanted, sizeof head) != 0) return Error{Code::corrupt_file, "cannot use " + path + ": its bytes are not those that were written for this name"};
  return payload;
}
