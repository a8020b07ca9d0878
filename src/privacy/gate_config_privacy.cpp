// gate_config: [privacy]: routes, classes, limits, restoring and consent.
#include <algorithm>
#include <filesystem>
#include "privacy/gate_config.h"

namespace {

Status read_fallback(const TomlPlace& place, Action& out) {
  static const std::vector<std::string> words = {"local", "refuse"};
  TRY(const size_t word, read_choice(place, words));
  out = word == 0 ? Action::local : Action::refuse;
  return ok_status();
}

Status read_tiers(const TomlPlace& place, std::string& out) {
  TRY(const std::string tiers, read_text(place));
  const bool known = std::ranges::all_of(tiers, [&](char c) { return (c == 'a' || c == 'b' || c == 'c') && std::ranges::count(tiers, c) == 1; });
  if (!known) return place.error("some of the letters a, b and c expected");
  out = tiers;
  return ok_status();
}

// Without the model that it names a policy would find less than it says.
Status read_model(const TomlPlace& place, GateReading& reading) {
  TRY(const std::string written, read_text(place));
  const std::string path = reading.path(written);
  std::error_code error;
  if (written.empty() || !std::filesystem::exists(path, error)) return place.error("no such file or folder, a token classifier expected");
  reading.config.policy.model = written;
  reading.config.model = {path, place.where()};
  return ok_status();
}

// An action, or a table with one and a score.
Status read_class_rule(const TomlPlace& place, ClassRule& rule) {
  if (!place.node->is_table()) {
    TRY(rule.action, read_action(place));
    return ok_status();
  }
  return read_table(place, {{"action", [&](const TomlPlace& value) -> Status {
                               TRY(rule.action, read_action(value));
                               return ok_status();
                             }},
                            {"min_score", [&](const TomlPlace& value) -> Status {
                               TRY(const double score, read_number(value, 0, 1));
                               rule.min_score = static_cast<float>(score);
                               return ok_status();
                             }}});
}

Status read_limits(const TomlPlace& place, ScanLimits& limits) {
  return read_table(place, {{"max_bytes", into(limits.max_bytes, 1, int64_t{1} << 30)}, {"decode_depth", into(limits.decode_depth, 0, 8)}, {"scan_ms", into(limits.scan_ms, 1, 600'000)}});
}

Status read_hosts(const TomlPlace& place, std::vector<std::string>& out) {
  TRY(out, read_texts(place));
  for (const std::string& host : out)
    if (host.find_first_of("/:@ ?#") != std::string::npos) return place.error("names of hosts expected, without https:// and paths");
  return ok_status();
}

Status read_restore(const TomlPlace& place, GateReading& reading) {
  Policy::Restore& restore = reading.config.policy.restore;
  TRY_STATUS(read_table(place, {{"text", into(restore.text)},
                                {"tools", into(restore.tools)},
                                {"urls", into_choice(restore.urls_allowlist, {"never", "allowlist"})},
                                {"url_hosts", [&](const TomlPlace& value) { return read_hosts(value, restore.url_hosts); }},
                                {"system_note", into(restore.system_note)}}));
  if (!restore.urls_allowlist && !restore.url_hosts.empty()) reading.note(place, "url_hosts has no effect, urls is \"never\"");
  if (restore.urls_allowlist && restore.url_hosts.empty()) reading.note(place, "urls is \"allowlist\", url_hosts names none");
  return ok_status();
}

Status read_automatic(const TomlPlace& place, Policy::Auto& automatic) {
  return read_table(place, {{"cloud_above_tokens", into(automatic.cloud_above_tokens, 0, 1 << 30)}, {"cloud_with_tools", into(automatic.cloud_with_tools)}});
}

// "once", or as the header of a consent says it.
Status read_scopes(const TomlPlace& place, std::vector<Scope>& out) {
  static const std::vector<std::string> words = {"once", "session", "as_is", "mask_once", "mask_session", "send_once"};
  TRY(const auto list, entries(place));
  out.clear();
  for (const TomlPlace& entry : list) {
    TRY(const size_t word, read_choice(entry, words));
    const auto scope = static_cast<Scope>(word % 3);
    if (std::ranges::count(out, scope) == 0) out.push_back(scope);
  }
  return ok_status();
}

Status read_scope_table(const TomlPlace& place, GateReading& reading) {
  TRY(const auto all, members(place));
  for (const bool groups : {true, false}) {  // a class speaks louder than its group
    for (const auto& [name, inner] : all) {
      if (class_named(name).has_value() == groups) continue;
      TRY(const auto classes, read_classes(inner, name));
      std::vector<Scope> scopes;
      TRY_STATUS(read_scopes(inner, scopes));
      for (const PrivacyClass cls : classes) reading.config.policy.consent.scopes[cls] = scopes;
      if (classes.front() == PrivacyClass::secret && !scopes.empty()) reading.note(inner, "has no effect, a secret never leaves by consent");
    }
  }
  return ok_status();
}

}  // namespace

Status read_class_rules(const TomlPlace& place, Policy& policy) {
  TRY(const auto all, members(place));
  for (const bool groups : {true, false}) {  // a class speaks louder than its group
    for (const auto& [name, inner] : all) {
      if (class_named(name).has_value() == groups) continue;
      TRY(const auto classes, read_classes(inner, name));
      for (const PrivacyClass cls : classes) TRY_STATUS(read_class_rule(inner, policy.classes[static_cast<size_t>(cls)]));
    }
  }
  return ok_status();
}

Status read_consent(const TomlPlace& place, GateReading& reading) {
  Policy::Consent& consent = reading.config.policy.consent;
  return read_table(place, {{"enabled", into(consent.enabled)}, {"ttl_s", into(consent.ttl_s, 1, 604'800)}, {"scopes", [&](const TomlPlace& value) { return read_scope_table(value, reading); }}});
}

Status read_privacy(const TomlPlace& place, GateReading& reading) {
  Policy& policy = reading.config.policy;
  return read_table(place, {{"id", into_name(policy.id)},
                            {"default_route", into_choice(policy.cloud_by_default, {"local", "cloud"})},
                            {"ask_fallback", [&](const TomlPlace& value) { return read_fallback(value, policy.ask_fallback); }},
                            {"vault_dir", into_path(policy.vault_dir, reading)},
                            {"conversation_ttl_s", into(policy.conversation_ttl_s, 1, 315'360'000)},
                            {"disclose", into_choice(policy.disclose, {"headers", "body", "none"})},
                            {"tiers", [&](const TomlPlace& value) { return read_tiers(value, policy.tiers); }},
                            {"model", [&](const TomlPlace& value) { return read_model(value, reading); }},
                            {"classes", [&](const TomlPlace& value) { return read_class_rules(value, policy); }},
                            {"rule", [&](const TomlPlace& value) { return read_rules(value, reading); }},
                            {"term", [&](const TomlPlace& value) { return read_terms(value, reading); }},
                            {"limits", [&](const TomlPlace& value) { return read_limits(value, policy.limits); }},
                            {"restore", [&](const TomlPlace& value) { return read_restore(value, reading); }},
                            {"consent", [&](const TomlPlace& value) { return read_consent(value, reading); }},
                            {"auto", [&](const TomlPlace& value) { return read_automatic(value, policy.automatic); }}});
}
