// policy: the words of a policy, what holds where it says nothing, and the hash that names it.
#include "privacy/policy.h"

#include <algorithm>
#include "privacy/audit.h"
#include "privacy/digest.h"
#include "privacy/terms.h"

namespace {

constexpr std::array<std::string_view, 5> action_names = {"allow", "mask", "ask", "local", "refuse"};

Json names_of(const std::vector<PrivacyClass>& classes) {
  Json names = Json::array();
  for (const PrivacyClass cls : classes) names.push_back(name_of(cls));
  return names;
}

Json class_rules(const Policy& policy) {
  Json classes;
  for (size_t i = 0; i < n_privacy_classes; ++i) {
    const auto cls = static_cast<PrivacyClass>(i);
    const ClassRule& rule = policy.classes[i];
    const Action outside = rule.action.value_or(default_action(cls, false)), inside = rule.action.value_or(default_action(cls, true));
    classes[std::string(name_of(cls))] = {{"action", name_of(outside)}, {"internal", name_of(inside)}, {"set", rule.action.has_value()}, {"min_score", rule.min_score}};
  }
  return classes;
}

Json conditions(const RuleWhen& when) {
  Json classes = Json::array();
  for (const auto& entry : when.classes) classes.push_back(names_of(entry));
  Json json = {{"classes", classes}, {"destination", when.destination}, {"role", when.role}, {"model", when.model}, {"key", when.key}, {"count", when.count}};
  if (when.destination_trust) json["trust"] = *when.destination_trust == Trust::priv ? "private" : "cloud";
  if (when.min_score) json["min_score"] = *when.min_score;
  return json;
}

Json rules_of(const Policy& policy) {
  Json rules = Json::array();
  for (const PolicyRule& rule : policy.rules) rules.push_back({{"when", conditions(rule.when)}, {"action", name_of(rule.action)}, {"reason", rule.reason}});
  return rules;
}

Json terms_of(const Policy& policy) {
  Json terms = Json::array();
  for (const PolicyTerm& own : policy.terms) {
    const Term& term = own.term;
    Json json = {{"name", term.name}, {"action", name_of(own.action)}, {"terms", term.terms}, {"terms_hmac", term.terms_hmac}, {"patterns", term.patterns}, {"allowed", term.allowed}};
    if (!term.hmac_key.empty()) json["key"] = hmac_sha256_hex(term.hmac_key, "calla policy");
    terms.push_back(std::move(json));
  }
  return terms;
}

Json scopes_of(const Policy::Consent& consent) {
  static constexpr std::array<std::string_view, 3> names = {"once", "session", "as_is"};
  Json scopes = Json::object();
  for (const auto& [cls, allowed] : consent.scopes) {
    Json& words = scopes[std::string(name_of(cls))] = Json::array();
    for (const Scope scope : allowed) words.push_back(names[static_cast<size_t>(scope)]);
  }
  return scopes;
}

Json destinations(const std::vector<UpstreamOptions>& upstreams) {
  Json list = Json::array();
  for (const UpstreamOptions& upstream : upstreams) {
    list.push_back({{"name", upstream.name}, {"base_url", upstream.base_url}, {"models", upstream.models}, {"trust", upstream.trust == Trust::priv ? "private" : "cloud"},
                    {"wire", upstream.wire == Wire::anthropic ? "anthropic" : "openai"}});
  }
  return list;
}

}  // namespace

std::string_view name_of(Action action) { return action_names[static_cast<size_t>(action)]; }

std::optional<Action> action_named(std::string_view name) {
  const auto found = std::ranges::find(action_names, name);
  if (found == action_names.end()) return std::nullopt;
  return static_cast<Action>(found - action_names.begin());
}

Action default_action(PrivacyClass cls, bool internal) {
  switch (cls) {
    case PrivacyClass::secret:
    case PrivacyClass::health:
    case PrivacyClass::unscanned: return Action::local;
    case PrivacyClass::custom: return Action::refuse;
    case PrivacyClass::opaque: return Action::ask;
    case PrivacyClass::ip:
    case PrivacyClass::mac:
    case PrivacyClass::host: return internal ? Action::allow : Action::mask;
    case PrivacyClass::org:
    case PrivacyClass::place:
    case PrivacyClass::date:
    case PrivacyClass::url:
    case PrivacyClass::amount: return Action::allow;
    case PrivacyClass::gov_id:
    case PrivacyClass::card:
    case PrivacyClass::iban:
    case PrivacyClass::bank:
    case PrivacyClass::crypto:
    case PrivacyClass::phone:
    case PrivacyClass::email:
    case PrivacyClass::address:
    case PrivacyClass::handle:
    case PrivacyClass::person:
    case PrivacyClass::dob: return Action::mask;
  }
  return Action::local;  // no such class: it stays here
}

std::string policy_sha256(const Policy& policy, const std::vector<UpstreamOptions>& upstreams) {
  static constexpr std::array<std::string_view, 3> disclosures = {"headers", "body", "none"};
  const Policy::Restore& restore = policy.restore;
  const Json json = {
      {"id", policy.id},
      {"default_route", policy.cloud_by_default ? "cloud" : "local"},
      {"ask_fallback", name_of(policy.ask_fallback)},
      {"disclose", disclosures[static_cast<size_t>(policy.disclose)]},
      {"classes", class_rules(policy)},
      {"rules", rules_of(policy)},
      {"terms", terms_of(policy)},
      {"limits", {{"max_bytes", policy.limits.max_bytes}, {"decode_depth", policy.limits.decode_depth}, {"scan_ms", policy.limits.scan_ms}}},
      {"tiers", policy.tiers},
      {"model", policy.model},
      {"restore", {{"text", restore.text}, {"tools", restore.tools}, {"urls_allowlist", restore.urls_allowlist}, {"url_hosts", restore.url_hosts}, {"system_note", restore.system_note}}},
      {"consent", {{"enabled", policy.consent.enabled}, {"ttl_s", policy.consent.ttl_s}, {"scopes", scopes_of(policy.consent)}}},
      {"auto", {{"cloud_above_tokens", policy.automatic.cloud_above_tokens}, {"cloud_with_tools", policy.automatic.cloud_with_tools}}},
      {"destinations", destinations(upstreams)},
  };
  return sha256_hex(canonical(json));
}

std::string keyed_term(std::string_view key, std::string_view term) {
  const std::string folded = folded_term(term);
  const auto characters = std::ranges::count_if(folded, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
  return std::to_string(characters) + ":" + hmac_sha256_hex(key, folded);
}
