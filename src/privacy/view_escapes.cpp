// view_escapes: characters written as escapes: in URLs, in JSON and source code, in HTML, in mail. Each stands for its own bytes alone.
#include <algorithm>
#include <array>
#include <optional>
#include "privacy/characters.h"
#include "privacy/view_derive.h"

namespace {

// Two hexadecimal digits at `at`, or -1.
int hex_byte(std::string_view page, size_t at) {
  if (at + 2 > page.size()) return -1;
  const int high = hex_value(page[at]), low = hex_value(page[at + 1]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// A code point, as it is shown: control characters are not.
void add_shown(size_t begin, size_t end, char32_t c, Rewrites& out) {
  std::string text;
  if (c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c != 0x7f && c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff))) append_utf8(c, text);
  out.add(begin, end, text);
}

// Escaped bytes side by side are UTF-8, or else Latin-1.
struct EscapedByte { size_t begin, end; uint8_t value; };
class Bytes {
 public:
  explicit Bytes(Rewrites& out) : out_(out) {}
  ~Bytes() { flush(); }
  void add(size_t begin, size_t end, int value) {
    if (!run_.empty() && run_.back().end != begin) flush();
    if (value < 0x80) {
      flush();
      add_shown(begin, end, static_cast<char32_t>(value), out_);
      return;
    }
    run_.push_back({begin, end, static_cast<uint8_t>(value)});
  }
  void flush() {
    if (run_.empty()) return;
    std::string bytes;
    for (const EscapedByte& b : run_) bytes.push_back(static_cast<char>(b.value));
    for (size_t i = 0; i < run_.size();) {
      const size_t length = character(bytes, i);
      add_shown(run_[i].begin, run_[i + length - 1].end, length > 1 ? code_point_at(bytes, i).value : run_[i].value, out_);
      i += length;
    }
    run_.clear();
  }

 private:
  static size_t character(std::string_view bytes, size_t at) {
    const auto lead = static_cast<uint8_t>(bytes[at]);
    const size_t length = lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    return length > 1 && at + length <= bytes.size() && valid_utf8(bytes.substr(at, length)) ? length : 1;
  }
  Rewrites& out_;
  std::vector<EscapedByte> run_;
};

void find_percent(std::string_view page, Rewrites& out) {
  Bytes bytes(out);
  for (size_t at = page.find('%'); at != std::string_view::npos; at = page.find('%', at)) {
    const int value = hex_byte(page, at + 1);
    const bool is_shown = value >= 0x20 || value == '\t' || value == '\n' || value == '\r';  // others are formats: "%02d"
    if (is_shown) bytes.add(at, at + 3, value);
    at += value >= 0 ? 3 : 1;
  }
}

// Hexadecimal digits from `at` on, `least` to `most` of them.
struct Number { char32_t value; size_t end; };
std::optional<Number> hex_number(std::string_view page, size_t at, size_t least, size_t most) {
  Number out{0, at};
  while (out.end < page.size() && out.end - at < most && hex_value(page[out.end]) >= 0) out.value = out.value * 16 + static_cast<char32_t>(hex_value(page[out.end++]));
  if (out.end - at < least) return std::nullopt;
  return out;
}

// \u0034 \u{34} \U00000034, surrogates in pairs; `at` is behind the backslash.
std::optional<Number> unicode_escape(std::string_view page, size_t at) {
  if (page[at] == 'U') return hex_number(page, at + 1, 8, 8);
  if (at + 1 < page.size() && page[at + 1] == '{') {
    auto number = hex_number(page, at + 2, 1, 6);
    if (!number || number->end >= page.size() || page[number->end] != '}') return std::nullopt;
    ++number->end;
    return number;
  }
  auto number = hex_number(page, at + 1, 4, 4);
  if (!number || number->value < 0xd800 || number->value > 0xdbff) return number;
  if (page.substr(number->end, 2) != "\\u") return number;
  const auto low = hex_number(page, number->end + 2, 4, 4);
  if (!low || low->value < 0xdc00 || low->value > 0xdfff) return number;
  return Number{0x10000 + ((number->value - 0xd800) << 10) + (low->value - 0xdc00), low->end};
}

void find_backslashed(std::string_view page, Rewrites& out) {
  Bytes bytes(out);
  for (size_t at = page.find('\\'); at != std::string_view::npos; at = page.find('\\', at)) {
    const size_t begin = at;
    while (at < page.size() && page[at] == '\\') ++at;  // escaped more than once
    if (at == page.size()) break;
    if (page[at] == 'x') {
      const int value = hex_byte(page, at + 1);
      if (value >= 0) bytes.add(begin, at + 3, value), at += 3;
      continue;
    }
    if (page[at] != 'u' && page[at] != 'U') continue;
    const auto number = unicode_escape(page, at);
    if (!number) continue;
    bytes.flush();
    add_shown(begin, number->end, number->value, out);
    at = number->end;
  }
}

struct Entity { std::string_view name; char32_t value; };
constexpr Entity entities[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}, {"nbsp", ' '}, {"commat", '@'}, {"period", '.'}, {"colon", ':'},
    {"semi", ';'}, {"comma", ','}, {"sol", '/'}, {"bsol", '\\'}, {"num", '#'}, {"lowbar", '_'}, {"UnderBar", '_'}, {"hyphen", '-'}, {"dash", '-'}, {"ndash", '-'},
    {"mdash", '-'}, {"minus", '-'}, {"plus", '+'}, {"equals", '='}, {"lpar", '('}, {"rpar", ')'}, {"lsqb", '['}, {"rsqb", ']'}, {"lbrace", '{'}, {"rbrace", '}'},
    {"excl", '!'}, {"quest", '?'}, {"percnt", '%'}, {"dollar", '$'}, {"ast", '*'}, {"Hat", '^'}, {"grave", '`'}, {"verbar", '|'}, {"Tab", '\t'}, {"NewLine", '\n'},
    {"shy", 0xad}, {"zwj", 0x200d}, {"zwnj", 0x200c}, {"ZeroWidthSpace", 0x200b}, {"ensp", ' '}, {"emsp", ' '}, {"thinsp", ' '}};

std::optional<Number> entity_at(std::string_view page, size_t at) {  // behind the '&'
  std::optional<Number> number;
  if (at < page.size() && page[at] == '#') {
    const bool is_hex = at + 1 < page.size() && (page[at + 1] | 0x20) == 'x';
    if (is_hex) number = hex_number(page, at + 2, 1, 7);
    else {
      Number decimal{0, at + 1};
      while (decimal.end < page.size() && decimal.end - at <= 8 && is_digit(static_cast<unsigned char>(page[decimal.end]))) decimal.value = decimal.value * 10 + static_cast<char32_t>(page[decimal.end++] - '0');
      if (decimal.end > at + 1) number = decimal;
    }
    if (number && number->end < page.size() && page[number->end] == ';') ++number->end;
    return number;
  }
  for (const Entity& e : entities) {
    if (page.substr(at, e.name.size()) == e.name && at + e.name.size() < page.size() && page[at + e.name.size()] == ';') return Number{e.value, at + e.name.size() + 1};
  }
  return std::nullopt;
}

void find_entities(std::string_view page, Rewrites& out) {
  for (size_t at = page.find('&'); at != std::string_view::npos; at = page.find('&', at)) {
    const auto entity = entity_at(page, at + 1);
    if (!entity) {
      ++at;
      continue;
    }
    add_shown(at, entity->end, entity->value, out);
    at = entity->end;
  }
}

// Code says "x=10" too: it takes several escapes, or a line as long as mail breaks it.
constexpr size_t min_mail_line = 60, min_mail_escapes = 2;

}  // namespace

Rewrites find_escapes(std::string_view page) {
  Rewrites all;
  find_percent(page, all);
  find_backslashed(page, all);
  find_entities(page, all);
  all.sort();
  return all;
}

ViewKind escape_kind(char first) { return first == '%' ? ViewKind::percent : first == '&' ? ViewKind::entities : ViewKind::escapes; }

Rewrites find_quoted_printable(std::string_view page) {
  Rewrites out;
  size_t n_escapes = 0, n_breaks = 0, line = 0, seen = 0;  // line: where the current one begins
  const auto is_upper_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  {
    Bytes bytes(out);
    for (size_t at = page.find('='); at != std::string_view::npos; at = page.find('=', at)) {
      const size_t newline = page.substr(seen, at - seen).rfind('\n');
      if (newline != std::string_view::npos) line = seen + newline + 1;
      seen = at;
      const size_t after = page.substr(at + 1, 1) == "\r" ? at + 2 : at + 1;
      if (after < page.size() && page[after] == '\n') {
        bytes.flush();
        if (at > 0 && page[at - 1] != ' ' && page[at - 1] != '=') {
          n_breaks += at - line >= min_mail_line;
          out.add(at, after + 1, {});
        }
        at = after + 1;
      } else if (at + 2 < page.size() && is_upper_hex(page[at + 1]) && is_upper_hex(page[at + 2])) {
        ++n_escapes;
        bytes.add(at, at + 3, hex_byte(page, at + 1));
        at += 3;
      } else {
        ++at;
      }
    }
  }
  if (n_escapes < min_mail_escapes && n_breaks == 0) return {};
  return out;
}
