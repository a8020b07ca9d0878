// vault_forms: what of a value counts when two spellings are compared.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#include "privacy/scan.h"

// Folded, in lower case; without what the class does not care for: separators in numbers, all but letters and digits in names. Of a secret
// every byte counts.
std::string normalised(PrivacyClass cls, std::string_view value);
bool compares_digits(PrivacyClass cls);        // numbers: their digits alone are still the value
bool compares_punctuation(PrivacyClass cls);   // 1.23.4.5 is not 12.3.4.5

// A letter or digit of a text, folded and in lower case, and where it stands.
struct Letter {
  char32_t value;
  uint32_t begin, end;                         // bytes of the original
  enum class Kind : uint8_t { letter, digit, unspaced } kind;  // unspaced: of a script without spaces between words
  bool starts;                                 // a word or number, or is unspaced
  bool small;                                  // was written in lower case
  bool far;                                    // more than a separator or two lies before it
};
// Combining marks and invisible characters are none. `before`: the code point in front of the text, 0 when there is none.
std::vector<Letter> letters_of(std::string_view text, char32_t before = 0);

// Parts of a person's name that may stand for it: "Roe" of "Jane Roe", 小明 of 陳小明. Ranges of `letters`.
struct LetterRange { size_t begin, end; };
std::vector<LetterRange> parts_of_name(const std::vector<Letter>& letters);
// Whether so few letters are enough to tell one value from any other text.
bool is_telling(const std::vector<Letter>& letters, LetterRange range);
