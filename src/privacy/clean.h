// clean: a request that may leave. Only the masker makes one, and only a clean request has a body that an upstream can be sent.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include "chat/chat.h"
#include "core/json_writer.h"
#include "privacy/policy.h"
#include "privacy/vault.h"

// What may come back: placeholders in this very request, and how the value was first spelled in it. Lives in locked memory.
class Ledger {
 public:
  struct Entry { std::string placeholder; PrivacyClass cls; };
  Ledger();
  ~Ledger();
  Ledger(Ledger&&) noexcept;
  Ledger& operator=(Ledger&&) noexcept;
  Status add(std::string_view placeholder, PrivacyClass cls, std::string_view spelling);  // the first spelling stays; fails when memory cannot be locked
  // Exact or in another case; nullopt when it was not in this request.
  std::optional<std::string_view> original(std::string_view placeholder) const;
  bool begins_one(std::string_view text) const;            // whether `text`, in any case, is a proper prefix of a placeholder in here
  std::vector<Entry> entries() const;
  size_t size() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// One text of a request, in the order of the request. Every string, every key and every longer number of a JSON text is one of its own.
struct TextField {
  std::string path, role;            // "messages[2].tool_calls[0].function.arguments", "assistant"; paths repeat and hold no text of the user
  std::string lead;                  // what stands in front and says what it is: the key of a JSON member, or ""
  enum class Kind : uint8_t { text, name, number } kind = Kind::text;  // name: must come back letter for letter; number: is masked as a whole
  std::string* text;                 // inside the walked copy
};

// A request in the words of chat/, taken apart: the copy that is masked, and every text in it. Unknown shapes are refused.
class Walk {
 public:
  static Result<Walk> of(const ChatRequest& request);   // the Error's message names the field in front of ": "
  Walk(Walk&&) noexcept;
  Walk& operator=(Walk&&) noexcept;
  ~Walk();
  const std::vector<TextField>& fields() const { return fields_; }
  const std::vector<std::string>& opaque() const { return opaque_; }  // paths of what cannot be read: images, audio, files, token ids

  struct Parts;                      // walk_parts.h

 private:
  friend class Masker;
  friend class Walker;
  Walk();
  std::unique_ptr<Parts> parts_;     // what fields point into
  std::vector<TextField> fields_;
  std::vector<std::string> opaque_;
};
// The scanner's report about one field, read with its lead in front; spans count in the field's own text.
ScanReport scan_field(const Scanner& scanner, const TextField& field);

class CleanRequest {
 public:
  CleanRequest(CleanRequest&&) = default;
  CleanRequest& operator=(CleanRequest&&) = default;
  const Json& messages() const { return messages_; }     // null: a raw completion
  const Json& tools() const { return tools_; }           // null: none
  const std::optional<std::string>& prompt() const { return prompt_; }
  const std::optional<std::string>& suffix() const { return suffix_; }
  const std::vector<std::string>& stop() const { return stop_; }
  const ChatRequest& settings() const { return settings_; }  // numbers and switches alone; its only text is the masked name in tool_choice
  const Constraint& constraint() const { return constraint_; }
  int n() const { return n_; }

 private:
  friend class Masker;
  CleanRequest() = default;
  Json messages_, tools_;
  std::optional<std::string> prompt_, suffix_;
  std::vector<std::string> stop_;
  ChatRequest settings_;
  Constraint constraint_;
  int n_ = 1;
};

struct Masked {
  CleanRequest clean;
  Ledger ledger;
  std::map<PrivacyClass, int> counts;                    // spans replaced, by class
  std::vector<std::string> dropped;                      // fields taken away because something was masked: "logprobs"
};

// Replaces what the decision masks; `allow` stays. Values that the vault knows are replaced wherever they recur, found or not. Look-alikes of
// placeholders typed by the user become placeholders of their own.
class Masker {
 public:
  Masker(Vault& vault, const Policy& policy) : vault_(vault), policy_(policy) {}
  // `actions` beside `findings`. A span grows to the edges of the run of letters or digits it begins or ends in. Every path of opaque() needs a
  // finding; one that is masked is withheld. Fails, naming the field, rather than let something pass that is neither allowed nor masked.
  Result<Masked> mask(const ChatRequest& request, Walk walk, std::span<const FieldFinding> findings, std::span<const Action> actions, int n);

 private:
  Status replace(Walk& walk, std::span<const FieldFinding> findings, std::span<const Action> actions, Masked& out);
  Vault& vault_;
  const Policy& policy_;
};
