// packed_writer: writes a packed file without a name, flushes it, and names it at the very end.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/hash.h"
#include "device/cpu/packed_file.h"
#include "device/cpu/slabs.h"

namespace cpu {

Error PackedWriter::failed(const char* attempt) const { return {Code::io, std::string("cannot ") + attempt + " packed file " + path_ + ": " + std::strerror(errno)}; }

Result<std::unique_ptr<PackedWriter>> PackedWriter::create(const std::string& path, std::string_view key) {
  CHECK(key.size() == kPackedKeyBytes);
  std::unique_ptr<PackedWriter> w(new PackedWriter(path, key));
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
#if defined(O_TMPFILE)
  w->fd_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);  // has no name, so that a crash leaves nothing
#endif
  if (w->fd_ < 0) {
    w->temporary_ = path + ".XXXXXX";
    w->fd_ = ::mkostemp(w->temporary_.data(), O_CLOEXEC);
    if (w->fd_ < 0) return w->temporary_.clear(), w->failed("create");
    ::fchmod(w->fd_, 0644);
  }
  return w;
}

PackedWriter::~PackedWriter() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (fd_ >= 0) ::close(fd_);
}

Status PackedWriter::write(const void* data, size_t bytes, uint64_t at) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = ::pwrite(fd_, static_cast<const char*>(data) + done, std::min(bytes - done, size_t{64} << 20), static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed("write");
    done += static_cast<size_t>(n);
  }
  return ok_status();
}

Result<std::shared_ptr<const std::byte>> PackedWriter::add(uint64_t fingerprint, std::span<const std::byte> bytes) {
  TRY_STATUS(write(bytes.data(), bytes.size(), end_));
#if defined(SYNC_FILE_RANGE_WRITE)
  ::sync_file_range(fd_, static_cast<off_t>(end_), static_cast<off_t>(bytes.size()), SYNC_FILE_RANGE_WRITE);  // begin now; finish() waits
#endif
  const size_t lead = end_ % kPackedDataStart, size = lead + bytes.size() + kPrefetchTail;
  std::byte* const base = reserve_aligned(size);
  if (!base) return failed("map");
  const std::shared_ptr<const std::byte> region(base, [size](const std::byte* p) { release_aligned(p, size); });
  if (::mmap(base + lead, bytes.size(), PROT_READ, MAP_SHARED | MAP_FIXED, fd_, static_cast<off_t>(end_)) == MAP_FAILED) return failed("map");
  entries_.push_back({fingerprint, end_, bytes.size(), xxh64(bytes)});
  end_ = (end_ + bytes.size() + 4095) / 4096 * 4096;
  return std::shared_ptr<const std::byte>(region, base + lead);
}

Status PackedWriter::finish() {
  PackedHeader h{};
  std::memcpy(h.magic, "calla pk", 8);
  h.version = kPackedVersion;
  h.n_entries = static_cast<uint32_t>(entries_.size());
  std::memcpy(h.key, key_.data(), kPackedKeyBytes);
  h.table_start = end_;
  const auto table = std::as_bytes(std::span(entries_));
  h.file_bytes = end_ + table.size();
  h.checksum = xxh64(table, xxh64(std::as_bytes(std::span(&h, 1))));
  TRY_STATUS(write(table.data(), table.size(), end_));
  TRY_STATUS(write(&h, sizeof h, 0));
  if (::ftruncate(fd_, static_cast<off_t>(h.file_bytes)) != 0 || ::fsync(fd_) != 0) return failed("flush");
  if (temporary_.empty()) {
    std::string name = path_ + "." + std::to_string(::getpid());
    if (::unlink(name.c_str()) != 0 && errno != ENOENT) return failed("name");
    if (::linkat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd_)).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) return failed("name");
    temporary_ = std::move(name);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return failed("name");
  temporary_.clear();
  const int folder = ::open(std::filesystem::absolute(path_).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) ::fsync(folder), ::close(folder);
  return ok_status();
}

}  // namespace cpu
