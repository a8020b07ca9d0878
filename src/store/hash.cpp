// hash: sha256 and git's sha1 through OpenSSL.
#include "store/hash.h"

#include <openssl/evp.h>
#include <algorithm>
#include <fstream>

namespace store {

Hasher::Hasher(const std::string& etag, size_t bytes) : context_(EVP_MD_CTX_new()) {
  const bool git = etag.size() == 40;
  CHECK(context_ != nullptr && EVP_DigestInit_ex(context_, git ? EVP_sha1() : EVP_sha256(), nullptr) == 1);
  if (git) {
    const std::string header = "blob " + std::to_string(bytes);
    update(header.c_str(), header.size() + 1);  // the zero byte belongs to it
  }
}

Hasher::~Hasher() { EVP_MD_CTX_free(context_); }

void Hasher::update(const void* data, size_t bytes) { CHECK(EVP_DigestUpdate(context_, data, bytes) == 1); }

std::string Hasher::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  CHECK(EVP_DigestFinal_ex(context_, digest, &length) == 1);
  std::string out;
  for (unsigned i = 0; i < length; i++) {
    out += "0123456789abcdef"[digest[i] >> 4];
    out += "0123456789abcdef"[digest[i] & 15];
  }
  return out;
}

Status hash_file(const std::string& path, size_t bytes, Hasher& hasher, const std::stop_token& stop) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(size_t{1} << 20);
  while (bytes > 0) {
    if (stop.stop_requested()) return Error{Code::cancelled, "stopped while reading " + path};
    file.read(buffer.data(), static_cast<std::streamsize>(std::min(bytes, buffer.size())));
    const auto got = static_cast<size_t>(file.gcount());
    if (got == 0) return Error{Code::io, "cannot read " + path + ": it ended early"};
    hasher.update(buffer.data(), got);
    bytes -= got;
  }
  return ok_status();
}

}  // namespace store
