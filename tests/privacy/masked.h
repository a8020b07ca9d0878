// masked: requests and their masks for tests: every occurrence of given values is a finding.
#pragma once
#include <gtest/gtest.h>
#include "privacy/clean.h"
#include "privacy/restore.h"

struct Sensitive { std::string text; PrivacyClass cls; };

inline std::shared_ptr<Vault> new_vault(char seed = 'k') {
  auto vault = Vault::make(std::string(32, seed));
  if (!vault) ADD_FAILURE() << vault.error().message;
  return *vault;
}

inline std::vector<FieldFinding> findings_in(const Walk& walk, const std::vector<Sensitive>& values) {
  std::vector<FieldFinding> out;
  for (size_t place = 0; place < walk.fields().size(); ++place) {
    const TextField& field = walk.fields()[place];
    for (const auto& [value, cls] : values) {
      for (size_t at = field.text->find(value); at != std::string::npos; at = field.text->find(value, at + value.size())) {
        Finding finding;
        finding.cls = cls;
        finding.begin = at;
        finding.end = at + value.size();
        finding.score = 1;
        out.push_back({finding, field.path, field.role, place});
      }
    }
  }
  return out;
}

inline Result<Masked> try_mask(Vault& vault, const ChatRequest& request, const std::vector<Sensitive>& values, const Policy& policy = {}) {
  TRY(Walk walk, Walk::of(request));
  const std::vector<FieldFinding> findings = findings_in(walk, values);
  const std::vector<Action> actions(findings.size(), Action::mask);
  return Masker(vault, policy).mask(request, std::move(walk), findings, actions, 1);
}

inline Masked mask(Vault& vault, const ChatRequest& request, const std::vector<Sensitive>& values, const Policy& policy = {}) {
  auto masked = try_mask(vault, request, values, policy);
  if (!masked) ADD_FAILURE() << masked.error().message;
  CHECK(masked.has_value());
  return std::move(*masked);
}

inline ChatRequest chat(const Json& messages) {
  ChatRequest request;
  request.messages_json = messages.dump();
  return request;
}
inline ChatRequest says(const std::string& text) { return chat(Json::array({{{"role", "user"}, {"content", text}}})); }
inline std::string content(const Masked& masked, size_t message) { return masked.clean.messages()[message]["content"]; }
// Of a conversation whose first message is not a system text: behind the note.
inline std::string user_text(const Masked& masked) { return masked.clean.messages().back()["content"]; }

inline std::string restored(const Masked& masked, const std::string& text, const Policy::Restore& rules = {}, Restorer::Lane lane = Restorer::Lane::text) {
  RestoreCounts counts;
  return restore_whole(masked.ledger, rules, lane, text, counts);
}
