// digest: SHA-256 and its keyed form, as hexadecimal digits, for everything that is named by what it holds.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

std::string to_hex(std::string_view bytes);
std::optional<std::string> from_hex(std::string_view digits);  // lower case only
std::string sha256_hex(std::string_view bytes);
std::string sha256_hex(std::string_view first, std::string_view second);  // of both, one behind the other
std::array<unsigned char, 32> hmac_sha256(std::string_view key, std::string_view bytes);
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);
std::string random_hex(size_t bytes);  // from OpenSSL's generator
