// gate_words: labels, statuses, and digests of what a consent is for.
#include "privacy/gate_words.h"

#include <algorithm>
#include <ctime>
#include <set>
#include "privacy/conversation.h"
#include "privacy/digest.h"
#include "privacy/gate_inspect.h"

namespace {

std::string iso_time(int64_t unix_s) {
  const std::time_t time = static_cast<std::time_t>(unix_s);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

std::string requested_label(const GateTarget& target) {
  switch (target.kind) {
    case GateTarget::Kind::unknown: return "other";
    case GateTarget::Kind::local: return target.local_label();
    case GateTarget::Kind::cloud: return target.cloud_label();
    case GateTarget::Kind::automatic: return "auto";
  }
  return "other";
}

int status_of(Code code) {
  switch (code) {
    case Code::invalid_request:
    case Code::too_large:
    case Code::unsupported: return 400;
    case Code::denied: return 403;
    case Code::not_found: return 404;
    case Code::overloaded: return 429;
    case Code::cancelled: return 499;
    default: return 500;
  }
}

std::vector<Action> masking_what_was_asked(std::vector<Action> actions) {
  std::replace(actions.begin(), actions.end(), Action::ask, Action::mask);
  return actions;
}

std::vector<FieldFinding> asked_about(std::span<const FieldFinding> findings, std::span<const Action> actions) {
  std::vector<FieldFinding> out;
  for (size_t i = 0; i < findings.size(); ++i) {
    if (actions[i] == Action::ask) out.push_back(findings[i]);
  }
  return out.empty() ? std::vector<FieldFinding>(findings.begin(), findings.end()) : out;
}

std::vector<PrivacyClass> classes_in(std::span<const FieldFinding> findings) {
  std::set<PrivacyClass> classes;
  for (const FieldFinding& found : findings) classes.insert(found.finding.cls);
  return {classes.begin(), classes.end()};
}

ConsentSubject subject_of(const Policy& policy, std::span<const ChatRequest> requests, std::span<const FieldFinding> findings, const GateTarget& target) {
  std::string content = requests.front().gate.body_sha256;
  for (const ChatRequest& request : requests) content += content_digest(request);
  Json found = Json::array();
  for (const FieldFinding& one : findings) {
    if (one.finding.detector == recurrence_detector) continue;  // what was shown for consent is known from then on
    found.push_back({name_of(one.finding.cls), one.finding.kind, one.finding.detector, one.field, one.place, one.finding.begin, one.finding.end});
  }
  return {sha256_hex(content), sha256_hex(text_of(found)), target.cloud_label(), policy.sha256, requests.front().gate.key};
}

Json consent_member(const ConsentOffer& offer, const GateTarget& target, const std::vector<Masked>& masked) {
  Json preview = Json::array(), choices = Json::array();
  for (const Masked& one : masked) {
    if (one.clean.prompt()) preview.push_back({{"role", "user"}, {"content", *one.clean.prompt()}});
    if (!one.clean.messages().is_array()) continue;
    for (const Json& message : one.clean.messages()) preview.push_back(message);
  }
  for (const Choice choice : offer.choices) choices.push_back(name_of(choice));
  return {{"id", offer.id}, {"expires", iso_time(offer.expires_unix_s)}, {"destination", target.upstream->options().name}, {"model", target.cloud_label()}, {"choices", choices}, {"preview", preview}};
}

Json fields_with(std::span<const FieldFinding> findings, std::span<const Action> actions) {
  Json out = Json::array();
  std::set<std::string> seen;
  for (size_t i = 0; i < std::min(findings.size(), actions.size()); ++i) {
    if (actions[i] != Action::allow && seen.insert(findings[i].field).second) out.push_back(findings[i].field);
  }
  return out;
}
