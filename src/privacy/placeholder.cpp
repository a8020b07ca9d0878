// placeholder: the code of a placeholder and its check digit, and finding placeholders in a text.
#include "privacy/placeholder.h"

#include <algorithm>
#include <array>
#include <utf8proc.h>
#include "privacy/characters.h"

namespace {

constexpr std::string_view crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::array<std::string_view, 12> types = {"PERSON", "EMAIL", "PHONE", "ADDRESS", "CARD", "IBAN", "ID", "SECRET", "IP", "DATE", "TERM", "DATA"};

constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 0x20) : c; }
int digit_of(char c) {
  const size_t at = crockford.find(upper(c));
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}
bool has_letter_and_digit(std::string_view code) {
  const auto digits = std::count_if(code.begin(), code.end(), [](char c) { return is_digit(static_cast<unsigned char>(c)); });
  return digits > 0 && digits < static_cast<std::ptrdiff_t>(code.size());
}

// Odd weights: any one digit changed changes the sum modulo 32; the type counts, so that a code fits one type alone.
char check_digit(std::string_view type, std::string_view digits) {
  int sum = 0, weight = 1;
  for (const char c : type) sum += weight * upper(c), weight += 2;
  for (const char c : digits) sum += weight * digit_of(c), weight += 2;
  return crockford[static_cast<size_t>(sum % 32)];
}

// The type that ends before the "_" at `at`; "" when none does. Longer types first where one ends in another: none does so far.
std::string_view type_before(std::string_view text, size_t at) {
  for (const std::string_view type : types) {
    if (at < type.size()) continue;
    if (std::equal(type.begin(), type.end(), text.begin() + static_cast<std::ptrdiff_t>(at - type.size()), [](char a, char b) { return a == upper(b); })) return type;
  }
  return {};
}

// The whole placeholder around the "_" at `at`, when there is one.
bool placeholder_around(std::string_view text, size_t at, PlaceholderSpan& out) {
  const std::string_view type = type_before(text, at);
  if (type.empty()) return false;
  const size_t begin = at - type.size();
  if (begin > 0 && joins_run(code_point_before(text, begin).value)) return false;
  size_t end = at + 1;
  while (end < text.size() && end - at <= max_code && digit_of(text[end]) >= 0) ++end;
  const std::string_view code = text.substr(at + 1, end - at - 1);
  if (code.size() < min_code || code.size() > max_code || !has_letter_and_digit(code)) return false;
  if (end < text.size() && joins_run(code_point_at(text, end).value)) return false;
  if (check_digit(type, code.substr(0, code.size() - 1)) != upper(code.back())) return false;
  out = {begin, end};
  return true;
}

struct Range { char32_t first, last; };
// Scripts that put no spaces between words: South-East Asian ones, Hangul with its particles, kana, bopomofo and Han.
constexpr Range unspaced[] = {{0xe00, 0xeff},     {0x1000, 0x109f}, {0x1100, 0x11ff}, {0x1780, 0x17ff}, {0x2e80, 0x2fdf},  {0x3005, 0x3007},   {0x3021, 0x3029}, {0x3031, 0x303c},
                              {0x3040, 0x318f},   {0x31a0, 0x31ff}, {0x3200, 0x33ff}, {0x3400, 0x4dbf}, {0x4e00, 0x9fff},  {0xa960, 0xa97f},   {0xac00, 0xd7ff}, {0xf900, 0xfaff},
                              {0xff66, 0xffdc},   {0x16fe0, 0x18cff}, {0x1aff0, 0x1b2ff}, {0x20000, 0x3ffff}};

}  // namespace

std::string_view placeholder_type(PrivacyClass cls) {
  using enum PrivacyClass;
  switch (cls) {
    case person: return "PERSON";
    case email: return "EMAIL";
    case phone: return "PHONE";
    case address: return "ADDRESS";
    case card: return "CARD";
    case iban: return "IBAN";
    case gov_id: return "ID";
    case secret: return "SECRET";
    case ip: return "IP";
    case dob:
    case date: return "DATE";
    case custom:
    case org:
    case place:
    case handle: return "TERM";
    case bank:
    case crypto:
    case mac:
    case host:
    case health:
    case opaque:
    case unscanned:
    case url:
    case amount: return "DATA";
  }
  return "DATA";
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = upper(c);
  return out;
}

std::vector<PlaceholderSpan> find_placeholders(std::string_view text) {
  std::vector<PlaceholderSpan> out;
  PlaceholderSpan span{};
  for (size_t at = text.find('_'); at != std::string_view::npos; at = text.find('_', at + 1)) {
    if (placeholder_around(text, at, span) && (out.empty() || span.begin >= out.back().end)) out.push_back(span);
  }
  return out;
}

bool well_formed_placeholder(std::string_view text) {
  const size_t at = text.find('_');
  PlaceholderSpan span{};
  return at != std::string_view::npos && placeholder_around(text, at, span) && span.begin == 0 && span.end == text.size();
}

std::string make_placeholder(std::string_view type, std::span<const uint8_t> digest, int code_length) {
  uint64_t bits = 0;
  for (size_t i = 0; i < 8; ++i) bits = bits << 8 | digest[i];
  std::string code;
  for (int i = 0; i + 1 < code_length; ++i) code += crockford[bits >> (59 - 5 * i) & 31];
  code += check_digit(type, code);
  return has_letter_and_digit(code) ? std::string(type) + "_" + code : std::string();
}

bool joins_run(char32_t c) {
  if (c < 0x80) return is_ascii_letter(c) || is_digit(c);
  for (const Range& range : unspaced) {
    if (c >= range.first && c <= range.last) return false;
  }
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return true;
    default: return false;
  }
}

bool is_invisible(char32_t c) { return c >= 0xad && utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_CF; }
