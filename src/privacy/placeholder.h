// placeholder: TYPE_ and 6 to 8 Crockford digits of which the last checks: "PERSON_7KQ2M4".
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include "privacy/scan.h"

inline constexpr size_t max_placeholder = 24;        // longest one, in bytes: TYPE_ and the code
inline constexpr int min_code = 6, max_code = 8;     // digits of the code, its check digit among them

std::string_view placeholder_type(PrivacyClass cls); // PERSON, EMAIL, PHONE, ADDRESS, CARD, IBAN, ID, SECRET, IP, DATE, TERM, DATA
struct PlaceholderSpan { size_t begin, end; };
// Those in `text` with a valid check digit, in any case, standing free. Says where one starts and ends, not whether it was issued.
std::vector<PlaceholderSpan> find_placeholders(std::string_view text);
bool well_formed_placeholder(std::string_view text); // with a valid check digit; any case
std::string upper(std::string_view text);            // ASCII alone

// One of `type` from a digest of at least 8 bytes; "" when this digest gives none that has both a letter and a digit.
std::string make_placeholder(std::string_view type, std::span<const uint8_t> digest, int code_length);

// A letter, mark or digit of a script that puts spaces between words: a placeholder beside one would not stand free.
bool joins_run(char32_t code_point);
bool is_invisible(char32_t code_point);              // zero-width characters, bidi controls, tags
