// clean: a request that may leave. Only the masker makes one, and only a clean request has a body that an upstream can be sent.
#pragma once
#include <map>
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
  void add(std::string_view placeholder, PrivacyClass cls, std::string_view spelling);  // the first spelling stays
  // Exact or in another case; "" data pointer when it was not in this request.
  std::optional<std::string_view> original(std::string_view placeholder) const;
  std::vector<Entry> entries() const;
  size_t size() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// One place of a request that holds text, in the order of the request.
struct TextField {
  std::string path, role;            // "messages[2].tool_calls[0].function.arguments", "assistant"
  enum class Kind : uint8_t { text, json } kind = Kind::text;  // json: a JSON text whose strings and keys are scanned one by one
  std::string* text;                 // inside the walked copy
};

// A request in the words of chat/, taken apart: the copy that is masked, and every text in it. Unknown shapes are refused.
class Walk {
 public:
  static Result<Walk> of(const ChatRequest& request);   // the Error's message names the field in front of ": "
  std::vector<TextField>& fields() { return fields_; }
  Json messages, tools;              // what fields point into
  std::string prompt, suffix, constraint;
  std::vector<std::string> stop;
  std::vector<std::string> opaque;   // paths of what cannot be read: images, audio, files, token ids

 private:
  std::vector<TextField> fields_;
};

class CleanRequest {
 public:
  CleanRequest(CleanRequest&&) = default;
  CleanRequest& operator=(CleanRequest&&) = default;
  const Json& messages() const { return messages_; }
  const Json& tools() const { return tools_; }           // null: none
  const std::optional<std::string>& prompt() const { return prompt_; }
  const std::optional<std::string>& suffix() const { return suffix_; }
  const std::vector<std::string>& stop() const { return stop_; }
  const ChatRequest& settings() const { return settings_; }  // numbers and switches alone: every text in it is empty
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
  std::map<PrivacyClass, int> counts;                    // findings replaced, by class
};

// Replaces what the decision masks; `allow` stays. Look-alikes of placeholders typed by the user become placeholders of their own.
class Masker {
 public:
  Masker(Vault& vault, const Policy& policy) : vault_(vault), policy_(policy) {}
  // `actions` beside `findings`. A span grows to the edges of the run of letters or digits it begins or ends in.
  Result<Masked> mask(const ChatRequest& request, Walk walk, std::span<const FieldFinding> findings, std::span<const Action> actions, int n);

 private:
  Vault& vault_;
  const Policy& policy_;
};
