// gate_case: looking at every prompt of a request, one decision over all of them, and masking.
#include "privacy/gate_case.h"

#include <algorithm>
#include <map>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include "privacy/conversation.h"
#include "privacy/upstream_body.h"

namespace {

bool same_text(const ChatRequest& a, const ChatRequest& b) {
  return a.messages_json == b.messages_json && a.prompt == b.prompt && a.suffix == b.suffix && a.prompt_ids == b.prompt_ids && a.tools_json == b.tools_json;
}

std::vector<std::vector<size_t>> grouped(std::span<const ChatRequest> requests) {
  std::vector<std::vector<size_t>> out;
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const auto& group) { return same_text(requests[group.front()], requests[i]); });
    if (same == out.end()) out.push_back({i});
    else same->push_back(i);
  }
  return out;
}

Result<std::shared_ptr<Vault>> vault_of_its_own() {
  std::string key(32, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(key.data()), static_cast<int>(key.size())) != 1) return Error{Code::internal, "cannot make a key: no randomness"};
  auto vault = Vault::make(key);
  OPENSSL_cleanse(key.data(), key.size());
  return vault;
}

Result<VaultBook::Conversation> conversation_of(GateParts& parts, std::span<const ChatRequest> requests) {
  const ChatRequest& first = requests.front();
  if (parts.vaults) return parts.vaults->find(first.gate.key, first.gate.conversation, message_digests(first));
  TRY(std::shared_ptr<Vault> vault, vault_of_its_own());
  return VaultBook::Conversation{"", std::move(vault)};
}

// "messages[0].content: …" names the field in front; anything else is nobody's field.
std::string field_of(const Error& error) {
  const size_t end = error.message.find(": ");
  return end == std::string::npos ? "messages" : error.message.substr(0, end);
}

std::vector<std::pair<std::string, int>> listed(const std::map<PrivacyClass, int>& counts) {
  std::vector<std::pair<std::string, int>> out;
  for (const auto& [cls, count] : counts) {
    if (count > 0) out.emplace_back(name_of(cls), count);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Result<GateCase> look(GateParts& parts, std::span<const ChatRequest> requests, const GateTarget& target, std::optional<Action> stricter) {
  GateCase out;
  TRY(out.conversation, conversation_of(parts, requests));
  for (std::vector<size_t>& choices : grouped(requests)) {
    auto seen = inspect(requests[choices.front()], *parts.scanner, out.conversation.vault.get(), parts.policy);
    if (!seen) return out.unknown_shape = field_of(seen.error()), std::move(out);
    out.scan_us += seen->us;
    const size_t begin = out.findings.size();
    std::move(seen->findings.begin(), seen->findings.end(), std::back_inserter(out.findings));
    out.groups.push_back({std::move(choices), std::move(seen->walk), begin, out.findings.size()});
  }
  Situation situation;
  situation.findings = out.findings;
  situation.destination = target.upstream ? &target.upstream->options() : nullptr;
  situation.model = target.cloud_label();
  situation.key = requests.front().gate.key;
  situation.stricter = stricter;
  out.decision = decide(parts.policy, situation);
  return out;
}

std::optional<std::string> cannot_leave(const GateCase& seen, std::span<const ChatRequest> requests, std::span<const Action> actions, const GateTarget& target) {
  if (seen.unknown_shape) return seen.unknown_shape;
  if (!requests.front().gate.unknown_fields.empty()) return requests.front().gate.unknown_fields.front();
  for (const GateGroup& group : seen.groups) {
    const ChatRequest& request = requests[group.choices.front()];
    if (auto field = cannot_be_sent(request, target.upstream->options().wire, static_cast<int>(group.choices.size()))) return field;
    for (size_t i = group.begin; i < group.end; ++i) {  // what cannot be read is never sent, whatever the policy allows
      const auto& opaque = group.walk.opaque();
      if (actions[i] == Action::allow && std::find(opaque.begin(), opaque.end(), seen.findings[i].field) != opaque.end()) return seen.findings[i].field;
    }
  }
  return std::nullopt;
}

Result<std::vector<Masked>> mask_all(GateParts& parts, GateCase& seen, std::span<const ChatRequest> requests, std::span<const Action> actions, const GateTarget& target) {
  std::shared_ptr<Vault> vault = seen.conversation.vault;
  if (target.upstream->options().trust == Trust::priv) {  // nothing is masked for it, not even what was masked for others
    TRY(vault, vault_of_its_own());
  }
  Masker masker(*vault, parts.policy);
  std::vector<Masked> out;
  for (GateGroup& group : seen.groups) {
    std::vector<FieldFinding> findings(seen.findings.begin() + static_cast<ptrdiff_t>(group.begin), seen.findings.begin() + static_cast<ptrdiff_t>(group.end));
    std::vector<Action> decided(actions.begin() + static_cast<ptrdiff_t>(group.begin), actions.begin() + static_cast<ptrdiff_t>(group.end));
    for (const size_t i : seen.as_is) {
      if (i < group.begin || i >= group.end) continue;
      findings.push_back(seen.findings[i]);
      findings.back().finding.detector = recurrence_detector;
      decided.push_back(Action::allow);
    }
    TRY(Masked masked, masker.mask(requests[group.choices.front()], std::move(group.walk), findings, decided, static_cast<int>(group.choices.size())));
    out.push_back(std::move(masked));
  }
  return out;
}

std::vector<std::pair<std::string, int>> classes_of(std::span<const FieldFinding> findings, std::span<const Action> actions) {
  std::map<PrivacyClass, int> counts;
  for (size_t i = 0; i < std::min(findings.size(), actions.size()); ++i) {
    if (actions[i] != Action::allow) counts[findings[i].finding.cls] += 1;
  }
  return listed(counts);
}

std::vector<std::pair<std::string, int>> classes_of(const std::vector<Masked>& masked) {
  std::map<PrivacyClass, int> counts;
  for (const Masked& one : masked) {
    for (const auto& [cls, count] : one.counts) counts[cls] += count;
  }
  return listed(counts);
}

std::vector<std::string> dropped_of(const std::vector<Masked>& masked, const ChatRequest& request, Wire wire) {
  std::vector<std::string> out = left_out(request, wire);
  for (const Masked& one : masked) {
    for (const std::string& field : one.dropped) {
      if (std::find(out.begin(), out.end(), field) == out.end()) out.push_back(field);
    }
  }
  return out;
}
