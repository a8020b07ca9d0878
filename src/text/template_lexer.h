// template lexer: text of a template to tokens, with jinja2's trim_blocks, lstrip_blocks and sign rules for white space.
#pragma once
#include <string>
#include <string_view>
#include <vector>
#include "text/template_value.h"

namespace tmpl {

enum class TokenKind : uint8_t { data, variable_begin, variable_end, block_begin, block_end, name, string, integer, real, op, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;  // a name, an operator, the unescaped value of a string, the text of data
  int64_t integer = 0;
  double real = 0;
  int line = 1, column = 1;
};

// Throws Failure.
std::vector<Token> tokenize(std::string_view source);

}  // namespace tmpl
