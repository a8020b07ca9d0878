// notation: cursor and errors of grammar notations.
#include "text/notation.h"

#include <algorithm>
#include <charconv>

#include "text/grammar_parts.h"

std::optional<int64_t> NotationCursor::number() {
  const std::string_view digits = take_while([](char c) { return c >= '0' && c <= '9'; });
  int64_t value = 0;
  if (digits.empty() || digits.size() > 7 || std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc()) return std::nullopt;
  return value <= 1'000'000 ? std::optional(value) : std::nullopt;
}

std::optional<char32_t> NotationCursor::hex(int digits) {
  const std::string_view word = text_.substr(at_, static_cast<size_t>(digits));
  unsigned long value = 0;
  if (word.size() != static_cast<size_t>(digits) || std::from_chars(word.data(), word.data() + word.size(), value, 16).ptr != word.data() + word.size()) return std::nullopt;
  if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return std::nullopt;
  at_ += word.size();
  return static_cast<char32_t>(value);
}

std::optional<char32_t> NotationCursor::character() {
  int state = 0;
  char32_t value = 0;
  for (size_t i = at_; i < text_.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text_[i]);
    const bool lead = i == at_;
    state = utf8_next(state, byte);
    if (state < 0) return std::nullopt;
    value = !lead ? value << 6 | (byte & 0x3F) : byte < 0x80 ? byte : byte < 0xE0 ? byte & 0x1F : byte < 0xF0 ? byte & 0x0F : byte & 0x07;
    if (state == 0) {
      at_ = i + 1;
      return value;
    }
  }
  return std::nullopt;
}

Error NotationCursor::at(Code code, std::string message) const {
  const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(std::min(at_, text_.size())), '\n');
  return {code, "cannot constrain to the " + std::string(what_) + " grammar: line " + std::to_string(line) + ": " + message};
}
