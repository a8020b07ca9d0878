// token_rows: the table of credentials that begin with a text of their own, one row per kind.
#pragma once
#include <span>
#include <string_view>

namespace credential {

enum class TokenCheck : uint8_t {
  none,
  random,       // enough different characters to be drawn by chance
  github,       // the last 6 of 36 characters are the CRC-32 of the first 30 in base 62
  aws_id,       // ends EXAMPLE: a sample; base 32
  anthropic,    // ends AA
};

struct TokenRow {
  std::string_view kind;
  std::string_view literals;  // separated by spaces; a match of `pattern` has one of them `back` or fewer bytes behind its start
  std::string_view pattern;   // RE2, anchored; no letter, digit or "_" may follow what it matches, nor a letter or digit precede it
  float score;
  TokenCheck check = TokenCheck::none;
  int back = 0;
};
std::span<const TokenRow> token_rows();

}  // namespace credential
