// keccak: Keccak-256 as Ethereum uses it, with the padding from before SHA-3; OpenSSL has only the later one.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace numbers {

std::array<uint8_t, 32> keccak_256(std::string_view message);  // of at most 135 bytes: one block

}  // namespace numbers
