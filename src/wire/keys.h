// keys: API keys, kept only as SHA-256 digests.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"
#include "wire/http.h"

class ApiKeys {
 public:
  // Each text is a key, or sha256:HEX of one. Plain keys are wiped from `texts`.
  static Result<ApiKeys> read(std::vector<std::string>& texts);
  bool empty() const { return digests_.empty(); }
  // The short id of the key that the request shows (Authorization: Bearer, x-api-key or api-key), the first 8 hexadecimal digits of its
  // digest; nullopt when it shows none that is known. Takes the same time whichever key fits.
  std::optional<std::string> find(const HttpRequest& request) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  static Digest hash(std::string_view key);
  std::optional<std::string> find(std::string_view key) const;
  std::vector<Digest> digests_;
};
