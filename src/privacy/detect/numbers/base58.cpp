// base58: long division by hand; texts are at most 120 characters.
#include "privacy/detect/numbers/base58.h"

#include <openssl/sha.h>
#include <algorithm>

namespace numbers {
namespace {

constexpr std::array<int8_t, 256> values = [] {
  std::array<int8_t, 256> out;
  out.fill(-1);
  constexpr std::string_view alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  for (size_t i = 0; i < alphabet.size(); ++i) out[static_cast<uint8_t>(alphabet[i])] = static_cast<int8_t>(i);
  return out;
}();

}  // namespace

std::optional<Base58> from_base58(std::string_view text) {
  Base58 out;
  for (const char c : text) {  // little end first
    int carry = values[static_cast<uint8_t>(c)];
    if (carry < 0) return std::nullopt;
    for (size_t i = 0; i < out.size; ++i) {
      carry += out.bytes[i] * 58;
      out.bytes[i] = static_cast<uint8_t>(carry);
      carry >>= 8;
    }
    if (carry == 0) continue;
    if (out.size == out.bytes.size()) return std::nullopt;
    out.bytes[out.size++] = static_cast<uint8_t>(carry);
  }
  for (const char c : text) {  // a leading 1 is a byte of zero
    if (c != '1') break;
    if (out.size == out.bytes.size()) return std::nullopt;
    out.bytes[out.size++] = 0;
  }
  std::reverse(out.bytes.begin(), out.bytes.begin() + static_cast<std::ptrdiff_t>(out.size));
  return out;
}

std::optional<Base58> from_base58_checked(std::string_view text) {
  std::optional<Base58> out = from_base58(text);
  if (!out || out->size < 5) return std::nullopt;
  out->size -= 4;
  uint8_t once[SHA256_DIGEST_LENGTH], twice[SHA256_DIGEST_LENGTH];
  SHA256(out->bytes.data(), out->size, once);
  SHA256(once, sizeof once, twice);
  if (!std::equal(twice, twice + 4, out->bytes.begin() + static_cast<std::ptrdiff_t>(out->size))) return std::nullopt;
  return out;
}

}  // namespace numbers
