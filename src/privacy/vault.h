// vault: which placeholder a value of a conversation has. It knows values by keyed digests alone: what a placeholder stands for is never in it,
// but in the ledger (clean.h) of the request that holds the value.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"
#include "privacy/placeholder.h"
#include "privacy/scan.h"

// Safe from many threads. Same class and normalised value, same placeholder, as long as the conversation lives. Its key lies in locked memory.
class Vault {
 public:
  static Result<std::shared_ptr<Vault>> make(std::string_view key32);  // 32 random bytes: HMAC key of the conversation; fails when memory cannot be locked
  ~Vault();
  // Issues one, or gives the one it has. A name's part ("Roe" after "Jane Roe") has the name's. `exact`: of these very bytes, not of every
  // spelling of the value.
  std::string placeholder(PrivacyClass cls, std::string_view value, bool exact = false);
  std::optional<std::string> issued(PrivacyClass cls, std::string_view value) const;
  bool has_issued(std::string_view placeholder) const;                 // in any case
  // Spans of `text` that equal a value seen before in this conversation, whatever their case, spaces or separators; also parts of a person's
  // name. By begin; they do not overlap.
  std::vector<Finding> recurrences(std::string_view text) const;
  Result<std::string> seal(std::string_view key32) const;              // AES-256-GCM, for the disk
  static Result<std::shared_ptr<Vault>> unseal(std::string_view sealed, std::string_view key32);
  size_t size() const;
  uint64_t revision() const;         // grows with everything that is learnt

 private:
  struct Parts;
  explicit Vault(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// All conversations. With a folder they outlive the program, sealed with a key that lies there with mode 0600.
class VaultBook {
 public:
  static Result<std::unique_ptr<VaultBook>> open(const std::string& folder, int ttl_s);
  ~VaultBook();
  struct Conversation { std::string id; std::shared_ptr<Vault> vault; };
  // By the client's id when it gave one; else that of the longest prefix of `message_digests` (one SHA-256 a message, keyed) seen before under
  // this API key; else a new one. The digests given are remembered. A system text alone makes no conversation: leave it out, or put it into the
  // digest of the message behind it.
  Result<Conversation> find(std::string_view api_key, std::string_view client_id, const std::vector<std::string>& message_digests);
  Status keep(const Conversation& conversation);                       // writes what is new to the disk; nothing without a folder
  void expire();                                                       // forgets what is older than its lifetime; find does so now and then

 private:
  struct Parts;
  explicit VaultBook(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};
