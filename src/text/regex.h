// regex: Oniguruma patterns, as tokenizer files hold them, run by PCRE2 with Oniguruma's character classes.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"

struct TextRange {
  size_t begin = 0, end = 0;  // bytes
};

// Rewrites what PCRE2 reads differently (\s, \w, \d, \p{…} of a newer Unicode, \v); what it cannot express is `unsupported`.
Result<std::string> translate_regex(std::string_view pattern);

// A compiled pattern; safe to share between threads.
class Regex {
 public:
  static Result<Regex> compile(std::string_view pattern);
  // Every match in valid UTF-8, left to right, as Oniguruma's iterator gives them. A search that exceeds the bounds ends the list.
  std::vector<TextRange> matches(std::string_view text) const;

 private:
  std::shared_ptr<const void> code_;  // pcre2_code
};

std::string escape_regex(std::string_view literal);
