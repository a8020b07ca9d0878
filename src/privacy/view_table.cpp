// view_table: NFKC by utf8proc, and beside it digits of all scripts, dashes, look-alikes and what cannot be seen; worked out once, on first use.
#include "privacy/view_table.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utf8proc.h>
#include <vector>
#include "privacy/characters.h"

namespace {

constexpr char32_t table_end = 0x20000;  // beyond it only compatibility ideographs and tags fold

struct Pair { char32_t from; char to; };
// Cyrillic, Greek, Armenian and odd Latin letters that look like ASCII ones.
constexpr Pair look_alikes[] = {
    {U'а', 'a'}, {U'в', 'b'}, {U'с', 'c'}, {U'ԁ', 'd'}, {U'е', 'e'}, {U'һ', 'h'}, {U'н', 'h'}, {U'і', 'i'}, {U'ј', 'j'}, {U'к', 'k'}, {U'ӏ', 'l'}, {U'м', 'm'},
    {U'п', 'n'}, {U'о', 'o'}, {U'р', 'p'}, {U'ԛ', 'q'}, {U'г', 'r'}, {U'ѕ', 's'}, {U'т', 't'}, {U'ѵ', 'v'}, {U'ԝ', 'w'}, {U'х', 'x'}, {U'у', 'y'}, {U'ь', 'b'},
    {U'А', 'A'}, {U'В', 'B'}, {U'С', 'C'}, {U'Е', 'E'}, {U'Ԍ', 'G'}, {U'Н', 'H'}, {U'І', 'I'}, {U'Ј', 'J'}, {U'К', 'K'}, {U'Ӏ', 'I'}, {U'М', 'M'}, {U'О', 'O'},
    {U'Р', 'P'}, {U'Ԛ', 'Q'}, {U'Ѕ', 'S'}, {U'Т', 'T'}, {U'Ѵ', 'V'}, {U'Ԝ', 'W'}, {U'Х', 'X'}, {U'У', 'Y'}, {U'Ү', 'Y'},
    {U'α', 'a'}, {U'ϲ', 'c'}, {U'ε', 'e'}, {U'ι', 'i'}, {U'ϳ', 'j'}, {U'κ', 'k'}, {U'η', 'n'}, {U'ο', 'o'}, {U'ρ', 'p'}, {U'τ', 't'}, {U'υ', 'u'}, {U'ν', 'v'},
    {U'ω', 'w'}, {U'χ', 'x'}, {U'γ', 'y'}, {U'Α', 'A'}, {U'Β', 'B'}, {U'Ϲ', 'C'}, {U'Ε', 'E'}, {U'Η', 'H'}, {U'Ι', 'I'}, {U'Ϳ', 'J'}, {U'Κ', 'K'}, {U'Μ', 'M'},
    {U'Ν', 'N'}, {U'Ο', 'O'}, {U'Ρ', 'P'}, {U'Τ', 'T'}, {U'Χ', 'X'}, {U'Υ', 'Y'}, {U'Ζ', 'Z'},
    {U'հ', 'h'}, {U'ո', 'n'}, {U'օ', 'o'}, {U'ս', 'u'}, {U'ց', 'g'}, {U'Տ', 'S'}, {U'Օ', 'O'}, {U'ɑ', 'a'}, {U'ɡ', 'g'}, {U'ı', 'i'},
};

char dash_or_slash(char32_t c) {
  if ((c >= 0x2010 && c <= 0x2015) || c == 0x2212 || c == 0x2043 || c == 0x058a || c == 0x05be || c == 0x1806 || c == 0x2e3a || c == 0x2e3b) return '-';
  if (c == 0x2044 || c == 0x2215) return '/';
  return c == 0x2236 ? ':' : '\0';
}

char dot_like(char32_t c) { return c == 0x3002 || c == 0x30fb || c == 0xb7 ? '.' : c == 0x30fc ? '-' : '\0'; }

// Digits of a script stand together, from zero on.
int decimal_value(char32_t c) {
  char32_t zero = c;
  while (is_decimal(zero - 1)) --zero;
  return static_cast<int>((c - zero) % 10);
}

// Numbers in circles, brackets and with a dot, as bare digits; 0 is "not one".
int enclosed_number(char32_t c) {
  constexpr struct { char32_t first, last; int value; } runs[] = {
      {0x2474, 0x2487, 1}, {0x2488, 0x249b, 1}, {0x24eb, 0x24f4, 11}, {0x24f5, 0x24fe, 1}, {0x2776, 0x277f, 1}, {0x2780, 0x2789, 1}, {0x278a, 0x2793, 1}};
  for (const auto& run : runs) {
    if (c >= run.first && c <= run.last) return run.value + static_cast<int>(c - run.first);
  }
  return 0;
}

bool is_invisible(char32_t c) {
  if ((c >= 0x600 && c <= 0x605) || c == 0x6dd || c == 0x70f || c == 0x8e2 || c == 0x110bd || c == 0x110cd) return false;  // signs around Arabic numbers
  if (c == 0x34f || c == 0x115f || c == 0x1160 || c == 0x17b4 || c == 0x17b5 || c == 0x3164 || c == 0xffa0 || c == 0x2800) return true;
  return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_CF;
}

bool is_selector(char32_t c) { return (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0xe0100 && c <= 0xe01ef) || (c >= 0x180b && c <= 0x180d) || c == 0x180f; }

bool is_mark(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME;
}

// NFKC of one code point, then what NFKC leaves alone.
std::string compatible(char32_t c) {
  std::array<utf8proc_int32_t, 32> points{};
  int last_class = 0;
  utf8proc_ssize_t n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), points.data(), points.size(), static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT), &last_class);
  if (n <= 0 || n > static_cast<utf8proc_ssize_t>(points.size())) return {};
  if (n > 1 && points[0] == ' ') return {};  // a spacing accent
  n = utf8proc_normalize_utf32(points.data(), n, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  std::string out;
  for (utf8proc_ssize_t i = 0; i < n; ++i) {
    const auto point = static_cast<char32_t>(points[static_cast<size_t>(i)]);
    const char sign = dash_or_slash(point);
    if (sign != '\0') out.push_back(sign);
    else if (point >= 0x80 && is_decimal(point)) out.push_back(static_cast<char>('0' + decimal_value(point)));
    else append_utf8(point, out);
  }
  return out;
}

struct Row { Fate fate = Fate::keep; uint8_t size = 0; uint16_t at = 0; };
struct Table {
  std::vector<Row> rows = std::vector<Row>(table_end);
  std::string pool;
  std::unordered_map<std::string, uint16_t> places;  // in `pool`

  Table() {
    for (char32_t c = 0x80; c < table_end; ++c) {
      const bool folds_never = (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xf8ff) || (c >= 0x12000 && c <= 0x1afff);
      if (!folds_never && utf8proc_category(static_cast<utf8proc_int32_t>(c)) != UTF8PROC_CATEGORY_CN) fill(c);
    }
    for (const Pair& pair : look_alikes) put(pair.from, Fate::look_alike, std::string(1, pair.to));
    for (const char32_t c : {char32_t{0x3002}, char32_t{0x30fb}, char32_t{0xb7}, char32_t{0x30fc}, char32_t{0xff61}, char32_t{0xff65}, char32_t{0xff70}}) {
      const char plain = dot_like(c >= 0xff00 ? (c == 0xff61 ? 0x3002 : c == 0xff65 ? 0x30fb : 0x30fc) : c);
      put(c, Fate::dot, std::string(1, plain));
    }
    for (char32_t c = 0; c < 26; ++c) {  // letters on dark circles and squares
      for (const char32_t first : {0x1f150u, 0x1f170u}) put(first + c, Fate::replace, std::string(1, static_cast<char>('A' + c)));
    }
    put(0x24ff, Fate::replace, "0");
    for (const char32_t c : {0x85u, 0x2028u, 0x2029u}) put(c, Fate::replace, "\n");
  }

  void put(char32_t c, Fate fate, const std::string& text) {
    const auto [known, is_new] = places.try_emplace(text, static_cast<uint16_t>(pool.size()));
    if (is_new) pool += text;
    rows[c] = {fate, static_cast<uint8_t>(text.size()), known->second};
  }
  void fill(char32_t c) {
    if (is_selector(c)) return put(c, Fate::select, {});
    if (is_invisible(c)) return put(c, Fate::drop, {});
    if (is_mark(c)) return put(c, Fate::mark, {});
    std::string self;
    append_utf8(c, self);
    const int number = enclosed_number(c);
    const std::string text = number > 0 ? std::to_string(number) : compatible(c);
    if (!text.empty() && text != self && text.size() <= 4 * self.size()) put(c, Fate::replace, text);
  }
};

const Table& table() {
  static const Table table;
  return table;
}

}  // namespace

Fold fold_of(char32_t c) {
  if (c < table_end) {
    const Table& t = table();
    const Row& row = t.rows[c];
    return {row.fate, std::string_view(t.pool).substr(row.at, row.size)};
  }
  if (is_selector(c)) return {Fate::select, {}};
  return {c >= 0xe0000 && c <= 0xe007f ? Fate::drop : Fate::keep, {}};
}
