// gguf_cursor: a bounded walk over the bytes of a GGUF header.
#pragma once
#include <cstring>
#include "core/core.h"

namespace file_room {

// Every step says whether the bytes were there; a failed one leaves the position where it was.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}
  size_t position() const { return at_; }
  size_t remaining() const { return bytes_.size() - at_; }
  template <class T> bool take(T& value) {
    if (remaining() < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return true;
  }
  bool take_string(std::string_view& text) {
    const size_t start = at_;
    uint64_t length = 0;
    if (take(length) && length <= remaining()) {
      text = {reinterpret_cast<const char*>(bytes_.data()) + at_, static_cast<size_t>(length)};
      at_ += length;
      return true;
    }
    at_ = start;
    return false;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

}  // namespace file_room
