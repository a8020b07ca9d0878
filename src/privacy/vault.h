// vault: placeholder <-> original for one conversation, in memory that is locked, left out of dumps and wiped.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"
#include "privacy/scan.h"

// A string in the vault's locked memory.
class Secret;

inline constexpr size_t max_placeholder = 24;        // longest one, in bytes: TYPE_ and the code
std::string_view placeholder_type(PrivacyClass cls); // PERSON, EMAIL, PHONE, ADDRESS, CARD, IBAN, ID, SECRET, IP, DATE, TERM, DATA
// TYPE_ and 6 to 8 Crockford digits of which the last checks. Says where one starts and ends, not whether it was issued.
struct PlaceholderSpan { size_t begin, end; };
std::vector<PlaceholderSpan> find_placeholders(std::string_view text);
bool well_formed_placeholder(std::string_view text); // with a valid check character; any case

// Safe from many threads. Same class and normalised value, same placeholder, as long as the conversation lives.
class Vault {
 public:
  static Result<std::shared_ptr<Vault>> make(std::string_view key32);  // 32 random bytes: HMAC key of the conversation; fails when memory cannot be locked
  ~Vault();
  std::string placeholder(PrivacyClass cls, std::string_view value);   // issues one, or gives the one it has
  std::optional<std::string> issued(PrivacyClass cls, std::string_view value) const;
  // Spans of `text` that equal a value seen before in this conversation, whatever their case, spaces or separators; also parts of a person's name.
  std::vector<Finding> recurrences(std::string_view text) const;
  std::string seal(std::string_view key32) const;                      // AES-256-GCM, for the disk
  static Result<std::shared_ptr<Vault>> unseal(std::string_view sealed, std::string_view key32);
  size_t size() const;

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
  // this API key; else a new one. The digests given are remembered.
  Result<Conversation> find(std::string_view api_key, std::string_view client_id, const std::vector<std::string>& message_digests);
  Status keep(const Conversation& conversation);                       // writes what is new to the disk; nothing without a folder
  void expire();                                                       // forgets what is older than its lifetime

 private:
  struct Parts;
  explicit VaultBook(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};
