// notation: what the readers of grammar notations (GBNF, Lark) share: a cursor over the text, its errors, and escapes.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include "text/grammar.h"

class NotationCursor {
 public:
  NotationCursor(std::string_view what, std::string_view text) : what_(what), text_(text) {}
  bool done() const { return at_ >= text_.size(); }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool starts(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  bool take(std::string_view word) { return starts(word) && (at_ += word.size(), true); }
  void skip(size_t bytes = 1) { at_ = std::min(text_.size(), at_ + bytes); }
  size_t offset() const { return at_; }
  void move_to(size_t offset) { at_ = offset; }
  std::string_view since(size_t offset) const { return text_.substr(offset, at_ - offset); }
  std::string_view rest() const { return text_.substr(at_); }
  template <class Is> std::string_view take_while(Is is) {
    const size_t begin = at_;
    while (!done() && is(text_[at_])) ++at_;
    return since(begin);
  }
  std::optional<int64_t> number();        // decimal, at most a million
  std::optional<char32_t> hex(int digits);  // exactly so many
  std::optional<char32_t> character();    // one character of UTF-8

  Error invalid(std::string_view expected) const { return at(Code::invalid_request, std::string(expected) + " expected"); }
  Error unsupported(std::string_view construct) const { return at(Code::unsupported, std::string(construct) + " is not supported"); }

 private:
  Error at(Code code, std::string message) const;  // with the line

  std::string_view what_, text_;
  size_t at_ = 0;
};
