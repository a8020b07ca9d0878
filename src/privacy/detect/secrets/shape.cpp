// shape: what a value looks like.
#include "privacy/detect/secrets/shape.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include "privacy/detect/secrets/words.h"

namespace credential {

bool is_space(unsigned char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_alnum(unsigned char c) { return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'); }
char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

namespace {

bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
bool is_lower(unsigned char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(unsigned char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(unsigned char c) { return is_lower(c) || is_upper(c); }
bool is_vowel(char c) { return std::string_view("aeiouyAEIOUY").find(c) != std::string_view::npos; }

// Calls `see` with each run of letters and of digits; a capital begins a run of its own unless the run is all capitals.
template <class See>
void each_segment(std::string_view text, See see) {
  size_t i = 0;
  while (i < text.size()) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (!is_alnum(c)) { ++i; continue; }
    size_t end = i + 1;
    if (is_digit(c)) {
      while (end < text.size() && is_digit(static_cast<unsigned char>(text[end]))) ++end;
    } else {
      const bool shouting = is_upper(c) && end < text.size() && is_upper(static_cast<unsigned char>(text[end]));
      while (end < text.size() && (shouting ? is_upper(static_cast<unsigned char>(text[end])) : is_lower(static_cast<unsigned char>(text[end])))) ++end;
    }
    see(text.substr(i, end - i));
    i = end;
  }
}

std::string folded_ascii(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), to_lower);
  return out;
}

// Every word of the value, cut at anything that is no letter or digit, is one that stand-ins are made of.
bool made_of_stand_in_words(std::string_view value) {
  size_t words = 0;
  bool all = true;
  std::string word;
  const auto close = [&] {
    if (word.empty()) return;
    ++words;
    const bool filler = word.size() >= 2 && std::all_of(word.begin(), word.end(), [&](char c) { return c == word[0]; });
    const bool number = word.size() <= 3 && std::all_of(word.begin(), word.end(), [](char c) { return is_digit(static_cast<unsigned char>(c)); });
    all = all && (filler || (number && words > 1) || stand_in_words().contains(word));
    word.clear();
  };
  for (const char c : value) {
    if (is_alnum(static_cast<unsigned char>(c))) word += to_lower(c);
    else close();
  }
  close();
  return words > 0 && all;
}

bool enclosed(std::string_view value, char open, char close) { return value.size() >= 2 && value.front() == open && value.back() == close; }

bool identifier(std::string_view text) {
  return !text.empty() && !is_digit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_alnum(static_cast<unsigned char>(c)) || c == '_'; });
}

bool is_templated(std::string_view value) {
  for (const std::string_view mark : {"${", "{{", "%s", "%d", "<%", "%(", "$(", "#{", "@{", "{%", "...", "\u2026", "$(", "\\(", "__("}) {
    if (value.find(mark) != std::string_view::npos) return true;
  }
  if (enclosed(value, '<', '>') || enclosed(value, '[', ']') || enclosed(value, '{', '}')) return true;
  if (enclosed(value, '%', '%') && identifier(value.substr(1, value.size() - 2))) return true;
  if (enclosed(value, '_', '_') && value.size() > 4 && value[1] == '_' && identifier(value)) return true;
  if (value.size() >= 2 && value[0] == '$' && identifier(value.substr(1)) && !looks_random(value.substr(1))) return true;
  if (value.size() <= 3 && value[0] == '%') return true;
  return value[0] == ':' && identifier(value.substr(1));  // a bound parameter of SQL
}

}  // namespace

bool equal_folded(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return to_lower(x) == to_lower(y); });
}
bool starts_folded(std::string_view text, std::string_view start) { return text.size() >= start.size() && equal_folded(text.substr(0, start.size()), start); }

bool is_hex(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return is_digit(static_cast<unsigned char>(c)) || ((c | 32) >= 'a' && (c | 32) <= 'f'); });
}

Shape shape_of(std::string_view text) {
  Shape out;
  out.size = text.size();
  std::array<uint32_t, 256> counts{};
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    ++counts[c];
    if (is_digit(c)) ++out.digits;
    else if (is_lower(c)) ++out.lower;
    else if (is_upper(c)) ++out.upper;
    else if (is_space(c)) ++out.spaces;
    else if (c >= 0x80) ++out.other;
    else {
      ++out.symbols;
      const bool wordlike = c == '-' || c == '_' || c == '.' || c == '\'' || c == '/' || c == ':' || c == ',';
      if (!wordlike && i + 1 < text.size()) ++out.inner_symbols;
    }
  }
  for (const uint32_t n : counts) {
    if (n == 0) continue;
    ++out.distinct;
    const float p = static_cast<float>(n) / static_cast<float>(text.size());
    out.entropy -= p * std::log2(p);
  }
  return out;
}

namespace {

// Too few vowels, or too many consonants in a row, for words of Latin languages.
bool unpronounceable(std::string_view word) {
  size_t vowels = 0, run = 0, longest = 0;
  for (const char c : word) {
    if (is_vowel(c)) ++vowels, run = 0;
    else longest = std::max(longest, ++run);
  }
  if (word.size() < 8) return false;
  const float share = static_cast<float>(vowels) / static_cast<float>(word.size());  // English: 0.35 to 0.45; random letters: 0.23 with y
  return longest >= 6 || share < 0.19F || (word.size() >= 16 && share < 0.28F && longest >= 5);
}

}  // namespace

bool looks_random(std::string_view text) {
  size_t segments = 0, bytes = 0;
  each_segment(text, [&](std::string_view part) {
    ++segments;
    bytes += part.size();
  });
  if (segments == 0) return false;
  if (bytes >= 8 && static_cast<float>(bytes) / static_cast<float>(segments) < 2.6F) return true;
  // The words of "snake_case" one by one; digits between letters do not part them.
  std::string letters;
  for (const char c : text) {
    if (is_letter(static_cast<unsigned char>(c))) {
      letters += c;
    } else if (!is_digit(static_cast<unsigned char>(c))) {
      if (unpronounceable(letters)) return true;
      letters.clear();
    }
  }
  return unpronounceable(letters);
}

bool is_stand_in(std::string_view value) {
  while (!value.empty() && is_space(static_cast<unsigned char>(value.front()))) value.remove_prefix(1);
  while (!value.empty() && is_space(static_cast<unsigned char>(value.back()))) value.remove_suffix(1);
  if (value.empty() || is_templated(value)) return true;
  const Shape shape = shape_of(value);
  if (shape.distinct <= 2 && (shape.size > 2 || shape.symbols == shape.size)) return !(shape.digits == shape.size && shape.size >= 4 && value[0] != '0');
  // Starts and ends in the clear, masked between: "sk-****abcd", "p****".
  if (value.find("***") != std::string_view::npos || value.find("\u2022\u2022\u2022") != std::string_view::npos) return true;
  if (value.find("xxxxx") != std::string_view::npos || value.find("XXXXX") != std::string_view::npos) return true;
  for (const std::string_view reference :
       {"ENC[", "vault:", "op://", "secret://", "secretsmanager:", "ssm:", "keyring:", "env:", "env.", "file:", "arn:", "!vault", "AQICAH"}) {
    if (starts_folded(value, reference)) return true;
  }
  return made_of_stand_in_words(value);
}

bool is_uuid(std::string_view value) {
  if (enclosed(value, '{', '}')) value = value.substr(1, value.size() - 2);
  if (value.size() != 36) return false;
  for (size_t i = 0; i < 36; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? value[i] != '-' : !is_hex(value.substr(i, 1))) return false;
  }
  return true;
}

bool is_path_or_url(std::string_view value) {
  if (value.find("://") != std::string_view::npos || starts_folded(value, "www.") || starts_folded(value, "mailto:")) return true;
  if (value.size() > 3 && is_letter(static_cast<unsigned char>(value[0])) && value[1] == ':' && (value[2] == '\\' || value[2] == '/')) return true;
  const bool rooted = value[0] == '/' || starts_folded(value, "./") || starts_folded(value, "../") || starts_folded(value, "~/") || value[0] == '\\';
  const size_t dot = value.rfind('.');
  if (dot != std::string_view::npos && dot > 0 && file_endings().contains(folded_ascii(value.substr(dot + 1)))) return true;
  if (value.find('/') == std::string_view::npos && !rooted) return false;
  size_t parts = 0, wordy = 0, at = 0;
  while (at <= value.size()) {
    const size_t slash = std::min(value.find('/', at), value.size());
    const std::string_view part = value.substr(at, slash - at);
    if (!part.empty()) {
      ++parts;
      const Shape shape = shape_of(part);
      if (!looks_random(part) && shape.inner_symbols == 0 && (shape.digits == 0 || rooted) && part.size() < 24) ++wordy;
    }
    at = slash + 1;
  }
  return parts > 0 && wordy == parts;
}

bool is_expression(std::string_view value) {
  if (value.empty()) return false;
  for (const std::string_view mark : {"->", "::", "()", "[]", "].", "&&", "||", "=="}) {
    const size_t at = value.find(mark);
    if (at != std::string_view::npos && !(mark == "==" && at + 2 == value.size())) return true;  // base64 ends so
  }
  // f(…), a[…], a.b.c: an identifier in front. "Pa(ss1" has no such.
  size_t end = 0;
  size_t dots = 0;
  while (end < value.size() &&
         (is_alnum(static_cast<unsigned char>(value[end])) || value[end] == '_' || value[end] == '.' || value[end] == '$' || value[end] == '?')) {
    dots += value[end] == '.' && end > 0 && end + 1 < value.size() && (is_letter(static_cast<unsigned char>(value[end + 1])) || value[end + 1] == '_');
    ++end;
  }
  const std::string_view head = value.substr(0, end);
  const bool name = end > 1 && (is_letter(static_cast<unsigned char>(value[0])) || value[0] == '_');
  if (end < value.size() && name && (value[end] == '(' ? end > 2 : value[end] == '[' && !looks_random(head))) return true;
  if (end == value.size() && dots > 0 && name && !looks_random(head)) return true;
  if (value[0] == '(' || value[0] == '[' || value[0] == '{' || value[0] == '&' || value[0] == '*') return true;
  return false;
}

bool is_plain_word(std::string_view word) {
  while (!word.empty() && !is_alnum(static_cast<unsigned char>(word.back())) && static_cast<unsigned char>(word.back()) < 0x80) word.remove_suffix(1);
  return plain_words().contains(folded_ascii(word));
}

bool is_algorithm(std::string_view word) {
  const std::string folded = folded_ascii(word);
  for (const std::string_view name :
       {"base64", "base32", "sha1",    "sha-1",       "sha2",      "sha256",  "sha-256", "sha512",        "sha-512",  "md5",     "utf8",
        "utf-8",  "utf16",  "aes128",  "aes-128",     "aes256",    "aes-256", "pbkdf2",  "argon2",        "argon2id", "argon2i", "bcrypt2",
        "rc4",    "des3",   "3des",    "2fa",         "oauth",     "oauth2",  "mfa",     "ascii",         "rsa2048",  "ed25519", "hs256",
        "rs256",  "es256",  "x509",    "hmac-sha256", "hmac-sha1", "rfc2898", "ntlmv2",  "sasl2",         "sha3",     "blake2b", "blake3",
        "crc32",  "pkcs1",  "pkcs8",   "pkcs12",      "pkcs5",     "int32",   "int64",   "uint8",         "uint32",   "uint64",  "str2",
        "8-bit",  "7-bit",  "256-bit", "128-bit",     "latin1",    "wpa2",    "wpa3",    "scram-sha-256", "uuid4"}) {
    if (folded == name) return true;
    if (folded.size() > name.size() && folded.starts_with(name) && (folded[name.size()] == '-' || folded[name.size()] == '_') &&
        std::none_of(folded.begin() + static_cast<std::ptrdiff_t>(name.size()), folded.end(),
                     [](char c) { return is_digit(static_cast<unsigned char>(c)); }))
      return true;
  }
  return false;
}

}  // namespace credential
