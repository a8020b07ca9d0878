// unicode: UTF-8 steps, normal forms (utf8proc) and character classes.
#include "text/unicode.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>
#include <utf8proc.h>

#include "text/unicode_tables.h"

Utf8Step utf8_step(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(at);
  if (lead < 0x80) return {Utf8Step::Kind::valid, lead, 1};
  const size_t wanted = lead >= 0xc2 && lead <= 0xdf ? 2 : (lead & 0xf0) == 0xe0 ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
  if (wanted == 0) return {Utf8Step::Kind::invalid, 0xfffd, 1};
  // The second byte has a narrower range after E0, ED, F0 and F4 (no overlong forms, no surrogates, nothing above U+10FFFF).
  uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80, high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  uint32_t code_point = lead & (0xffu >> (wanted + 1));
  for (size_t i = 1; i < wanted; ++i) {
    if (at + i >= text.size()) return {Utf8Step::Kind::cut, 0xfffd, i};
    if (byte(at + i) < low || byte(at + i) > high) return {Utf8Step::Kind::invalid, 0xfffd, i};
    code_point = code_point << 6 | (byte(at + i) & 0x3fu);
    low = 0x80, high = 0xbf;
  }
  return {Utf8Step::Kind::valid, code_point, wanted};
}

void append_utf8(uint32_t c, std::string& out) {
  const auto put = [&](uint32_t bits) { out.push_back(static_cast<char>(bits)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) return put(0xc0 | c >> 6), put(0x80 | (c & 0x3f));
  if (c < 0x10000) return put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 0x3f)), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    if (step.kind != Utf8Step::Kind::valid) return false;
    at += step.length;
  }
  return true;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    if (step.kind == Utf8Step::Kind::valid) out.append(text, at, step.length);
    else out += "\xef\xbf\xbd";
    at += step.length;
  }
  return out;
}

void take_whole_characters(std::string& pending, std::string& out) {
  size_t at = 0;
  while (at < pending.size()) {
    const Utf8Step step = utf8_step(pending, at);
    if (step.kind == Utf8Step::Kind::cut) break;
    if (step.kind == Utf8Step::Kind::valid) out.append(pending, at, step.length);
    else out += "\xef\xbf\xbd";
    at += step.length;
  }
  pending.erase(0, at);
}

static bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

static void append_normalized(std::string_view text, NormalForm form, std::string& out) {
  if (is_ascii(text)) return void(out.append(text));  // every form leaves ASCII alone
  int options = UTF8PROC_STABLE;
  options |= form == NormalForm::nfc || form == NormalForm::nfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::nfkc || form == NormalForm::nfkd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* raw = nullptr;
  const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()), &raw,
                                   static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(raw, &std::free);
  if (length < 0) out.append(text);
  else out.append(reinterpret_cast<const char*>(raw), static_cast<size_t>(length));
}

static bool contains(std::span<const CodePointRange> table, uint32_t c) {
  const auto after = std::ranges::upper_bound(table, c, {}, &CodePointRange::first);
  return after != table.begin() && c <= std::prev(after)->last;
}

// Hugging Face's tables are older than utf8proc's. A character they do not know is a starter that composes with nothing, so the
// text can be cut there.
std::string normalize(std::string_view text, NormalForm form) {
  std::string out;
  out.reserve(text.size());
  size_t from = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step c = utf8_step(text, at);
    if (c.code_point >= inert_ranges().front().first && contains(inert_ranges(), c.code_point)) {
      append_normalized(text.substr(from, at - from), form, out);
      out.append(text, at, c.length);
      from = at + c.length;
    }
    at += c.length;
  }
  append_normalized(text.substr(from), form, out);
  return out;
}

// Lower cases of Unicode 14 to 16, which utf8proc 2.6 lacks.
static uint32_t newer_lower_case(uint32_t c) {
  if (c == 0x1c89 || c == 0xa7c0 || c == 0xa7cc || c == 0xa7d0 || c == 0xa7d6 || c == 0xa7d8 || c == 0xa7da) return c + 1;
  if (c == 0x2c2f) return 0x2c5f;
  if (c == 0xa7cb) return 0x264;
  if (c == 0xa7dc) return 0x19b;
  if (c >= 0x10d50 && c <= 0x10d65) return c + 0x20;
  if (c >= 0x10570 && c <= 0x10595 && c != 0x1057b && c != 0x1058b && c != 0x10593) return c + 0x27;
  return c;
}

std::string lowercase(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text, at);
    // The one unconditional multi-character lower case: Hugging Face maps character by character, so no final sigma rule.
    if (step.code_point == 0x130) out += "i\xcc\x87";
    else append_utf8(newer_lower_case(static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(step.code_point)))), out);
    at += step.length;
  }
  return out;
}

bool is_white_space(uint32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
         c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_numeric(uint32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return contains(numeric_ranges(), c);
}

bool is_punctuation(uint32_t c) {
  if (c < 0x80) return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  return contains(punctuation_ranges(), c);
}

bool is_mark(uint32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_ME;
}

bool is_word_character(uint32_t c) {
  if (c < 0x80) return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  const bool letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
  const bool circled = (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) || (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
  return letter || is_mark(c) || category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC || circled ||
         c == 0x200c || c == 0x200d;
}
