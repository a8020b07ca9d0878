// values: durations and sizes with units.
#include "app/values.h"

#include <cmath>

namespace {

struct Unit { std::string_view name; double factor; };

// "1h30m": numbers with units, added up; false when anything else is there.
bool parse_sum(std::string_view text, std::span<const Unit> units, bool only_one, double& out) {
  double sum = 0;
  int parts = 0;
  while (!text.empty()) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || !(number >= 0)) return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    const std::string_view name = text.substr(0, text.find_first_of("0123456789."));
    const Unit* unit = nullptr;
    for (const Unit& u : units)
      if (u.name == name) unit = &u;
    if (unit == nullptr || (parts > 0 && (only_one || name.empty()))) return false;
    sum += number * unit->factor;
    text.remove_prefix(name.size());
    parts++;
  }
  out = sum;
  return parts > 0;
}

}  // namespace

bool parse_duration(std::string_view text, std::chrono::seconds& out) {
  constexpr Unit kUnits[] = {{"", 1}, {"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  const bool negative = text.starts_with('-');
  double seconds = 0;
  if (!parse_sum(text.substr(negative), kUnits, false, seconds) || seconds > 1e9) return false;
  out = negative && seconds > 0 ? std::chrono::seconds(-1) : std::chrono::seconds(static_cast<int64_t>(std::ceil(seconds)));
  return true;
}

bool parse_bytes(std::string_view text, size_t& out) {
  constexpr double k = 1024;
  constexpr Unit kUnits[] = {{"", 1}, {"B", 1}, {"K", k}, {"KB", k}, {"KiB", k}, {"M", k * k}, {"MB", k * k}, {"MiB", k * k}, {"G", k * k * k}, {"GB", k * k * k}, {"GiB", k * k * k}, {"T", k * k * k * k}};
  double bytes = 0;
  if (!parse_sum(text, kUnits, true, bytes) || bytes > 1e15) return false;
  out = static_cast<size_t>(bytes);
  return true;
}
