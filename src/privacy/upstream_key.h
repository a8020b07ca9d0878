// upstream_key: the key of one upstream, in memory that is locked, left out of dumps and wiped.
#pragma once
#include <string_view>
#include <utility>
#include "privacy/policy.h"

class UpstreamKey {
 public:
  // From the variable or the file that the options name; empty when they name none. A file must be ours, and nobody else's to read.
  static Result<UpstreamKey> read(const UpstreamOptions& options);
  UpstreamKey() = default;
  UpstreamKey(UpstreamKey&& other) noexcept : page_(std::exchange(other.page_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  UpstreamKey& operator=(UpstreamKey&& other) noexcept {
    std::swap(page_, other.page_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~UpstreamKey();
  std::string_view text() const { return {page_, size_}; }
  static constexpr size_t most_bytes = 4000;

 private:
  static Result<UpstreamKey> hold(std::string_view text, const std::string& from);
  char* page_ = nullptr;
  size_t size_ = 0;
};
