// prose: cuts a text into tokens in one pass.
#include "privacy/detect/prose/tokens.h"
#include <array>
#include <utf8proc.h>
#include "privacy/detect/prose/han.h"
#include "privacy/detect/prose/words.h"

namespace {

constexpr uint32_t fnv_start = 2166136261u, fnv_prime = 16777619u;

enum : uint8_t { other, lower, upper, digit, space, newline };
constexpr std::array<uint8_t, 128> ascii_kinds = [] {
  std::array<uint8_t, 128> out{};
  for (int c = 'a'; c <= 'z'; ++c) out[static_cast<size_t>(c)] = lower;
  for (int c = 'A'; c <= 'Z'; ++c) out[static_cast<size_t>(c)] = upper;
  for (int c = '0'; c <= '9'; ++c) out[static_cast<size_t>(c)] = digit;
  out[' '] = out['\t'] = out['\r'] = out['\v'] = out['\f'] = space;
  out['\n'] = newline;
  return out;
}();

bool is_letter(uint32_t c) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ME;
}
uint8_t kind_of(uint32_t c) {
  if (c < 128) return ascii_kinds[c];
  if (c == 0xa0 || c == 0x3000 || (c >= 0x2000 && c <= 0x200a)) return space;
  if (c == 0x2028 || c == 0x2029) return newline;
  if (!is_letter(c)) return other;
  return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_LU ? upper : lower;
}

void add_to_hash(uint32_t& hash, uint32_t c) {
  if (c < 128) {
    hash = (hash ^ c) * fnv_prime;
    return;
  }
  for (; c != 0; c >>= 8) hash = (hash ^ (c & 0xff)) * fnv_prime;
}

// Letters and digits in a row; an apostrophe or "_" between two of them belongs to it, except before a final s.
struct WordScan {
  size_t end = 0;
  int n = 0, n_upper = 0, n_lower = 0, n_digits = 0, n_underscores = 0;
  bool first_upper = false;
  uint32_t hash = fnv_start;

  void take(uint32_t c, uint8_t kind) {
    if (kind == upper) {
      n_upper += 1;
      c = c < 128 ? c + 32 : static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
    } else if (kind == lower) {
      n_lower += 1;
    } else if (kind == digit) {
      n_digits += 1;
    }
    if (n == 0) first_upper = kind == upper;
    n += 1;
    add_to_hash(hash, c);
  }
};

bool apostrophe(uint32_t c) { return c == '\'' || c == 0x2019 || c == 0x02bc; }

WordScan scan_word(std::string_view text, size_t at) {
  WordScan word;
  while (at < text.size()) {
    const Character c = character_at(text, at);
    const uint8_t kind = kind_of(c.code);
    if ((kind == lower || kind == upper || kind == digit) && !is_han(c.code)) {
      word.take(c.code, kind);
      at += c.size;
      continue;
    }
    const bool joint = apostrophe(c.code) || c.code == '_';
    if (!joint || at + c.size >= text.size() || (word.n == 0 && c.code != '_')) break;
    const Character next = character_at(text, at + c.size);
    const uint8_t next_kind = kind_of(next.code);
    if (c.code == '_') {
      word.n_underscores += 1;
      word.n += 1;
      at += c.size;
      continue;
    }
    if ((next_kind != lower && next_kind != upper) || is_han(next.code)) break;
    const size_t after = at + c.size + next.size;
    const bool final_s = (next.code == 's' || next.code == 'S') && (after >= text.size() || kind_of(character_at(text, after).code) == other || kind_of(character_at(text, after).code) >= space);
    if (final_s) break;
    add_to_hash(word.hash, '\'');
    at += c.size;
  }
  word.end = at;
  return word;
}

WordShape shape_of(const WordScan& word) {
  if (word.n == 0) return WordShape::code;
  if (word.n_underscores > 0 || word.n > 30 || (word.n_digits > 0 && word.n_digits < word.n)) return WordShape::code;
  if (word.n_digits == word.n) return word.n <= 2 ? WordShape::digits_2 : word.n <= 4 ? WordShape::digits_4 : word.n == 5 ? WordShape::digits_5 : WordShape::digits_more;
  if (word.n_upper == 0) return WordShape::lower;
  if (word.n == 1) return WordShape::capital;
  if (word.n_lower == 0) return WordShape::upper;
  if (word.first_upper && word.n_upper == 1) return WordShape::title;
  return word.first_upper ? WordShape::mixed_title : WordShape::mixed;
}

bool ends_sentence(uint32_t c) { return c == '.' || c == '!' || c == '?' || c == ':' || c == 0x3002 || c == '"' || c == 0x201c || c == '*' || c == '#' || c == '>' || c == '|' || c == 0x2022; }

// A line break or tab as JSON and logs write it, a backslash and n, before anything but a small letter.
bool escaped_break(std::string_view text, size_t at) {
  if (text[at] != '\\' || at + 1 >= text.size() || (text[at + 1] != 'n' && text[at + 1] != 'r' && text[at + 1] != 't')) return false;
  return at + 2 >= text.size() || kind_of(character_at(text, at + 2).code) != lower;
}

}  // namespace

uint32_t word_hash(std::string_view lower) {
  uint32_t hash = fnv_start;
  for (size_t at = 0; at < lower.size();) {
    const Character c = character_at(lower, at);
    add_to_hash(hash, apostrophe(c.code) ? '\'' : c.code);
    at += c.size;
  }
  return hash;
}

Character character_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const auto tail = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const uint32_t first = byte(0);
  if (first < 0xc0) return {first, 1};
  if (first < 0xe0 && tail(1)) return {(first & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (first < 0xf0 && tail(1) && tail(2)) return {(first & 0xf) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  if (first >= 0xf0 && first < 0xf8 && tail(1) && tail(2) && tail(3))
    return {(first & 7) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f), 4};
  return {first, 1};
}

Tokens tokenise(std::string_view text) {
  Tokens out;
  out.reserve(text.size() / 4 + 8);
  const RuleWords& words = rule_words();
  bool spaced = true, opens = true;
  for (size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    const uint8_t kind = kind_of(c.code);
    if (kind == space) {
      spaced = true;
      at += c.size;
      continue;
    }
    Token token;
    token.begin = static_cast<uint32_t>(at);
    token.spaced = spaced;
    spaced = false;
    const bool escaped = c.code == '\\' && escaped_break(text, at);
    if (kind == newline || escaped) {
      token.kind = TokenKind::line;
      token.shape = WordShape::line;
      token.hash = '\n';
      at += escaped ? 2 : c.size;
      spaced = opens = true;
    } else if (is_han(c.code)) {
      token.kind = TokenKind::han;
      token.shape = WordShape::han;
      token.hash = simplified(c.code);
      token.classes = han_character_classes(token.hash);
      token.opens = opens;
      opens = false;
      at += c.size;
    } else if (kind == other && c.code != '_') {
      token.hash = c.code;
      at += c.size;
      opens = opens || ends_sentence(c.code);
    } else {
      const WordScan word = scan_word(text, at);
      token.shape = shape_of(word);
      token.kind = word.n > 0 && word.n_digits == word.n ? TokenKind::number : TokenKind::word;
      token.hash = word.hash;
      token.classes = token.kind == TokenKind::word ? words.classes(word.hash) : 0;
      token.opens = opens;
      opens = false;
      at = word.end > at ? word.end : at + c.size;
    }
    token.end = static_cast<uint32_t>(at);
    out.push_back(token);
  }
  return out;
}
