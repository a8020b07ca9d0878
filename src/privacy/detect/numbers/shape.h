// shape: the letters and digits of an identifier, and the groups that people write them in.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace numbers {

inline constexpr size_t max_compact = 40;  // letters and digits of the longest identifier that can be written in groups

// One length of a shape, as bits by place.
struct Shape {
  size_t length = 0;
  uint64_t digits = 0, letters = 0;  // where there must be one
  bool fits(uint64_t its_digits, uint64_t its_letters) const { return (digits & ~its_digits) == 0 && (letters & ~its_letters) == 0; }
};
// "A{2}9{6}*|9{8,10}": 9 digit, A letter, * either, at most one range of repeats in an alternative.
std::vector<Shape> shapes_of(std::string_view pattern);

// Lengths of groups and what links them, as one number, so that comparing is one instruction.
class Grouping {
 public:
  void add(size_t length, char link);  // `link` leads to the next group: ' ' '-' '.' '/' '(' or 0
  bool operator==(const Grouping&) const = default;

 private:
  uint64_t bits_ = 0;                  // 7 bits a group; 0 once it does not fit, which equals no usual one
  uint8_t groups_ = 0;
};
// "3~2~4|4-4": ~ stands for one of space, dash and dot, the same throughout.
std::vector<Grouping> groupings_of(std::string_view written);

std::vector<std::string_view> alternatives(std::string_view text);  // between |

}  // namespace numbers
