// mapped_file: one read-only mapping of a whole file; everything that points into it lives no longer than it.
#pragma once
#include <memory>
#include "core/core.h"

class MappedFile {
 public:
  // Maps `path` for reading. Fails with not_found or io; an empty file maps to an empty span.
  static Result<std::unique_ptr<MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  // Tells the kernel that these pages of the mapping will not be read soon, so that they leave resident memory.
  // `range` may point anywhere inside bytes(); only whole pages inside it are dropped. Reading them again is correct, only slower.
  static void drop(std::span<const std::byte> range);
  // Asks for these pages to be read from disk now, without waiting for them.
  static void will_need(std::span<const std::byte> range);

 private:
  MappedFile(std::string path, const std::byte* data, size_t size) : path_(std::move(path)), data_(data), size_(size) {}
  std::string path_;
  const std::byte* data_;
  size_t size_;
};

// The whole file as a string, refused with too_large above `max_bytes`.
Result<std::string> read_file(const std::string& path, size_t max_bytes);
