// view_fold: a text as all detectors read it first. ASCII is copied in whole runs; every other character meets its fate of view_table.
#include <algorithm>
#include <utf8proc.h>
#include "privacy/characters.h"
#include "privacy/view.h"
#include "privacy/view_table.h"

namespace {

bool is_ascii_word(char32_t c) { return is_digit(c) || is_ascii_letter(c); }

// Letters of alphabets, digits, and what binds them in addresses and numbers. Look-alikes are judged within such a token.
bool is_token(char32_t c) {
  if (c < 0x80) return is_ascii_word(c) || c == '.' || c == '@' || c == '_' || c == '-' || c == '+';
  if (is_han(c) || (c >= 0x3040 && c <= 0x30fa) || (c >= 0xac00 && c <= 0xd7a3)) return false;
  const Fold fold = fold_of(c);
  if (fold.fate != Fate::keep && fold.fate != Fate::replace) return true;
  const std::string_view text = fold.text;
  if (!text.empty() && static_cast<unsigned char>(text[0]) < 0x80) return is_token(static_cast<unsigned char>(text[0]));
  return is_latin(c) || (c >= 0x370 && c <= 0x58f);
}

class Folder {
 public:
  explicit Folder(std::string_view text) : in_(text) { out_.text.reserve(text.size() + 16); }

  View fold() {
    for (size_t at = 0; at < in_.size();) {
      const size_t end = first_beyond_ascii(in_, at);
      if (end > at) copy(at, end);
      if (end == in_.size()) break;
      at = end + take(end);
    }
    return std::move(out_);
  }

 private:
  // One character beyond ASCII; gives its length.
  size_t take(size_t at) {
    const CodePoint c = code_point_at(in_, at);
    const size_t end = at + c.length;
    const Fold fold = fold_of(c.value);
    switch (fold.fate) {
      case Fate::keep: copy(at, end); break;
      case Fate::drop: break;
      case Fate::select: out_.extend_last(end); break;  // what is not shown belongs to the character before
      case Fate::mark: follows_latin() ? out_.extend_last(end) : copy(at, end); break;
      case Fate::replace: replace(fold.text, at, end); break;
      case Fate::look_alike: token_at(at).has_latin ? replace(fold.text, at, end) : copy(at, end); break;
      case Fate::dot: joins(at, end) ? replace(fold.text, at, end) : copy(at, end); break;
    }
    return c.length;
  }

  void copy(size_t begin, size_t end) { out_.append_copy(in_.substr(begin, end - begin), begin); }
  void replace(std::string_view text, size_t begin, size_t end) { out_.append(text, begin, end); }

  bool follows_latin() const {
    if (out_.text.empty()) return false;
    const char32_t last = code_point_before(out_.text, out_.text.size()).value;
    return is_digit(last) || is_latin(last);
  }

  // ASCII on both sides of a dot of another script: digits, or the letters of an e-mail address.
  bool joins(size_t at, size_t end) {
    if (out_.text.empty()) return false;
    const auto last = static_cast<unsigned char>(out_.text.back());
    const unsigned char next = seen_at(end);
    if (!is_ascii_word(last) || !is_ascii_word(next)) return false;
    return (is_digit(last) && is_digit(next)) || token_at(at).has_at;
  }
  // The first visible character from `at` on, folded, if it is ASCII.
  unsigned char seen_at(size_t at) const {
    while (at < in_.size()) {
      const CodePoint c = code_point_at(in_, at);
      if (c.value < 0x80) return static_cast<unsigned char>(c.value);
      const Fold fold = fold_of(c.value);
      if (fold.fate == Fate::keep) return 0;
      if (!fold.text.empty()) return static_cast<unsigned char>(fold.text[0]);
      at += c.length;
    }
    return 0;
  }

  struct Token { size_t end = 0; bool has_latin = false, has_at = false; };
  // Each is looked at once, however many characters of it ask.
  const Token& token_at(size_t at) {
    if (at < token_.end) return token_;
    size_t begin = at;
    while (begin > token_.end) {
      const CodePoint c = code_point_before(in_, begin);
      if (!is_token(c.value)) break;
      begin -= c.length;
    }
    Token token;
    for (token.end = begin; token.end < in_.size();) {
      const CodePoint c = code_point_at(in_, token.end);
      if (!is_token(c.value)) break;
      note(c.value, token);
      token.end += c.length;
    }
    return token_ = token;
  }
  static void note(char32_t c, Token& token) {
    if (c >= 0x80) {
      const Fold fold = fold_of(c);
      if (fold.fate == Fate::keep) token.has_latin |= is_latin(c);
      if (fold.fate != Fate::replace || fold.text.empty()) return;
      c = static_cast<unsigned char>(fold.text[0]);
    }
    token.has_latin |= is_ascii_word(c);
    token.has_at |= c == '@';
  }

  std::string_view in_;
  View out_;
  Token token_;
};

}  // namespace

View folded(std::string_view text) {
  if (first_beyond_ascii(text) == text.size()) {
    View view;
    view.text = text;
    return view;
  }
  return Folder(text).fold();
}
