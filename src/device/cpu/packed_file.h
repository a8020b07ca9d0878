// packed_file: packed matrices on disk, written once and mapped afterwards.
//
//   0      header: magic, version, number of entries, key, where the table starts, size of the file, checksum of header and table
//   2 MB   the bytes of every matrix as packed.h lays them out, each at a multiple of 4 KB
//   ...    table: one PackedEntry per matrix, in the order of their offsets
//
// Everything but the bytes follows from the model's own file, which is always opened too. Numbers are little-endian.
#pragma once
#include <memory>
#include "device/cpu/packed.h"

namespace cpu {

constexpr uint32_t kPackedVersion = 1;  // raise it when a packed byte changes (tests/device/packed_bytes.h) or this file's form does
constexpr size_t kPackedKeyBytes = 64, kPackedDataStart = size_t{2} << 20;

struct PackedHeader {
  char magic[8];
  uint32_t version, n_entries;
  char key[kPackedKeyBytes];
  uint64_t table_start, file_bytes, checksum;
};
struct PackedEntry { uint64_t fingerprint, start, bytes, checksum; };

// Which matrix this is: its name, stored format, shape and order of rows, and the layout it gets.
uint64_t fingerprint(const MatrixSource& source, const PackedMatrix& plan);

// The table of a whole file, checked: nothing in it points outside. `file` may hold any bytes. Errors say what was seen, without the path.
// An empty key takes any.
Result<std::vector<PackedEntry>> read_packed_table(std::span<const std::byte> file, std::string_view key);

// A packed file, mapped read-only; pieces of it keep the mapping.
class PackedFile {
 public:
  static Result<std::shared_ptr<const PackedFile>> open(const std::string& path, std::string_view key);
  ~PackedFile();
  std::span<const PackedEntry> entries() const { return entries_; }
  std::span<const std::byte> bytes_of(const PackedEntry& e) const { return {data_ + e.start, e.bytes}; }
  const PackedEntry* find(uint64_t fingerprint, size_t bytes) const;  // null when there is none of that size

 private:
  PackedFile() = default;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::vector<PackedEntry> entries_;
};

// Writes one beside its final place. Until finish() has succeeded there is nothing under that name; without it nothing remains.
class PackedWriter {
 public:
  static Result<std::unique_ptr<PackedWriter>> create(const std::string& path, std::string_view key);
  ~PackedWriter();
  // Writes the bytes and gives them back as a mapping of the file, so that the caller can free its own.
  Result<std::shared_ptr<const std::byte>> add(uint64_t fingerprint, std::span<const std::byte> bytes);
  Status finish();

 private:
  PackedWriter(std::string path, std::string_view key) : path_(std::move(path)), key_(key) {}
  Status write(const void* data, size_t bytes, uint64_t at);
  Error failed(const char* attempt) const;
  std::string path_, key_, temporary_;  // temporary_: its name while it has one
  int fd_ = -1;
  uint64_t end_ = kPackedDataStart;
  std::vector<PackedEntry> entries_;
};

// What a device keeps of it: matrices come from the file when it is there, and go into a new one when it is not. Failures cost time, never
// the model: they become notes.
class PackedCache {
 public:
  PackedCache() = default;  // no file, nothing kept
  PackedCache(const std::string& path, const std::string& key);
  bool ready() const { return file_ != nullptr; }
  bool find(const MatrixSource& source, PackedMatrix& m);  // fills data and memory of a plan
  void keep(const MatrixSource& source, PackedMatrix& m);  // moves its bytes into the file
  std::vector<std::string> finish();

 private:
  void give_up(const Error& why);
  std::string path_;
  std::shared_ptr<const PackedFile> file_;
  std::unique_ptr<PackedWriter> writer_;
  std::vector<std::string> notes_;
};

}  // namespace cpu
