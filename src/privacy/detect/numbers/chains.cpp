// chains: groups of letters and digits, found by their digits.
#include "privacy/detect/numbers/chains.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace numbers {
namespace {

enum Kind : uint8_t { other = 0, digit = 1, upper = 2, lower = 4 };
constexpr std::array<uint8_t, 256> kinds = [] {
  std::array<uint8_t, 256> out{};
  for (int c = '0'; c <= '9'; ++c) out[static_cast<size_t>(c)] = digit;
  for (int c = 'A'; c <= 'Z'; ++c) out[static_cast<size_t>(c)] = upper, out[static_cast<size_t>(c + 32)] = lower;
  return out;
}();
uint8_t kind_of(char c) { return kinds[static_cast<uint8_t>(c)]; }

size_t next_digit(std::string_view text, size_t at) {
  constexpr size_t block = 32;  // compilers turn this into a few vector instructions
  for (; at + block <= text.size(); at += block) {
    bool any = false;
    for (size_t i = 0; i < block; ++i) any |= static_cast<uint8_t>(text[at + i] - '0') < 10;
    if (any) break;
  }
  while (at < text.size() && static_cast<uint8_t>(text[at] - '0') >= 10) ++at;
  return at;
}

struct Link { char how; size_t next; };

Link link_at(std::string_view text, size_t at) {
  const auto here = [&](size_t ahead) { return at + ahead < text.size() ? text[at + ahead] : '\0'; };
  const char c = here(0);
  if (c != ' ' && c != '-' && c != '.' && c != '/' && c != '(') return {0, at};
  if (is_alnum(here(1))) return {c, at + 1};
  if (c == ' ' && here(1) == ' ' && is_alnum(here(2))) return {' ', at + 2};
  if (c == ' ' && here(1) == '(' && is_alnum(here(2))) return {'(', at + 2};
  if (c == ' ' && here(1) == '-' && here(2) == ' ' && is_alnum(here(3))) return {'-', at + 3};
  return {0, at};
}

constexpr size_t max_word_inside = 4;  // the bank in "GB29 NWBK 6016 …"
constexpr size_t max_word_before = 6;  // the names in "RSSMRA 85T10 A562S"

}  // namespace

bool is_alnum(char c) { return kind_of(c) != other; }

Token Chains::token_at(size_t begin) const {
  uint8_t seen = 0;
  size_t end = begin;
  for (uint8_t kind; end < text_.size() && (kind = kind_of(text_[end])) != other; ++end) seen |= kind;
  return {begin, end, (seen & digit) != 0, (seen & (upper | lower)) != 0, (seen & lower) != 0};
}

// Up to two: they have no digit, or the search would have stopped there.
void Chains::take_words_before(size_t begin) {
  for (int i = 0; i < 2; ++i) {
    if (begin < done_ + 2 || (text_[begin - 1] != ' ' && text_[begin - 1] != '-')) break;
    const size_t end = begin - 1;
    size_t start = end;
    while (start > done_ && end - start <= max_word_before && is_alnum(text_[start - 1])) --start;
    if (start == end || end - start > max_word_before) break;
    chain_.insert(chain_.begin(), token_at(start));
    chain_.front().link = text_[end];
    begin = start;
  }
}

std::span<const Token> Chains::next() {
  chain_.clear();
  const size_t found = next_digit(text_, done_);
  if (found == text_.size()) return {};
  size_t begin = found;
  while (begin > done_ && is_alnum(text_[begin - 1])) --begin;
  take_words_before(begin);
  chain_.push_back(token_at(begin));
  for (;;) {
    const Link link = link_at(text_, chain_.back().end);
    if (link.how == 0) break;
    const Token token = token_at(link.next);
    if (!token.digit && (token.size() > max_word_inside || !chain_.back().digit)) break;
    chain_.back().link = link.how;
    chain_.push_back(token);
  }
  done_ = chain_.back().end;
  return chain_;
}

}  // namespace numbers
