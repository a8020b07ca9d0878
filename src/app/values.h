// values: turning a word of the command line into a number, a list or a choice; false when it is not what is expected.
#pragma once
#include <charconv>
#include <chrono>
#include <string_view>
#include <vector>
#include "core/core.h"

template <class T>
bool parse_number(std::string_view text, T low, T high, T& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high)) return false;
  out = value;
  return true;
}

// "512" or "128,512,2048"; blanks separate too. At least one entry.
template <class T>
bool parse_list(std::string_view text, T low, T high, std::vector<T>& out) {
  std::vector<T> values;
  size_t at = 0;
  while (at < text.size()) {
    const size_t begin = text.find_first_not_of(", \t\r\n", at);
    if (begin == std::string_view::npos) break;
    const size_t end = std::min(text.find_first_of(", \t\r\n", begin), text.size());
    T value{};
    if (!parse_number(text.substr(begin, end - begin), low, high, value)) return false;
    values.push_back(value);
    at = end;
  }
  if (values.empty()) return false;
  out = std::move(values);
  return true;
}

// "300", "90s", "5m", "1h30m", "-1" (for ever: any negative one); a bare number counts seconds.
bool parse_duration(std::string_view text, std::chrono::seconds& out);
// "1048576", "512K", "32M", "1.5GiB"; powers of 1024.
bool parse_bytes(std::string_view text, size_t& out);
