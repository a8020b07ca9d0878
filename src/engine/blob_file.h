// blob_file: one page or snapshot in a file of its own, which says what it is and proves that it is whole.
#pragma once
#include <memory>
#include <string>
#include "engine/cache_id.h"

struct Bytes {  // owned; not cleared when made
  std::unique_ptr<std::byte[]> data;
  size_t size = 0;
  Bytes() = default;
  explicit Bytes(size_t n) : data(std::make_unique_for_overwrite<std::byte[]>(n)), size(n) {}
  std::span<std::byte> span() { return {data.get(), size}; }
  std::span<const std::byte> span() const { return {data.get(), size}; }
};

size_t blob_file_bytes(size_t payload_bytes);  // with the head
// Under a name of its own until it is whole, so that a process that dies leaves no half file under `path`. Mode 0600.
Status write_blob(const std::string& path, const CacheId& id, std::span<const std::byte> payload);
// corrupt_file: another name, another length, or other bytes than were written.
Result<Bytes> read_blob(const std::string& path, const CacheId& id, size_t payload_bytes);
