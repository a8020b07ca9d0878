// canonical: a JSON text written anew with sorted keys, and hashed.
#include "wire/canonical.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/sha.h>
#include <array>
#include "core/json_writer.h"

std::string canonical_sha256(std::string_view text) {
  const nlohmann::json sorted = nlohmann::json::parse(text, nullptr, false);
  if (sorted.is_discarded()) return "";
  const std::string spelled = sorted.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(spelled.data()), spelled.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}
