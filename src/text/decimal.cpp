// decimal: reading, ordering and dividing decimal numbers as strings of digits.
#include "text/decimal.h"

#include <algorithm>
#include <charconv>

static constexpr uint64_t kMostScaled = uint64_t{1} << 60;

static void strip(Decimal& number) {
  number.whole.erase(0, std::min(number.whole.find_first_not_of('0'), number.whole.size()));
  number.fraction.erase(number.fraction.find_last_not_of('0') + 1);
  if (number.is_zero()) number.negative = false;
}

Decimal Decimal::of(std::string_view spelling) {
  Decimal out;
  out.negative = spelling.starts_with('-');
  if (out.negative) spelling.remove_prefix(1);
  const size_t mark = std::min(spelling.find_first_of("eE"), spelling.size());
  const std::string_view digits = spelling.substr(0, mark);
  int exponent = 0;
  if (mark < spelling.size()) {
    std::string_view power = spelling.substr(mark + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    std::from_chars(power.data(), power.data() + power.size(), exponent);
    exponent = std::clamp(exponent, -999, 999);
  }
  const size_t point = std::min(digits.find('.'), digits.size());
  out.whole = digits.substr(0, point);
  if (point < digits.size()) out.fraction = digits.substr(point + 1);
  for (; exponent > 0; --exponent) {
    out.whole += out.fraction.empty() ? '0' : out.fraction.front();
    if (!out.fraction.empty()) out.fraction.erase(0, 1);
  }
  if (exponent < 0) {
    const auto shift = static_cast<size_t>(-exponent);
    if (out.whole.size() < shift) out.whole.insert(0, shift - out.whole.size(), '0');
    out.fraction.insert(0, out.whole, out.whole.size() - shift);
    out.whole.resize(out.whole.size() - shift);
  }
  strip(out);
  return out;
}

Decimal Decimal::of(JsonView number) {
  if (int64_t integer = 0; number.is_int64() && number.get(integer) == simdjson::SUCCESS) return of(std::to_string(integer));
  if (uint64_t integer = 0; number.is_uint64() && number.get(integer) == simdjson::SUCCESS) return of(std::to_string(integer));
  double value = 0;
  if (number.get(value) != simdjson::SUCCESS) return {};
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return of(std::string_view(text.data(), static_cast<size_t>(end - text.data())));
}

std::string Decimal::spelling() const {
  return (negative ? "-" : "") + (whole.empty() ? "0" : whole) + (fraction.empty() ? "" : "." + fraction);
}

static std::strong_ordering compare_magnitudes(const Decimal& a, const Decimal& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() <=> b.whole.size();
  if (const int order = a.whole.compare(b.whole); order != 0) return order <=> 0;
  return a.fraction.compare(b.fraction) <=> 0;
}

std::strong_ordering operator<=>(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? std::strong_ordering::less : std::strong_ordering::greater;
  return a.negative ? compare_magnitudes(b, a) : compare_magnitudes(a, b);
}

bool operator==(const Decimal& a, const Decimal& b) { return (a <=> b) == 0; }

uint64_t scaled_remainder(const Decimal& number, size_t digits, uint64_t m) {
  std::string all = number.whole + number.fraction.substr(0, digits);
  if (number.fraction.size() < digits) all.append(digits - number.fraction.size(), '0');
  uint64_t remainder = 0;
  for (const char digit : all) remainder = (remainder * 10 + static_cast<uint64_t>(digit - '0')) % m;
  return remainder;
}

std::optional<uint64_t> scaled(const Decimal& number, size_t digits) {
  if (number.fraction.size() > digits) return std::nullopt;
  std::string all = number.whole + number.fraction;
  if (!number.is_zero()) all.append(digits - number.fraction.size(), '0');
  uint64_t value = 0;
  for (const char digit : all) {
    value = value * 10 + static_cast<uint64_t>(digit - '0');
    if (value >= kMostScaled) return std::nullopt;
  }
  return value;
}

std::optional<bool> is_multiple(const Decimal& number, const Decimal& step) {
  const size_t digits = step.fraction.size();
  const auto m = scaled(step, digits);
  if (!m || *m == 0) return std::nullopt;
  return number.fraction.size() <= digits && scaled_remainder(number, digits, *m) == 0;
}
