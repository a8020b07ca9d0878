// grammar regex: a regular expression of ECMA-262 (with its u flag) as a tree.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "text/grammar.h"

struct RegexTree {
  enum class Kind : uint8_t { characters, sequence, choice, repeat, text_begin, text_end } kind = Kind::sequence;
  std::vector<GrammarBuilder::Range> ranges;  // characters: normal_ranges
  std::vector<RegexTree> children;            // sequence, choice, repeat: one
  int64_t least = 0, most = 0;                // repeat; most < 0: no limit
  size_t offset = 0;                          // in the pattern, for messages
  bool has_anchor = false;                    // text_begin or text_end somewhere in it
};
Result<RegexTree> parse_regex(std::string_view pattern);

// \p{name}: general categories, and a few properties beside them. unsupported for others.
Result<std::vector<GrammarBuilder::Range>> unicode_property(std::string_view name, size_t offset);
