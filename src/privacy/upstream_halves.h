// upstream_halves: characters that an upstream cuts in two: JSON escapes them as two halves of UTF-16, which may come in two events.
#pragma once
#include <string>
#include <string_view>

// A JSON text in which the escape of a half that stands alone is a private character instead: no parser takes such a half. Those characters,
// U+100000 to U+1007FF, have no meaning that texts could lose.
std::string with_marked_halves(std::string_view json);

// Of one lane of an answer: halves that come one after the other become their character, others U+FFFD.
class HalfJoiner {
 public:
  std::string add(std::string_view text);
  std::string finish();

 private:
  unsigned high_ = 0;                  // waits for its other half; 0: none does
};
