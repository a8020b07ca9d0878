// seeds: the word lists of BIP-39 as hashes.
#pragma once
#include <array>
#include <cstdint>
#include <span>

namespace credential {

inline constexpr size_t n_seed_lists = 3;  // English, simplified Chinese, traditional Chinese
extern const std::array<std::array<uint32_t, 2048>, n_seed_lists> seed_words;
// 12, 15, 18, 21 or 24 indexes whose last bits are the first of the SHA-256 of the rest.
bool seed_checksum_holds(std::span<const uint16_t> indexes);

}  // namespace credential
