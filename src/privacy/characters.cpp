// characters: code points of UTF-8 and the few classes of them that decide where words begin and end.
#include "privacy/characters.h"

#include <array>
#include <cmath>
#include <cstring>
#include <utf8proc.h>
#include "privacy/detect/detect.h"

CodePoint code_point_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const char32_t lead = byte(0);
  const size_t left = text.size() - at;
  if (lead < 0x80) return {lead, 1};
  if (lead >= 0xf0 && left >= 4) return {(lead & 7) << 18 | (byte(1) & 0x3fu) << 12 | (byte(2) & 0x3fu) << 6 | (byte(3) & 0x3fu), 4};
  if (lead >= 0xe0 && left >= 3) return {(lead & 15) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu), 3};
  if (lead >= 0xc0 && left >= 2) return {(lead & 31) << 6 | (byte(1) & 0x3fu), 2};
  return {0xfffd, 1};
}

CodePoint code_point_before(std::string_view text, size_t at) {
  size_t begin = at - 1;
  while (begin > 0 && at - begin < 4 && continues(text[begin])) --begin;
  return code_point_at(text.substr(0, at), begin);
}

void append_utf8(char32_t c, std::string& out) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6), put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 0x3f)), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  }
}

size_t first_beyond_ascii(std::string_view text, size_t at) {
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    if (word & 0x8080808080808080u) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

bool valid_utf8(std::string_view text) {
  for (size_t at = first_beyond_ascii(text); at < text.size(); at = first_beyond_ascii(text, at)) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() - at < length) return false;
    for (size_t i = 1; i < length; ++i) {
      if (!continues(text[at + i])) return false;
    }
    const char32_t c = code_point_at(text, at).value;
    if ((length == 3 && c < 0x800) || (length == 4 && (c < 0x10000 || c > 0x10ffff)) || (c >= 0xd800 && c <= 0xdfff)) return false;
    at += length;
  }
  return true;
}

bool is_latin(char32_t c) {
  if (c < 0x80) return is_ascii_letter(c);
  if (c < 0x2b0) return (c >= 0xc0 && c != 0xd7 && c != 0xf7) || c == 0xaa || c == 0xba;
  return (c >= 0x1e00 && c <= 0x1eff) || (c >= 0x2c60 && c <= 0x2c7f) || (c >= 0xa722 && c <= 0xa7ff) || (c >= 0xfb00 && c <= 0xfb06) ||
         (c >= 0xff21 && c <= 0xff3a) || (c >= 0xff41 && c <= 0xff5a);
}

bool is_decimal(char32_t c) {
  return c < 0x80 ? is_digit(c) : c >= 0x660 && !is_han(c) && utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_ND;
}

bool is_han(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || c == 0x3005 || c == 0x3007 || (c >= 0xf900 && c <= 0xfaff) ||
         (c >= 0x20000 && c <= 0x3ffff);
}

// ---- detect.h ----
bool is_word_byte(unsigned char c) { return is_digit(c) || is_ascii_letter(c) || c == '_'; }

namespace {
bool joins_words(char32_t c) { return is_latin(c) || is_decimal(c); }
}  // namespace

bool at_word_start(std::string_view text, size_t at) { return at == 0 || !joins_words(code_point_before(text, at).value); }
bool at_word_end(std::string_view text, size_t at) { return at >= text.size() || !joins_words(code_point_at(text, at).value); }

float entropy(std::string_view text) {
  if (text.empty()) return 0;
  std::array<uint32_t, 256> count{};
  for (const char c : text) ++count[static_cast<unsigned char>(c)];
  const float n = static_cast<float>(text.size());
  float bits = 0;
  for (const uint32_t k : count) {
    if (k > 0) bits -= static_cast<float>(k) / n * std::log2(static_cast<float>(k) / n);
  }
  return bits;
}
