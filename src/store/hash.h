// hash: checks bytes against the etag a hub gave for them.
#pragma once
#include <stop_token>
#include <string>
#include "core/core.h"

struct evp_md_ctx_st;

namespace store {

// 64 hex digits: sha256 of the bytes. 40: git's sha1 of a blob, which starts with the blob's length.
class Hasher {
 public:
  Hasher(const std::string& etag, size_t bytes);
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void update(const void* data, size_t bytes);
  std::string hex();  // once, at the end

 private:
  evp_md_ctx_st* context_;
};

// Adds the first `bytes` of the file.
Status hash_file(const std::string& path, size_t bytes, Hasher& hasher, const std::stop_token& stop);

}  // namespace store
