// view_table: what folding does to each code point (privacy.md 2.1).
#pragma once
#include <cstdint>
#include <string_view>

enum class Fate : uint8_t {
  keep,
  drop,        // invisible
  select,      // variation selectors and the like: gone, but part of the character before
  mark,        // combining: gone after a digit or a Latin letter
  replace,
  look_alike,  // replaced only in tokens that hold Latin letters or digits
  dot,         // replaced only in numbers and e-mail addresses
};
struct Fold {
  Fate fate = Fate::keep;
  std::string_view text;  // what replaces it; lives as long as the program
};
Fold fold_of(char32_t code_point);
