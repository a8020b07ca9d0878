// secure_memory: one pool for the process: slabs of equal blocks, and mappings of their own for what is larger.
#include "privacy/secure_memory.h"

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <openssl/crypto.h>
#include <openssl/rand.h>

namespace {

constexpr size_t slab_bytes = 64 << 10, smallest_block = 32, largest_block = 4096;
constexpr size_t n_sizes = 8;            // 32, 64, …, 4096
constexpr size_t link_bytes = sizeof(void*);

size_t page_bytes() {
  static const size_t size = static_cast<size_t>(std::max(::sysconf(_SC_PAGESIZE), 4096L));
  return size;
}
size_t whole_pages(size_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

Result<char*> map_locked(size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (at == MAP_FAILED) return Error{Code::internal, fmt::format("cannot take {} bytes for the vault: {}", bytes, std::strerror(errno))};
  if (::mlock(at, bytes) != 0) {
    const int why = errno;
    ::munmap(at, bytes);
    return Error{Code::internal, fmt::format("cannot lock {} bytes of memory for the vault: {}; raise the limit on locked memory (ulimit -l)", bytes, std::strerror(why))};
  }
#ifdef MADV_DONTDUMP
  ::madvise(at, bytes, MADV_DONTDUMP);
#endif
#ifdef MADV_WIPEONFORK
  ::madvise(at, bytes, MADV_WIPEONFORK);
#endif
  return static_cast<char*>(at);
}

// Free blocks are blank but for the link to the next one.
class Pool {
 public:
  Result<char*> take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > largest_block) {
      TRY(char* at, map_locked(whole_pages(bytes)));
      locked_ += whole_pages(bytes);
      return at;
    }
    const size_t kind = kind_of(bytes);
    if (free_[kind] == nullptr) TRY_STATUS(add_slab(kind));
    char* block = free_[kind];
    std::memcpy(&free_[kind], block, link_bytes);
    std::memset(block, 0, link_bytes);
    return block;
  }

  void give_back(char* at, size_t bytes) {
    const std::lock_guard lock(mutex_);
    OPENSSL_cleanse(at, bytes);
    if (bytes > largest_block) {
      ::munlock(at, whole_pages(bytes));
      ::munmap(at, whole_pages(bytes));
      locked_ -= whole_pages(bytes);
      return;
    }
    link(at, kind_of(bytes));
  }

  size_t locked() {
    const std::lock_guard lock(mutex_);
    return locked_;
  }

 private:
  static size_t kind_of(size_t bytes) { return static_cast<size_t>(std::countr_zero(std::bit_ceil(std::max(bytes, smallest_block)) / smallest_block)); }
  void link(char* block, size_t kind) {
    std::memcpy(block, &free_[kind], link_bytes);
    free_[kind] = block;
  }
  Status add_slab(size_t kind) {
    TRY(char* slab, map_locked(slab_bytes));
    locked_ += slab_bytes;
    const size_t block = smallest_block << kind;
    for (size_t at = 0; at < slab_bytes; at += block) link(slab + at, kind);
    return ok_status();
  }
  std::mutex mutex_;
  std::array<char*, n_sizes> free_{};
  size_t locked_ = 0;
};

Pool& pool() {
  static Pool& the_pool = *new Pool;  // outlives every static that may hold a secret
  return the_pool;
}

}  // namespace

Result<Secret> Secret::blank(size_t bytes) {
  Secret secret;
  if (bytes == 0) return secret;
  TRY(secret.data_, pool().take(bytes));
  secret.size_ = bytes;
  return secret;
}

Result<Secret> Secret::of(std::string_view text) {
  TRY(Secret secret, blank(text.size()));
  if (!text.empty()) std::memcpy(secret.data_, text.data(), text.size());
  return secret;
}

Result<Secret> Secret::random(size_t bytes) {
  TRY(Secret secret, blank(bytes));
  if (RAND_bytes(reinterpret_cast<unsigned char*>(secret.data_), static_cast<int>(bytes)) != 1) return Error{Code::internal, "cannot make a key: OpenSSL has no random bytes"};
  return secret;
}

Secret::Secret(Secret&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
Secret& Secret::operator=(Secret&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}
Secret::~Secret() {
  if (data_ != nullptr) pool().give_back(data_, size_);
}

size_t locked_bytes() { return pool().locked(); }

void wipe(std::string& text) {
  OPENSSL_cleanse(text.data(), text.size());
  text.clear();
}
