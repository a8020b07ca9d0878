// number_grammar: the JSON numbers within bounds that are multiples of something, digit by digit and exactly.
#pragma once
#include <optional>
#include <vector>
#include "text/decimal.h"
#include "text/grammar.h"

struct NumberLimits {
  bool integers = true, fractions = true;  // fractions: numbers that are no integers
  std::optional<Decimal> lower, upper;
  bool lower_open = false, upper_open = false;
  std::vector<Decimal> multiples;          // of each of these

  bool bounded() const { return lower || upper || !multiples.empty(); }
  void raise(const Decimal& bound, bool open);  // lower becomes at least this
  void drop(const Decimal& bound, bool open);   // upper becomes at most this
};

// Plain spellings (no exponent where there is a limit; integers without a point) of at most 16 digits on either side of the point, more only
// where the bounds ask for it. nullopt: there is no such number. unsupported: limits finer or larger than a grammar should be.
Result<std::optional<GrammarBuilder::Node>> number_grammar(GrammarBuilder& builder, const NumberLimits& limits);
