// names: which names are words.
#include "wire/names.h"

#include <algorithm>

std::string shown_name(std::string_view name) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  const bool is_word = !name.empty() && name.size() <= 64 && (name[0] < '0' || name[0] > '9') && std::all_of(name.begin(), name.end(), is_plain);
  return is_word ? std::string(name) : "*";
}
