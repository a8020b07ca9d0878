// bech32: a BCH code over 32 letters and digits.
#include "privacy/detect/numbers/bech32.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace numbers {
namespace {

uint32_t step(uint32_t sum, uint32_t value) {
  static constexpr uint32_t generator[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3};
  const uint32_t top = sum >> 25;
  sum = (sum & 0x1ffffff) << 5 ^ value;
  for (size_t i = 0; i < 5; ++i) {
    if (top >> i & 1) sum ^= generator[i];
  }
  return sum;
}

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

}  // namespace

bool is_segwit_address(std::string_view text) {
  constexpr std::string_view alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
  constexpr std::array<std::string_view, 4> chains = {"bc", "tb", "ltc", "bcrt"};
  const bool upper = std::ranges::any_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
  const bool lower = std::ranges::any_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
  const size_t one = text.rfind('1');
  if ((upper && lower) || text.size() > 90 || one == std::string_view::npos || one + 8 > text.size()) return false;
  char name[8];
  if (one > sizeof name) return false;
  std::ranges::transform(text.substr(0, one), name, lowered);
  if (std::ranges::find(chains, std::string_view(name, one)) == chains.end()) return false;
  uint32_t sum = 1;
  for (size_t i = 0; i < one; ++i) sum = step(sum, static_cast<uint32_t>(name[i]) >> 5);
  sum = step(sum, 0);
  for (size_t i = 0; i < one; ++i) sum = step(sum, static_cast<uint32_t>(name[i]) & 31);
  const size_t version = alphabet.find(lowered(text[one + 1]));
  for (const char c : text.substr(one + 1)) {
    const size_t value = alphabet.find(lowered(c));
    if (value == std::string_view::npos) return false;
    sum = step(sum, static_cast<uint32_t>(value));
  }
  return version == 0 ? sum == 1 : version <= 16 && sum == 0x2bc830a3;
}

}  // namespace numbers
