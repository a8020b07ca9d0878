// chains: where a page has groups of letters and digits that may be one number: "4000 0076 5432 1097", "A123456(3)".
#pragma once
#include <span>
#include <string_view>
#include <vector>

namespace numbers {

// A run of ASCII letters and digits that ends at neither.
struct Token {
  size_t begin, end;
  bool digit, letter, lower;  // whether it has one
  char link = 0;              // how the chain's next token follows: ' ' '-' '.' '/' '(' or, at its last, 0
  size_t size() const { return end - begin; }
};

// Reads a page once, from left to right.
class Chains {
 public:
  explicit Chains(std::string_view text) : text_(text) {}
  // The next tokens that are linked by single separators and of which one has a digit; short words before and between them count, prose does not.
  // Empty at the end of the page; good until the next call.
  std::span<const Token> next();

 private:
  void take_words_before(size_t begin);
  Token token_at(size_t begin) const;

  std::string_view text_;
  size_t done_ = 0;           // the end of the last chain
  std::vector<Token> chain_;
};

bool is_alnum(char c);

}  // namespace numbers
