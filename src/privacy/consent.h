// consent: what a person allowed once, and proof that it was this request they saw.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "core/core.h"
#include "privacy/policy.h"

enum class Choice : uint8_t { mask_once, mask_session, send_once, local, cancel };
std::string_view name_of(Choice choice);
std::optional<Choice> choice_named(std::string_view name);

// What a consent is for; any difference makes it void.
struct ConsentSubject { std::string request_sha256, findings_sha256, destination, policy_sha256, key; };
struct ConsentOffer { std::string id; int64_t expires_unix_s = 0; std::vector<Choice> choices; };
// What the policy permits for these findings; class secret: local and cancel alone.
std::vector<Choice> permitted_choices(const Policy& policy, const std::vector<FieldFinding>& findings);

// SQLite: in memory, or in the vault's folder. Safe from many threads.
class ConsentBook {
 public:
  static Result<std::unique_ptr<ConsentBook>> open(const std::string& folder);
  ~ConsentBook();
  Result<ConsentOffer> offer(const ConsentSubject& subject, std::vector<Choice> choices, int ttl_s);
  // Uses the id up. Denied when it is unknown, used, expired, for something else, or the choice was not offered.
  Status take(std::string_view id, Choice choice, const ConsentSubject& subject);
  // "mask_session": further requests of a conversation with no other classes than these are masked without asking.
  void allow_session(const std::string& conversation, const std::string& key, const std::vector<PrivacyClass>& classes, int ttl_s);
  bool session_allows(const std::string& conversation, const std::string& key, const std::vector<PrivacyClass>& classes) const;
  struct Entry { std::string id, destination, state; int64_t expires_unix_s; };  // state: open, used, expired, revoked
  std::vector<Entry> entries() const;
  Status revoke(std::string_view id);

 private:
  struct Parts;
  explicit ConsentBook(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};
// "ID; decision=mask_once", or "none".
struct ConsentHeader { bool none = false; std::string id; Choice choice = Choice::local; };
Result<ConsentHeader> read_consent_header(std::string_view text);
