// base58: Bitcoin's alphabet without 0, O, I and l, and its form with four bytes of a double SHA-256 at the end.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace numbers {

struct Base58 {
  std::array<uint8_t, 96> bytes;
  size_t size = 0;
};
std::optional<Base58> from_base58(std::string_view text);        // none: another character, or too long
std::optional<Base58> from_base58_checked(std::string_view text);  // without the four bytes; none also when they do not fit

}  // namespace numbers
