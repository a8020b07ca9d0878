// template text: Python's string operations over UTF-8, with utf8proc's character data.
#include "text/template_text.h"

#include <algorithm>
#include <utf8proc.h>

namespace tmpl::text {

static size_t width(unsigned char lead) { return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4; }

std::string valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    utf8proc_int32_t c = 0;
    const auto* p = reinterpret_cast<const utf8proc_uint8_t*>(bytes.data() + at);
    const auto n = utf8proc_iterate(p, static_cast<utf8proc_ssize_t>(bytes.size() - at), &c);
    if (n <= 0) {
      out += "\xef\xbf\xbd";
      at++;
    } else {
      out.append(bytes, at, static_cast<size_t>(n));
      at += static_cast<size_t>(n);
    }
  }
  return out;
}

int64_t count(std::string_view s) {
  return std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

size_t offset(std::string_view s, int64_t index) {
  size_t at = 0;
  for (; index > 0 && at < s.size(); index--) at += width(static_cast<unsigned char>(s[at]));
  return std::min(at, s.size());
}

char32_t decode(std::string_view s, size_t& at) {
  const auto byte = [&](size_t i) { return at + i < s.size() ? static_cast<char32_t>(s[at + i] & 0x3f) : 0; };
  const auto lead = static_cast<unsigned char>(s[at]);
  const size_t n = width(lead);
  char32_t c = lead;
  if (n == 2) c = (lead & 0x1fu) << 6 | byte(1);
  if (n == 3) c = (lead & 0x0fu) << 12 | byte(1) << 6 | byte(2);
  if (n == 4) c = (lead & 0x07u) << 18 | byte(1) << 12 | byte(2) << 6 | byte(3);
  at = std::min(at + n, s.size());
  return c;
}

void append(std::string& out, char32_t c) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
  utf8proc_uint8_t buffer[4];
  const auto n = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), buffer);
  out.append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(n));
}

std::vector<std::string_view> characters(std::string_view s) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at < s.size();) {
    const size_t n = std::min(width(static_cast<unsigned char>(s[at])), s.size() - at);
    out.push_back(s.substr(at, n));
    at += n;
  }
  return out;
}

bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

static utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }
bool is_alpha(char32_t c) { return category(c) >= UTF8PROC_CATEGORY_LU && category(c) <= UTF8PROC_CATEGORY_LO; }
bool is_digit(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }
bool is_upper(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LU; }
bool is_lower(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LL || c == 0xaa || c == 0xba; }

bool is_identifier(char32_t c, bool first) {
  if (c < 0x80) return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (!first && c >= '0' && c <= '9');
  const auto k = category(c);
  return is_alpha(c) || k == UTF8PROC_CATEGORY_NL || (!first && (is_digit(c) || k == UTF8PROC_CATEGORY_MN || k == UTF8PROC_CATEGORY_MC || k == UTF8PROC_CATEGORY_PC));
}

bool is_printable(char32_t c) {
  if (c == ' ') return true;
  const auto k = category(c);
  return k != UTF8PROC_CATEGORY_CN && k < UTF8PROC_CATEGORY_ZS;
}

std::string_view strip(std::string_view s, const std::string_view* chars, bool left, bool right) {
  const auto matches = [&](std::string_view one) {
    size_t at = 0;
    return chars ? chars->find(one) != std::string_view::npos : is_space(decode(one, at));
  };
  while (left && !s.empty()) {
    const size_t n = width(static_cast<unsigned char>(s[0]));
    if (!matches(s.substr(0, n))) break;
    s.remove_prefix(std::min(n, s.size()));
  }
  while (right && !s.empty()) {
    size_t start = s.size() - 1;
    while (start > 0 && (s[start] & 0xc0) == 0x80) start--;
    if (!matches(s.substr(start))) break;
    s = s.substr(0, start);
  }
  return s;
}

// The upper-case forms of more than one character that turn up in running text.
static const char* long_upper(char32_t c) {
  switch (c) {
    case 0xdf: return "SS";
    case 0x149: return "ʼN";
    case 0x1f0: return "J̌";
    case 0xfb00: return "FF";
    case 0xfb01: return "FI";
    case 0xfb02: return "FL";
    case 0xfb03: return "FFI";
    case 0xfb04: return "FFL";
    case 0xfb05: case 0xfb06: return "ST";
    default: return nullptr;
  }
}

static void append_upper(std::string& out, char32_t c) {
  if (const char* special = long_upper(c)) out += special;
  else append(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
}

static void append_title(std::string& out, char32_t c) {
  if (c == 0xdf) out += "Ss";
  else if (c >= 0xfb00 && c <= 0xfb06) out += capitalize(long_upper(c));
  else if (long_upper(c)) out += long_upper(c);
  else append(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
}

static bool letter_before(std::string_view s) {
  while (!s.empty()) {
    size_t start = s.size() - 1;
    while (start > 0 && (s[start] & 0xc0) == 0x80) start--;
    size_t at = start;
    const char32_t c = decode(s, at);
    if (is_alpha(c)) return true;
    if (category(c) != UTF8PROC_CATEGORY_MN && c != '\'' && c != '.' && c != 0x2019) return false;
    s = s.substr(0, start);
  }
  return false;
}

// `s` is the whole text, `at` behind the character: a capital sigma at the end of a word has a form of its own.
static void append_lower(std::string& out, char32_t c, std::string_view s, size_t at) {
  if (c == 0x130) {
    out += "i̇";
  } else if (c == 0x3a3) {
    size_t next = at;
    const bool more = at < s.size() && is_alpha(decode(s, next));
    append(out, letter_before(s.substr(0, at - 2)) && !more ? 0x3c2 : 0x3c3);
  } else {
    append(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

std::string upper(std::string_view s) {
  std::string out;
  for (size_t at = 0; at < s.size();) append_upper(out, decode(s, at));
  return out;
}

std::string lower(std::string_view s) {
  std::string out;
  for (size_t at = 0; at < s.size();) {
    const char32_t c = decode(s, at);
    append_lower(out, c, s, at);
  }
  return out;
}

std::string capitalize(std::string_view s) {
  std::string out;
  for (size_t at = 0; at < s.size();) {
    const bool first = at == 0;
    const char32_t c = decode(s, at);
    if (first) append_title(out, c);
    else append_lower(out, c, s, at);
  }
  return out;
}

std::string title(std::string_view s) {
  std::string out;
  bool inside = false;
  for (size_t at = 0; at < s.size();) {
    const char32_t c = decode(s, at);
    if (inside) append_lower(out, c, s, at);
    else append_title(out, c);
    inside = is_upper(c) || is_lower(c) || category(c) == UTF8PROC_CATEGORY_LT;
  }
  return out;
}

std::string swapcase(std::string_view s) {
  std::string out;
  for (size_t at = 0; at < s.size();) {
    const char32_t c = decode(s, at);
    if (is_upper(c)) append_lower(out, c, s, at);
    else if (is_lower(c)) append_upper(out, c);
    else append(out, c);
  }
  return out;
}

std::vector<std::string_view> split_space(std::string_view s, int64_t limit, bool from_right) {
  std::vector<std::string_view> out;
  const auto skip = [&] { s = strip(s, nullptr, !from_right, from_right); };
  for (skip(); !s.empty() && limit != 0; skip(), limit--) {
    size_t cut = from_right ? s.size() : 0;
    while (from_right ? cut > 0 : cut < s.size()) {
      size_t start = cut;
      if (from_right) {
        for (start--; start > 0 && (s[start] & 0xc0) == 0x80;) start--;
      }
      size_t behind = start;
      if (is_space(decode(s, behind))) break;
      cut = from_right ? start : behind;
    }
    out.push_back(from_right ? s.substr(cut) : s.substr(0, cut));
    s = from_right ? s.substr(0, cut) : s.substr(cut);
  }
  if (!s.empty()) out.push_back(s);
  if (from_right) std::reverse(out.begin(), out.end());
  return out;
}

std::vector<std::string_view> split(std::string_view s, std::string_view separator, int64_t limit, bool from_right) {
  std::vector<std::string_view> out;
  for (; limit != 0; limit--) {
    const size_t at = from_right ? s.rfind(separator) : s.find(separator);
    if (at == std::string_view::npos) break;
    out.push_back(from_right ? s.substr(at + separator.size()) : s.substr(0, at));
    s = from_right ? s.substr(0, at) : s.substr(at + separator.size());
  }
  out.push_back(s);
  if (from_right) std::reverse(out.begin(), out.end());
  return out;
}

std::vector<std::string_view> split_lines(std::string_view s, bool keep_ends) {
  std::vector<std::string_view> out;
  size_t start = 0;
  for (size_t at = 0; at < s.size();) {
    const size_t end = at;
    const char32_t c = decode(s, at);
    if (!((c >= 10 && c <= 13) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029)) continue;
    if (c == '\r' && at < s.size() && s[at] == '\n') at++;
    out.push_back(s.substr(start, (keep_ends ? at : end) - start));
    start = at;
  }
  if (start < s.size()) out.push_back(s.substr(start));
  return out;
}

std::string replace(std::string_view s, std::string_view from, std::string_view to, int64_t limit) {
  std::string out;
  if (from.empty()) {
    size_t at = 0;
    for (; limit != 0; limit--) {
      out += to;
      if (at >= s.size()) return out;
      const size_t n = width(static_cast<unsigned char>(s[at]));
      out += s.substr(at, n);
      at = std::min(at + n, s.size());
    }
    return out + std::string(s.substr(at));
  }
  for (; limit != 0; limit--) {
    const size_t at = s.find(from);
    if (at == std::string_view::npos) break;
    out += s.substr(0, at);
    out += to;
    s.remove_prefix(at + from.size());
  }
  return out + std::string(s);
}

int64_t occurrences(std::string_view s, std::string_view part) {
  if (part.empty()) return count(s) + 1;
  int64_t n = 0;
  for (size_t at = s.find(part); at != std::string_view::npos; at = s.find(part, at + part.size())) n++;
  return n;
}

}  // namespace tmpl::text
