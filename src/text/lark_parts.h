// lark parts: the texts that Lark grammars are made of: regular expressions of Python, and the terminals of its library.
#pragma once
#include <string>
#include <string_view>
#include "text/notation.h"

// A regular expression of Python's, with flags, as one of ECMA-262 that GrammarBuilder::regex reads. `in` is for errors.
Result<std::string> regex_of_python(std::string_view pattern, std::string_view flags, const NotationCursor& in);
// A terminal of Lark's `common` module, as a regular expression; "" for none.
std::string_view common_terminal(std::string_view name);
