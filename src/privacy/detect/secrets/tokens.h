// tokens: checks of credentials that carry their own.
#pragma once
#include <string>
#include <string_view>

namespace credential {

// The last 6 of 36 characters in base 62 (0-9A-Za-z) are the CRC-32 of the first 30: what GitHub's and npm's tokens end with.
bool crc32_base62_holds(std::string_view body);
std::string crc32_base62(std::string_view random_part);
// Decodes base64 of either alphabet, padded or not; empty where it is none.
std::string decode_base64(std::string_view text);
// The end of the JSON Web Token (or encrypted one, or one without signature) that begins at `begin`, whose header is JSON with "alg"; 0: there is none.
size_t json_web_token_end(std::string_view text, size_t begin, bool& header_read);

}  // namespace credential
