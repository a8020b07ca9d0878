// policy: the rules of the house, and the pure function that decides by them.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"
#include "privacy/scan.h"

enum class Action : uint8_t { allow, mask, ask, local, refuse };  // by strictness
std::string_view name_of(Action action);
std::optional<Action> action_named(std::string_view name);

enum class Trust : uint8_t { cloud, priv };          // priv: "private": only `refuse` applies
enum class Wire : uint8_t { openai, anthropic };     // what the upstream speaks
struct UpstreamOptions {
  std::string name, base_url;
  std::string api_key_env, api_key_file;             // a variable's name, or a file of mode 0600; both "": no key
  std::vector<std::string> models;                   // the first is what `auto` uses
  Trust trust = Trust::cloud;
  Wire wire = Wire::openai;
  int timeout_s = 60, retries = 2;
};

struct ClassRule { std::optional<Action> action; float min_score = 0.5f; };  // no action: the default of the class, or the term's
struct RuleWhen {
  std::vector<std::vector<PrivacyClass>> classes;    // every entry must be found: a class, or any of a group
  std::string destination, role, model, key;         // "" any; * stands for any run of characters
  std::optional<Trust> destination_trust;            // "cloud" or "private" where no upstream is named so
  int count = 1;                                     // findings of `classes` (of any class when none is named) at least; 0: none is needed
  std::optional<float> min_score;                    // without one, findings that reach the min_score of their class count
};
struct PolicyRule { RuleWhen when; Action action = Action::local; std::string reason; };
struct PolicyTerm { Term term; Action action = Action::refuse; };
enum class Scope : uint8_t { once, session, as_is };  // what a consent may allow: mask_once, mask_session, send_once

struct Policy {
  std::string id = "default";
  std::string sha256;                                // of its canonical text: 64 hexadecimal digits
  bool cloud_by_default = false;                     // default_route
  Action ask_fallback = Action::local;               // local or refuse
  enum class Disclose : uint8_t { headers, body, none } disclose = Disclose::headers;
  std::array<ClassRule, n_privacy_classes> classes{};
  std::vector<PolicyRule> rules;
  std::vector<PolicyTerm> terms;
  ScanLimits limits;
  std::string tiers = "abc";
  std::string model;                                 // of the model tier, as the file names it; "": rules alone
  std::string vault_dir;                             // "": placeholders live in memory
  int conversation_ttl_s = 86400;
  struct Restore { bool text = true; std::vector<std::string> tools = {"*"}; bool urls_allowlist = false; std::vector<std::string> url_hosts; bool system_note = true; } restore;
  struct Consent { bool enabled = true; int ttl_s = 300; std::map<PrivacyClass, std::vector<Scope>> scopes; } consent;
  // auto among allowed requests: to the cloud when default_route says so, or when one of these is reached (0: never)
  struct Auto { int cloud_above_tokens = 0; bool cloud_with_tools = false; } automatic;
  std::string label() const { return id + "@" + sha256.substr(0, 12); }
};
Action default_action(PrivacyClass cls, bool internal);   // privacy-interface.md 1
// SHA-256 of the policy and of where its requests may go, as canonical JSON: two that decide alike are named alike.
std::string policy_sha256(const Policy& policy, const std::vector<UpstreamOptions>& upstreams);

struct AuditOptions { std::string path, key_file; bool fsync_lines = true; int checkpoint_lines = 100; size_t rotate_bytes = 0; int retention_days = 180; };
struct ModelTier { std::string path, where; };         // of a token classifier, "": none; "FILE:LINE: KEY"
struct GateConfig { std::vector<UpstreamOptions> upstreams; Policy policy; ModelTier model; AuditOptions audit; std::vector<std::string> notes; };  // notes: "FILE:LINE: KEY: …" of what has no effect

// Reads [upstream.*], [privacy] and [audit] of a configuration file; other sections are not its business. Relative paths count from the file's
// folder. Errors are "FILE:LINE: KEY: message".
Result<GateConfig> read_gate_config(const std::string& path);
Result<GateConfig> parse_gate_config(const std::string& path, std::string_view toml);

// An entry of terms_hmac, "LENGTH:HEX", for a term as it is folded.
std::string keyed_term(std::string_view key, std::string_view term);

// ---- the decision ----
struct FieldFinding {
  Finding finding;
  std::string field, role;                           // "messages[0].content", "user"
  size_t place = 0;                                  // of a text: its index in Walk::fields(); of something opaque: no matter
};
struct Situation {
  std::span<const FieldFinding> findings;
  const UpstreamOptions* destination = nullptr;      // where it would go
  std::string model, key;                            // "cloud/big-1"; id of the API key
  std::optional<Action> stricter;                    // X-Calla-Privacy
};
struct AppliedRule { std::string rule; Action action; std::string reason; };  // "classes.card", "rule[2]", "term.nordstar", "request"
struct Decision {
  Action action = Action::allow;                     // the strictest
  std::vector<Action> of_finding;                    // beside Situation::findings; below its class's min_score: allow
  std::vector<AppliedRule> rules;                    // what led to it, strictest first
};
Decision decide(const Policy& policy, const Situation& situation);  // pure
