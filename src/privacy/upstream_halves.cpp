// upstream_halves: marking halves in JSON, joining them in text.
#include "privacy/upstream_halves.h"

#include <algorithm>

namespace {

constexpr unsigned first_mark = 0x100000, first_half = 0xd800, first_low = 0xdc00, halves_end = 0xe000;
constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD
constexpr std::string_view mark_begin = "\xf4\x80";       // of the four bytes of a mark

std::string four_bytes(unsigned code_point) {
  std::string out;
  out += static_cast<char>(0xf0 | code_point >> 18);
  for (const int shift : {12, 6, 0}) out += static_cast<char>(0x80 | (code_point >> shift & 0x3f));
  return out;
}

// The number in \uXXXX at `at`, or 0.
unsigned escape_at(std::string_view json, size_t at) {
  if (at + 6 > json.size() || json[at] != '\\' || json[at + 1] != 'u') return 0;
  unsigned value = 0;
  for (const char c : json.substr(at + 2, 4)) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return 0;
    value = value * 16 + static_cast<unsigned>(digit);
  }
  return value;
}

bool is_high(unsigned value) { return value >= first_half && value < first_low; }
bool is_low(unsigned value) { return value >= first_low && value < halves_end; }

// The half that a mark at `at` stands for, or 0.
unsigned mark_at(std::string_view text, size_t at) {
  if (text.substr(at, 2) != mark_begin || at + 4 > text.size()) return 0;
  const unsigned value = (static_cast<unsigned char>(text[at + 2]) & 0x3fu) << 6 | (static_cast<unsigned char>(text[at + 3]) & 0x3fu);
  return value < halves_end - first_half ? first_half + value : 0;
}

}  // namespace

std::string with_marked_halves(std::string_view json) {
  std::string out;
  size_t done = 0;
  for (size_t at = json.find('\\'); at != json.npos && at + 1 < json.size(); at = json.find('\\', at)) {
    const unsigned value = escape_at(json, at);
    const bool pair = is_high(value) && is_low(escape_at(json, at + 6));
    const size_t length = pair ? 12 : value != 0 ? 6 : 2;
    if (!pair && (is_high(value) || is_low(value))) {
      out.append(json, done, at - done).append(four_bytes(first_mark + value - first_half));
      done = at + length;
    }
    at += length;
  }
  return out.append(json, std::min(done, json.size()));
}

std::string HalfJoiner::add(std::string_view text) {
  std::string out;
  size_t done = 0;
  for (size_t at = text.find(mark_begin); at != text.npos; at = text.find(mark_begin, at)) {
    const unsigned half = mark_at(text, at);
    if (half == 0) {
      at += mark_begin.size();
      continue;
    }
    if (at > done) out += finish();
    out.append(text, done, at - done);
    done = at += 4;
    if (is_high(half)) {
      out += finish();
      high_ = half;
    } else if (high_ != 0) {
      out += four_bytes(0x10000 + ((high_ - first_half) << 10) + (half - first_low));
      high_ = 0;
    } else {
      out += replacement;
    }
  }
  if (done < text.size()) out += finish();
  return out.append(text, done);
}

std::string HalfJoiner::finish() {
  const bool alone = high_ != 0;
  high_ = 0;
  return std::string(alone ? replacement : std::string_view());
}
