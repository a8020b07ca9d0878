// audit_key: the Ed25519 key that signs checkpoints: made once, kept with mode 0600, its public half in a file beside it.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include "core/core.h"

struct evp_pkey_st;

class AuditKey {
 public:
  // Reads the private key, or makes it where neither it nor its public half is there.
  static Result<AuditKey> open(const std::string& path);
  // The public half alone: a PEM file, or 64 hexadecimal digits.
  static Result<AuditKey> open_public(const std::string& path_or_hex);
  static std::string public_path(const std::string& key_path);  // audit.key -> audit.pub

  Result<std::string> sign(std::string_view text) const;        // 128 hexadecimal digits
  bool verifies(std::string_view text, std::string_view signature) const;
  const std::string& id() const { return id_; }                 // first 16 hexadecimal digits of the SHA-256 of the public key

 private:
  using Key = std::shared_ptr<evp_pkey_st>;
  explicit AuditKey(Key key);
  Key key_;
  std::string id_;
};
