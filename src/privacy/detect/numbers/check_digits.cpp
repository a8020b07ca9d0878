// check digits: the arithmetic that identifiers share.
#include "privacy/detect/numbers/check_digits.h"

namespace numbers {

long long_number_of(std::string_view digits) {
  long out = 0;
  for (const char c : digits) out = out * 10 + (c - '0');
  return out;
}

int number_of(std::string_view digits) { return static_cast<int>(long_number_of(digits)); }

int weighted(std::string_view text, std::initializer_list<int> weights) {
  int sum = 0;
  size_t at = 0;
  for (const int weight : weights) sum += weight * value_of(text[at++]);
  return sum;
}

int digit_sum(int number) {
  int sum = 0;
  for (; number > 0; number /= 10) sum += number % 10;
  return sum;
}

bool all_same(std::string_view text) { return text.find_first_not_of(text.front()) == std::string_view::npos; }

int luhn_sum(std::string_view digits) {
  int sum = 0;
  bool twice = false;
  for (size_t at = digits.size(); at-- > 0; twice = !twice) {
    const int value = digit_at(digits, at) << twice;
    sum += value > 9 ? value - 9 : value;
  }
  return sum;
}

bool luhn(std::string_view digits) { return luhn_sum(digits) % 10 == 0; }

bool luhn_of_letters(std::string_view text) {
  int sum = 0;
  bool twice = false;
  const auto add = [&](int digit) {
    sum += digit_sum(digit << twice);
    twice = !twice;
  };
  for (size_t at = text.size(); at-- > 0;) {
    const int value = value_of(text[at]);
    add(value % 10);
    if (value > 9) add(value / 10);
  }
  return sum % 10 == 0;
}

bool verhoeff(std::string_view digits) {
  // Multiplication in the dihedral group of order ten, and the powers of Verhoeff's permutation.
  const auto times = [](int a, int b) {
    if (a < 5) return b < 5 ? (a + b) % 5 : 5 + (a + b) % 5;
    return b < 5 ? 5 + (a - b + 5) % 5 : (a - b + 5) % 5;
  };
  static constexpr int permuted[10] = {1, 5, 7, 6, 2, 8, 3, 0, 9, 4};
  int state = 0;
  for (size_t power = 0; power < digits.size(); ++power) {
    int digit = digit_at(digits, digits.size() - 1 - power);
    for (size_t i = 0; i < power % 8; ++i) digit = permuted[digit];
    state = times(state, digit);
  }
  return state == 0;
}

bool iso_11_10(std::string_view digits) {
  int state = 10;
  for (const char c : digits.substr(0, digits.size() - 1)) {
    state = (state + (c - '0')) % 10;
    state = (state == 0 ? 10 : state) * 2 % 11;
  }
  return (state + (digits.back() - '0')) % 10 == 1;
}

int mod_97(std::string_view text) {
  int rest = 0;
  for (const char c : text) rest = (rest * (c <= '9' ? 10 : 100) + value_of(c)) % 97;
  return rest;
}

bool two_mod_11(std::string_view text, std::initializer_list<int> first, std::initializer_list<int> second) {
  // Alphanumeric forms count a character as its code less 48, which for a digit is its value.
  const auto check = [&](std::initializer_list<int> weights) {
    int sum = 0;
    size_t at = 0;
    for (const int weight : weights) sum += weight * (text[at++] - '0');
    return sum % 11 < 2 ? 0 : 11 - sum % 11;
  };
  return check(first) == digit_at(text, first.size()) && check(second) == digit_at(text, second.size());
}

bool is_date(int year, int month, int day) {
  static constexpr int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12 || day < 1) return false;
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return day <= days[month - 1] + (month == 2 && leap ? 1 : 0);
}

bool is_yymmdd(std::string_view six) {
  const int year = number_of(six.substr(0, 2)), month = number_of(six.substr(2, 2)), day = number_of(six.substr(4, 2));
  return is_date(1900 + year, month, day) || is_date(2000 + year, month, day);
}

bool is_ddmmyy(std::string_view six) {
  const int day = number_of(six.substr(0, 2)), month = number_of(six.substr(2, 2)), year = number_of(six.substr(4, 2));
  return is_date(1900 + year, month, day) || is_date(2000 + year, month, day);
}

bool is_yyyymmdd(std::string_view eight) {
  const int year = number_of(eight.substr(0, 4));
  return year >= 1850 && year < 2100 && is_date(year, number_of(eight.substr(4, 2)), number_of(eight.substr(6, 2)));
}

bool one_of(std::string_view word, std::string_view list) {
  for (size_t at = 0; at + word.size() <= list.size(); at += word.size()) {
    if (list.substr(at, word.size()) == word) return true;
  }
  return false;
}

}  // namespace numbers
