// decimal: exact decimal numbers out of JSON: what bounds, multiples and equality of numbers are judged by.
#pragma once
#include <compare>
#include <optional>
#include <string>
#include "core/json.h"

// whole.fraction, without exponent: no leading zeros in `whole`, no trailing ones in `fraction`; zero has neither and is not negative.
struct Decimal {
  bool negative = false;
  std::string whole, fraction;

  static Decimal of(JsonView number);           // a double is what its shortest spelling says, 0.1 is one tenth
  static Decimal of(std::string_view spelling);  // a JSON number with an exponent of at most three digits
  bool is_zero() const { return whole.empty() && fraction.empty(); }
  bool is_integer() const { return fraction.empty(); }
  Decimal magnitude() const { return {false, whole, fraction}; }
  std::string spelling() const;                  // as JSON
};
std::strong_ordering operator<=>(const Decimal& a, const Decimal& b);
bool operator==(const Decimal& a, const Decimal& b);

// number * 10^digits, cut to a whole number, modulo m (which is below 2^60).
uint64_t scaled_remainder(const Decimal& number, size_t digits, uint64_t m);
// |number| * 10^digits where that is a whole number below 2^60.
std::optional<uint64_t> scaled(const Decimal& number, size_t digits);
// Whether `number` is a whole multiple of `step`; nullopt when the step has too many digits to say.
std::optional<bool> is_multiple(const Decimal& number, const Decimal& step);
