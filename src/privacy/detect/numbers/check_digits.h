// check digits: the arithmetic that identifiers share. All take digits, or letters and digits in upper case, and nothing else.
#pragma once
#include <initializer_list>
#include <string_view>

namespace numbers {

inline int value_of(char c) { return c <= '9' ? c - '0' : c - 'A' + 10; }                   // 0-9, A = 10 … Z = 35
inline int digit_at(std::string_view text, size_t at) { return text[at] - '0'; }
int number_of(std::string_view digits);                                                     // up to nine
long long_number_of(std::string_view digits);                                               // up to eighteen
int weighted(std::string_view text, std::initializer_list<int> weights);                    // of the first characters, as many as weights
int digit_sum(int number);
bool all_same(std::string_view text);

int luhn_sum(std::string_view digits);                                                       // the last digit counts once
bool luhn(std::string_view digits);
bool luhn_of_letters(std::string_view text);                                                // a letter stands for two digits (ISIN)
bool verhoeff(std::string_view digits);
bool iso_11_10(std::string_view digits);                                                    // ISO 7064 mod 11,10
int mod_97(std::string_view text);                                                          // a letter stands for two digits
bool two_mod_11(std::string_view text, std::initializer_list<int> first, std::initializer_list<int> second);  // Brazil: 11 - r, 10 and 11 -> 0, twice at the end

bool is_date(int year, int month, int day);
bool is_yymmdd(std::string_view six);                                                       // of this century or the last
bool is_ddmmyy(std::string_view six);
bool is_yyyymmdd(std::string_view eight);
bool one_of(std::string_view word, std::string_view list);                                  // in a list of words of its length, one after another without gaps

}  // namespace numbers
