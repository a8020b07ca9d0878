// template lexer: a hand-written twin of jinja2's lexer for the default delimiters.
#include "text/template_lexer.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include "text/template_text.h"

namespace tmpl {

namespace {

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}
  std::vector<Token> run();

 private:
  std::string source_;
  size_t at_ = 0, marked_ = 0;  // marked_: where line_ and column_ hold
  int line_ = 1, column_ = 1;
  bool line_starting_ = true;
  std::vector<char> open_;
  std::vector<Token> tokens_;

  [[noreturn]] void fail_here(std::string message) {
    locate(at_);
    throw Failure{Code::unsupported, std::move(message), line_, column_};
  }
  void locate(size_t where);
  Token& push(TokenKind kind, std::string text, size_t where);
  bool ahead(std::string_view s, size_t from) const { return std::string_view(source_).substr(from, s.size()) == s; }
  size_t skip_space(size_t from) const;
  void data_until(size_t tag, char sign, bool variable);
  void comment();
  bool raw(size_t tag, char sign);
  void inside(bool block);
  bool close(bool block);
  void number();
  void string();
  void name();
  void op();
};

void Lexer::locate(size_t where) {
  for (; marked_ < where && marked_ < source_.size(); marked_++) {
    if (source_[marked_] == '\n') {
      line_++;
      column_ = 1;
    } else if ((source_[marked_] & 0xc0) != 0x80) {
      column_++;
    }
  }
}

Token& Lexer::push(TokenKind kind, std::string text, size_t where) {
  locate(where);
  tokens_.push_back(Token{kind, std::move(text), 0, 0, line_, column_});
  return tokens_.back();
}

size_t Lexer::skip_space(size_t from) const {
  while (from < source_.size()) {
    size_t next = from;
    if (!text::is_space(text::decode(source_, next))) break;
    from = next;
  }
  return from;
}

// Text before a tag: stripped by "-", or of its own line's indentation by lstrip_blocks.
void Lexer::data_until(size_t tag, char sign, bool variable) {
  std::string_view data = std::string_view(source_).substr(at_, tag - at_);
  if (sign == '-') {
    data = text::strip(data, nullptr, false, true);
  } else if (sign != '+' && !variable) {
    const size_t newline = data.rfind('\n');
    const size_t line = newline == data.npos ? 0 : newline + 1;
    const std::string_view indent = data.substr(line);
    if ((line > 0 || line_starting_) && text::strip(indent, nullptr, true, true).empty()) data = data.substr(0, line);
  }
  if (!data.empty()) push(TokenKind::data, std::string(data), at_);
}

std::vector<Token> Lexer::run() {
  while (at_ < source_.size()) {
    size_t tag = at_;
    while ((tag = source_.find('{', tag)) != source_.npos && !(ahead("{{", tag) || ahead("{%", tag) || ahead("{#", tag))) tag++;
    if (tag == source_.npos) {
      push(TokenKind::data, source_.substr(at_), at_);
      break;
    }
    const char kind = source_[tag + 1], next = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    const char sign = next == '-' || next == '+' ? next : ' ';
    if (kind == '%' && raw(tag, sign)) continue;
    data_until(tag, sign, kind == '{');
    at_ = tag + (sign == ' ' ? 2 : 3);
    if (kind == '#') {
      comment();
    } else {
      push(kind == '%' ? TokenKind::block_begin : TokenKind::variable_begin, "", tag);
      inside(kind == '%');
    }
  }
  push(TokenKind::end, "", source_.size());
  return std::move(tokens_);
}

void Lexer::comment() {
  size_t end = source_.find("#}", at_);
  if (end == source_.npos) fail_here("Missing end of comment tag");
  const char sign = end > at_ ? source_[end - 1] : ' ';
  at_ = end + 2;
  if (sign == '-') at_ = skip_space(at_);
  else if (sign != '+' && ahead("\n", at_)) at_++;
  line_starting_ = source_[at_ - 1] == '\n';
}

// {% raw %} … {% endraw %}
bool Lexer::raw(size_t tag, char sign) {
  size_t at = skip_space(tag + (sign == ' ' ? 2 : 3));
  if (!ahead("raw", at)) return false;
  at = skip_space(at + 3);
  const bool strip = ahead("-%}", at);
  if (!strip && !ahead("%}", at)) return false;
  data_until(tag, sign, false);
  at_ = strip ? skip_space(at + 3) : at + 2;
  line_starting_ = source_[at_ - 1] == '\n';
  for (size_t end = source_.find("{%", at_); end != source_.npos; end = source_.find("{%", end + 1)) {
    const char next = end + 2 < source_.size() ? source_[end + 2] : ' ';
    const char end_sign = next == '-' || next == '+' ? next : ' ';
    size_t close = skip_space(end + (end_sign == ' ' ? 2 : 3));
    if (!ahead("endraw", close)) continue;
    close = skip_space(close + 6);
    const char close_sign = ahead("+%}", close) || ahead("-%}", close) ? source_[close] : ' ';
    if (close_sign == ' ' && !ahead("%}", close)) continue;
    data_until(end, end_sign, false);
    at_ = close + (close_sign == ' ' ? 2 : 3);
    if (close_sign == '-') at_ = skip_space(at_);
    else if (close_sign == ' ' && ahead("\n", at_)) at_++;
    line_starting_ = source_[at_ - 1] == '\n';
    return true;
  }
  fail_here("Missing end of raw directive");
}

// The end of a tag, where no bracket is open.
bool Lexer::close(bool block) {
  const char* plain = block ? "%}" : "}}";
  const bool minus = ahead("-", at_) && ahead(plain, at_ + 1), plus = block && ahead("+", at_) && ahead(plain, at_ + 1);
  if (!open_.empty() || !(minus || plus || ahead(plain, at_))) return false;
  push(block ? TokenKind::block_end : TokenKind::variable_end, "", at_);
  at_ += minus || plus ? 3 : 2;
  if (minus) at_ = skip_space(at_);
  else if (block && !plus && ahead("\n", at_)) at_++;
  line_starting_ = source_[at_ - 1] == '\n';
  return true;
}

void Lexer::inside(bool block) {
  while (at_ < source_.size()) {
    if (close(block)) return;
    const unsigned char c = static_cast<unsigned char>(source_[at_]);
    size_t next = at_;
    const char32_t wide = text::decode(source_, next);
    if (text::is_space(wide)) at_ = skip_space(at_);
    else if (c >= '0' && c <= '9') number();
    else if (text::is_identifier(wide, true)) name();
    else if (c == '\'' || c == '"') string();
    else op();
  }
}

void Lexer::name() {
  const size_t start = at_;
  for (size_t next = at_; next < source_.size() && text::is_identifier(text::decode(source_, next), at_ == start); at_ = next) {}
  push(TokenKind::name, source_.substr(start, at_ - start), start);
}

void Lexer::number() {
  const size_t start = at_;
  const auto digits = [&](size_t from, auto accepts) {  // digits with single underscores between them
    while (from < source_.size() && (accepts(source_[from]) || (source_[from] == '_' && from + 1 < source_.size() && accepts(source_[from + 1])))) from++;
    return from;
  };
  const auto decimal = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_digit_at = [&](size_t i) { return i < source_.size() && decimal(source_[i]); };
  size_t end = digits(start, decimal);
  bool real = false;
  if (!(start > 0 && source_[start - 1] == '.')) {
    if (end < source_.size() && source_[end] == '.' && is_digit_at(end + 1)) {
      end = digits(end + 1, decimal);
      real = true;
    }
    if (end < source_.size() && (source_[end] | 32) == 'e') {
      const size_t power = end + (ahead("+", end + 1) || ahead("-", end + 1) ? 2 : 1);
      if (is_digit_at(power)) {
        end = digits(power, decimal);
        real = true;
      }
    }
  }
  if (!real && source_[start] == '0') {
    const char k = start + 1 < source_.size() ? static_cast<char>(source_[start + 1] | 32) : ' ';
    const auto hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
    const auto octal = [](char c) { return c >= '0' && c <= '7'; };
    const auto binary = [](char c) { return c == '0' || c == '1'; };
    const auto zero = [](char c) { return c == '0'; };
    const size_t based = k == 'x' ? digits(start + 2, hex) : k == 'o' ? digits(start + 2, octal) : k == 'b' ? digits(start + 2, binary) : 0;
    end = based > start + 2 ? based : digits(start, zero);
  }
  std::string digits_only = source_.substr(start, end - start);
  std::erase(digits_only, '_');
  Token& token = push(real ? TokenKind::real : TokenKind::integer, digits_only, start);
  if (real) {
    token.real = std::strtod(digits_only.c_str(), nullptr);
  } else {
    try {
      token.integer = parse_int(digits_only, digits_only.size() > 1 && std::isalpha(static_cast<unsigned char>(digits_only[1])) ? 0 : 10).value_or(0);
    } catch (const Failure& failure) {
      fail_here(failure.message);
    }
  }
  at_ = end;
}

void append_unescaped(std::string& out, std::string_view s, size_t& at) {
  const char c = s[at++];
  const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (digits > 0) {
    uint32_t value = 0;
    const size_t end = std::min(s.size(), at + static_cast<size_t>(digits));
    const auto [p, error] = std::from_chars(s.data() + at, s.data() + end, value, 16);
    if (error != std::errc{} || p != s.data() + at + digits) fail(std::string("truncated \\") + c + " escape");
    at = end;
    text::append(out, value);
  } else if (c >= '0' && c <= '7') {
    char32_t value = static_cast<char32_t>(c - '0');
    for (int n = 1; n < 3 && at < s.size() && s[at] >= '0' && s[at] <= '7'; n++) value = value * 8 + static_cast<char32_t>(s[at++] - '0');
    text::append(out, value);
  } else {
    static constexpr std::string_view from = "abfnrtv\\'\"", to = "\a\b\f\n\r\t\v\\'\"";
    if (c == 'N') fail("named characters (\\N) are not supported");
    if (const size_t k = from.find(c); k != from.npos) out += to[k];
    else if (c != '\n') (out += '\\') += c;
  }
}

void Lexer::string() {
  const size_t start = at_;
  size_t end = start + 1;
  while (end < source_.size() && source_[end] != source_[start]) end += source_[end] == '\\' ? 2 : 1;
  if (end >= source_.size()) fail_here(std::string("unexpected char ") + (source_[start] == '"' ? "'\"'" : "\"'\"") + " (a string without end)");
  std::string out;
  const std::string_view body = std::string_view(source_).substr(start + 1, end - start - 1);
  try {
    for (size_t at = 0; at < body.size();) {
      if (body[at] != '\\') out += body[at++];
      else append_unescaped(out, body, ++at);
    }
  } catch (const Failure& failure) {
    fail_here(failure.message);
  }
  push(TokenKind::string, text::valid_utf8(out), start);
  at_ = end + 1;
}

void Lexer::op() {
  static constexpr std::string_view two[] = {"//", "**", "==", "!=", ">=", "<="};
  std::string text(1, source_[at_]);
  for (std::string_view t : two) {
    if (ahead(t, at_)) text = t;
  }
  if (text.size() == 1 && std::string_view("+-/*%~[](){}><=.:|,;").find(text[0]) == std::string_view::npos) {
    size_t end = at_;
    text::decode(source_, end);
    fail_here("unexpected char " + repr_of_string(std::string_view(source_).substr(at_, end - at_)));
  }
  const char c = text[0];
  if (c == '(' || c == '[' || c == '{') open_.push_back(c == '(' ? ')' : static_cast<char>(c + 2));
  if (c == ')' || c == ']' || c == '}') {
    if (open_.empty()) fail_here("unexpected '" + text + "'");
    if (open_.back() != c) fail_here("unexpected '" + text + "', expected '" + open_.back() + "'");
    open_.pop_back();
  }
  push(TokenKind::op, text, at_);
  at_ += text.size();
}

// One trailing newline goes, every other becomes \n.
std::string normalize(std::string_view source) {
  std::string out;
  for (size_t i = 0; i < source.size(); i++) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') i++;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(normalize(text::valid_utf8(source))).run(); }

}  // namespace tmpl
