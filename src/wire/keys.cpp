// keys: hashes and compares API keys with OpenSSL.
#include "wire/keys.h"

#include <charconv>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

ApiKeys::Digest ApiKeys::hash(std::string_view key) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  return digest;
}

Result<ApiKeys> ApiKeys::read(std::vector<std::string>& texts) {
  constexpr std::string_view prefix = "sha256:";
  ApiKeys keys;
  for (std::string& text : texts) {
    if (text.empty()) return Error{Code::invalid_request, "cannot use an API key: it is empty"};
    if (!text.starts_with(prefix)) {
      keys.digests_.push_back(hash(text));
      OPENSSL_cleanse(text.data(), text.size());
      text.clear();
      continue;
    }
    Digest digest;
    const std::string_view digits = std::string_view(text).substr(prefix.size());
    bool good = digits.size() == 2 * digest.size();
    for (size_t i = 0; good && i < digest.size(); ++i) {
      const char* at = digits.data() + 2 * i;
      good = std::from_chars(at, at + 2, digest[i], 16).ptr == at + 2;
    }
    if (!good) return Error{Code::invalid_request, fmt::format("cannot use an API key: 64 hexadecimal digits expected behind sha256:, {} characters seen", digits.size())};
    keys.digests_.push_back(digest);
  }
  return keys;
}

std::optional<std::string> ApiKeys::find(std::string_view key) const {
  const Digest given = hash(key);
  size_t found = digests_.size();
  for (size_t i = 0; i < digests_.size(); ++i) {
    if (CRYPTO_memcmp(given.data(), digests_[i].data(), given.size()) == 0) found = i;
  }
  if (key.empty() || found == digests_.size()) return std::nullopt;
  return fmt::format("{:02x}{:02x}{:02x}{:02x}", given[0], given[1], given[2], given[3]);
}

std::optional<std::string> ApiKeys::find(const HttpRequest& request) const {
  constexpr std::string_view scheme = "bearer ";
  std::string_view bearer = request.header("authorization");
  bearer = lower_case(bearer.substr(0, scheme.size())) == scheme ? bearer.substr(scheme.size()) : std::string_view();
  for (const std::string_view key : {bearer, request.header("x-api-key"), request.header("api-key")}) {
    if (auto id = find(key)) return id;
  }
  return std::nullopt;
}
