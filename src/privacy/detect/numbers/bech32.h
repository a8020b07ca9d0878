// bech32: addresses of segregated witness, by BIP 173 (version 0) and BIP 350 (later versions).
#pragma once
#include <string_view>

namespace numbers {

// "bc1q…": a known chain's name, one case throughout, and the checksum of its version.
bool is_segwit_address(std::string_view text);

}  // namespace numbers
