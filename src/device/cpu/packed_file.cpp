// packed_file: reading a file that anything may have happened to, and the cache in front of it.
#include "device/cpu/packed_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include "core/hash.h"
#include "device/cpu/slabs.h"

namespace cpu {
namespace {

Error refuse(const std::string& seen) { return {Code::corrupt_file, seen}; }
template <class T> std::string number(T n) { return std::to_string(n); }

std::span<const std::byte> as_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

uint64_t fingerprint(const MatrixSource& source, const PackedMatrix& plan) {
  const StoredMatrix& first = source.parts.front();
  std::string text = source.name + "\n" + plan.format_name + " " + to_string(first.shape);
  const PackLayout& l = plan.layout;
  for (const int64_t n : {static_cast<int64_t>(source.parts.size()), plan.n_experts, plan.rows, plan.cols, static_cast<int64_t>(l.codes), static_cast<int64_t>(l.scales), int64_t{l.group},
                          int64_t{l.scale_group}, int64_t{l.block}, int64_t{l.offset}, static_cast<int64_t>(plan.bytes)})
    text += " " + number(n);
  return xxh64(std::as_bytes(std::span(source.row_order)), xxh64(as_bytes(text)));
}

Result<std::vector<PackedEntry>> read_packed_table(std::span<const std::byte> file, std::string_view key) {
  PackedHeader h;
  if (file.size() < kPackedDataStart) return refuse("at least " + number(kPackedDataStart) + " bytes expected, " + number(file.size()) + " found");
  std::memcpy(&h, file.data(), sizeof h);
  if (std::memcmp(h.magic, "calla pk", 8) != 0) return refuse("no packed file of Calla");
  if (h.version != kPackedVersion) return refuse("version " + number(kPackedVersion) + " expected, " + number(h.version) + " found");
  if (h.file_bytes != file.size()) return refuse(number(h.file_bytes) + " bytes expected, " + number(file.size()) + " found");
  if (h.table_start < kPackedDataStart || h.table_start > file.size() || file.size() - h.table_start != h.n_entries * sizeof(PackedEntry))
    return refuse("a table of " + number(h.n_entries) + " entries expected at " + number(h.table_start) + ", the file ends at " + number(file.size()));
  const auto table = file.subspan(h.table_start);
  const uint64_t checksum = std::exchange(h.checksum, 0);
  if (xxh64(table, xxh64(std::as_bytes(std::span(&h, 1)))) != checksum) return refuse("its header or table has changed since it was written");
  if (!key.empty() && key != std::string_view(h.key, kPackedKeyBytes)) return refuse("it belongs to an earlier state of the model");
  std::vector<PackedEntry> entries(h.n_entries);
  if (!entries.empty()) std::memcpy(entries.data(), table.data(), table.size());
  uint64_t end = kPackedDataStart;
  for (const PackedEntry& e : entries) {
    if (e.start < end || e.start % 4096 != 0 || e.start > h.table_start || e.bytes > h.table_start - e.start)
      return refuse("a matrix of " + number(e.bytes) + " bytes at " + number(e.start) + ", between " + number(end) + " and " + number(h.table_start) + " expected");
    end = e.start + e.bytes;
  }
  return entries;
}

Result<std::shared_ptr<const PackedFile>> PackedFile::open(const std::string& path, std::string_view key) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Error{errno == ENOENT ? Code::not_found : Code::io, std::strerror(errno)};
  struct stat info {};
  const bool regular = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
  std::shared_ptr<PackedFile> file(new PackedFile);
  std::byte* const at = regular ? reserve_aligned(static_cast<size_t>(info.st_size) + kPrefetchTail) : nullptr;
  // Shared, so that the page cache's own pages are used, and at a multiple of 2 MB, so that they may be large ones.
  const bool mapped = at && ::mmap(at, static_cast<size_t>(info.st_size), PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
  ::close(fd);
  if (at) file->data_ = at, file->size_ = static_cast<size_t>(info.st_size);
  if (!mapped) return Error{Code::io, regular ? "cannot be mapped" : "not a regular file"};
#if defined(MADV_HUGEPAGE)
  ::madvise(at, file->size_, MADV_HUGEPAGE);
#endif
  TRY(file->entries_, read_packed_table({file->data_, file->size_}, key));
  return std::shared_ptr<const PackedFile>(std::move(file));
}

PackedFile::~PackedFile() {
  if (data_) release_aligned(data_, size_ + kPrefetchTail);
}

const PackedEntry* PackedFile::find(uint64_t fingerprint, size_t bytes) const {
  const auto at = std::ranges::find_if(entries_, [&](const PackedEntry& e) { return e.fingerprint == fingerprint && e.bytes == bytes; });
  return at == entries_.end() ? nullptr : &*at;
}

PackedCache::PackedCache(const std::string& path, const std::string& key) : path_(path) {
  auto file = PackedFile::open(path, key);
  if (file) {
    file_ = std::move(*file);
    return;
  }
  if (file.error().code != Code::not_found) notes_.push_back("packed file " + path + ": " + file.error().message + "; it is written anew");
  auto writer = PackedWriter::create(path, key);
  if (writer) writer_ = std::move(*writer);
  else give_up(writer.error());
}

void PackedCache::give_up(const Error& why) {
  writer_.reset();
  notes_.push_back(why.message + "; the model runs without a packed file");
}

bool PackedCache::find(const MatrixSource& source, PackedMatrix& m) {
  const PackedEntry* const e = file_ ? file_->find(fingerprint(source, m), m.bytes) : nullptr;
  if (!e) return false;
  m.data = file_->bytes_of(*e).data();
  m.memory = {file_, m.data};
  return true;
}

void PackedCache::keep(const MatrixSource& source, PackedMatrix& m) {
  if (!writer_) return;
  auto written = writer_->add(fingerprint(source, m), {m.data, m.bytes});
  if (!written) return give_up(written.error());
  m.memory = std::move(*written);
  m.data = m.memory.get();
}

std::vector<std::string> PackedCache::finish() {
  if (writer_)
    if (const Status done = writer_->finish(); !done) give_up(done.error());
  writer_.reset();
  return std::exchange(notes_, {});
}

}  // namespace cpu

Result<size_t> verify_packed(const std::string& path) {
  using namespace cpu;
  auto file = PackedFile::open(path, "");
  if (!file) return Error{file.error().code, "cannot verify packed file " + path + ": " + file.error().message};
  const auto entries = (*file)->entries();
  std::atomic<size_t> next{0}, bad{0}, bytes{0};
  const auto work = [&] {
    for (size_t i; (i = next++) < entries.size(); bytes += entries[i].bytes)
      if (xxh64((*file)->bytes_of(entries[i])) != entries[i].checksum) bad++;
  };
  std::vector<std::jthread> team;
  for (unsigned i = 1; i < std::max(1u, std::thread::hardware_concurrency()); i++) team.emplace_back(work);
  work();
  team.clear();
  if (bad > 0) return Error{Code::corrupt_file, "cannot verify packed file " + path + ": " + number(bad.load()) + " of " + number(entries.size()) + " matrices have changed since they were written"};
  return bytes.load();
}
