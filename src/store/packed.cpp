// packed: names for packed files: a place per path of a model, a key per state of its files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include "file/file.h"
#include "store/hash.h"
#include "store/store.h"

namespace {

constexpr size_t kSamples = 32, kSampleBytes = 4096;  // of each file, spread evenly

Status add_file(const std::string& path, store::Hasher& hasher) {
  struct Descriptor {
    int fd;
    ~Descriptor() { ::close(fd); }
  } file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info {};
  if (file.fd < 0 || ::fstat(file.fd, &info) != 0) return Error{Code::io, "cannot read " + path + ": " + std::strerror(errno)};
  const int64_t identity[] = {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
  hasher.update(identity, sizeof identity);
  char sample[kSampleBytes];
  for (size_t i = 0; i < kSamples; i++) {
    const auto at = static_cast<off_t>(static_cast<size_t>(info.st_size) / kSamples * i);
    const ssize_t n = ::pread(file.fd, sample, sizeof sample, at);
    if (n < 0) return Error{Code::io, "cannot read " + path + ": " + std::strerror(errno)};
    hasher.update(sample, static_cast<size_t>(n));
  }
  return ok_status();
}

}  // namespace

Result<PackedPlace> packed_place(const WeightFile& file, const StoreOptions& options) {
  namespace fs = std::filesystem;
  store::Hasher state("", 0);
  for (const std::string& path : file.files()) TRY_STATUS(add_file(path, state));
  for (const StoredTensor& t : file.tensors()) {
    const std::string line = t.name + " " + t.format->name + " " + to_string(t.shape) + "\n";
    state.update(line.data(), line.size());
  }
  std::error_code error;
  const fs::path full = fs::weakly_canonical(file.path(), error);
  store::Hasher place("", 0);
  place.update(full.c_str(), full.native().size());
  return PackedPlace{options.packed_dir + "/" + full.stem().string() + "-" + place.hex().substr(0, 16) + ".calla", state.hex()};
}
