// digest: SHA-256 and HMAC from OpenSSL.
#include "privacy/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <array>
#include <memory>
#include "core/core.h"

namespace {

using Sum = std::array<unsigned char, 32>;

std::string to_hex(const Sum& sum) { return ::to_hex({reinterpret_cast<const char*>(sum.data()), sum.size()}); }

}  // namespace

std::string to_hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) out += digits[static_cast<unsigned char>(c) >> 4], out += digits[static_cast<unsigned char>(c) & 15];
  return out;
}

std::optional<std::string> from_hex(std::string_view digits) {
  const auto value = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int high = value(digits[i]), low = value(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::string sha256_hex(std::string_view bytes) {
  Sum sum{};
  CHECK(EVP_Digest(bytes.data(), bytes.size(), sum.data(), nullptr, EVP_sha256(), nullptr) == 1);  // fails only when memory has run out
  return to_hex(sum);
}

std::string sha256_hex(std::string_view first, std::string_view second) {
  thread_local const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  Sum sum{};
  CHECK(context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1 && EVP_DigestUpdate(context.get(), first.data(), first.size()) == 1 &&
        EVP_DigestUpdate(context.get(), second.data(), second.size()) == 1 && EVP_DigestFinal_ex(context.get(), sum.data(), nullptr) == 1);
  return to_hex(sum);
}

std::array<unsigned char, 32> hmac_sha256(std::string_view key, std::string_view bytes) {
  Sum sum{};
  unsigned size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data, bytes.size(), sum.data(), &size) != nullptr);
  return sum;
}
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes) { return to_hex(hmac_sha256(key, bytes)); }

std::string random_hex(size_t bytes) {
  std::string raw(bytes, '\0');
  CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(raw.data()), static_cast<int>(bytes)) == 1);  // a system without randomness keeps no secrets
  return to_hex(raw);
}
