// phones: a chain of digits that may be a telephone number, and what it can be.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include <re2/re2.h>
#include "privacy/detect/contact/phone_regions.h"

namespace contact {

// Groups of digits with separators between, as written: "+886 (0)912-345-678".
struct DigitChain {
  size_t begin = 0, end = 0;            // bytes, from "+" or "(" to the last digit
  bool plus = false;                    // "+" or "00" stands in front
  bool bracket = false;                 // a group in brackets
  bool cut = false;                     // more digits follow
  std::array<char, 20> digits{};
  size_t n = 0;
  std::array<uint8_t, 10> groups{};     // digits of each
  std::array<size_t, 10> group_ends{};  // bytes
  size_t n_groups = 0;
  char separator = 0;                   // the only one, or "*" for several kinds
  std::string_view text() const { return {digits.data(), n}; }
};
// The chain that begins at `at`; at most six groups. False where there are fewer than six digits or more than seventeen.
bool read_chain(std::string_view text, size_t at, DigitChain& out);
// The chain without its last group.
DigitChain shortened(const DigitChain& chain);
bool looks_like_date(const DigitChain& chain);

enum class NumberKind : uint8_t { none, fixed, mobile };
class NumberPlan {
 public:
  NumberPlan();
  // The number after "+": a calling code and a number that exists under it. `known`: the plan has the code's numbers.
  NumberKind international(std::string_view digits, bool& known) const;
  NumberKind within(std::string_view region, std::string_view number) const;  // without trunk prefix
  // A number as dialled inside any region; `trunk` tells whether it began with a trunk prefix. `name`: the first region it fits.
  NumberKind national(std::string_view digits, bool& trunk, std::string_view& name) const;

 private:
  NumberKind under(size_t region, std::string_view number) const;
  struct Patterns { std::unique_ptr<RE2> mobile, fixed; };
  std::vector<Patterns> patterns_;
};

}  // namespace contact
