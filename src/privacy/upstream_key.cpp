// upstream_key: variables, and files whose owner and mode are checked on the open file.
#include "privacy/upstream_key.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  int get() const { return value_; }

 private:
  const int value_;
};

Status check_owner(int descriptor, const std::string& from) {
  struct stat state{};
  if (fstat(descriptor, &state) != 0) return Error{Code::io, "cannot read the key " + from + ": " + std::strerror(errno)};
  if (!S_ISREG(state.st_mode)) return Error{Code::denied, "cannot use the key " + from + ": it is no regular file"};
  if (state.st_uid != geteuid()) return Error{Code::denied, "cannot use the key " + from + ": it belongs to another user"};
  if ((state.st_mode & 077) != 0) return Error{Code::denied, "cannot use the key " + from + ": others may read it, its mode must be 0600"};
  return ok_status();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const size_t first = text.find_first_not_of(space);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(space) - first + 1);
}

Result<Secret> checked(std::string_view text, const std::string& from) {
  const std::string_view key = trimmed(text);
  if (key.empty()) return Error{Code::invalid_request, "cannot use the key " + from + ": it is empty"};
  const bool printable = std::all_of(key.begin(), key.end(), [](unsigned char c) { return c > ' ' && c < 127; });
  if (!printable || key.size() > most_key_bytes) return Error{Code::invalid_request, "cannot use the key " + from + ": it holds what no key holds"};
  return Secret::of(key);
}

}  // namespace

Result<Secret> read_upstream_key(const UpstreamOptions& options) {
  if (!options.api_key_env.empty()) {
    const std::string from = "of upstream " + options.name + " in the variable " + options.api_key_env;
    const char* value = std::getenv(options.api_key_env.c_str());
    if (!value) return Error{Code::invalid_request, "cannot use the key " + from + ": it is not set"};
    return checked(value, from);
  }
  if (options.api_key_file.empty()) return Secret();
  const std::string from = "of upstream " + options.name + " in the file " + options.api_key_file;
  const Descriptor file(open(options.api_key_file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (file.get() < 0) return Error{Code::io, "cannot open the key " + from + ": " + std::strerror(errno)};
  TRY_STATUS(check_owner(file.get(), from));
  char bytes[most_key_bytes + 1];
  size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < sizeof bytes; size += static_cast<size_t>(got)) {
    got = ::read(file.get(), bytes + size, sizeof bytes - size);
    if (got < 0) return Error{Code::io, "cannot read the key " + from + ": " + std::strerror(errno)};
  }
  auto key = checked({bytes, size}, from);
  OPENSSL_cleanse(bytes, sizeof bytes);
  return key;
}
