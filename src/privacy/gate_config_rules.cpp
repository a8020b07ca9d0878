// gate_config: [[privacy.rule]] and [[privacy.term]]: what the house adds to the classes.
#include <re2/re2.h>
#include <algorithm>
#include <cstdlib>
#include "privacy/gate_config.h"

namespace {

constexpr size_t most_rules = 1000, most_terms = 10'000;

Status read_rule_classes(const TomlPlace& place, RuleWhen& when) {
  TRY(const auto list, entries(place));
  if (list.empty()) return place.error("names of classes expected");
  for (const TomlPlace& entry : list) {
    TRY(const std::string name, read_text(entry));
    TRY(auto classes, read_classes(entry, name));
    when.classes.push_back(std::move(classes));
  }
  return ok_status();
}

// The name of an upstream; where none is called "cloud" or "private", these mean all that are trusted so.
Status read_destination(const TomlPlace& place, const GateReading& reading, RuleWhen& when) {
  TRY(const std::string name, read_text(place));
  std::vector<std::string> known;
  for (const UpstreamOptions& upstream : reading.config.upstreams) known.push_back(upstream.name);
  when.destination = name;
  if (std::ranges::count(known, name) != 0 || name.find('*') != std::string::npos) return ok_status();
  known.insert(known.end(), {"cloud", "private"});
  if (name != "cloud" && name != "private") return unknown_word(place, "upstream", name, known);
  when.destination.clear();
  when.destination_trust = name == "private" ? Trust::priv : Trust::cloud;
  return ok_status();
}

Status read_role(const TomlPlace& place, std::string& out) {
  static const std::vector<std::string> roles = {"system", "developer", "user", "assistant", "tool", "function"};
  TRY(const size_t role, read_choice(place, roles));
  out = roles[role];
  return ok_status();
}

Status read_when(const TomlPlace& place, const GateReading& reading, RuleWhen& when) {
  std::optional<int> count;
  TRY_STATUS(read_table(place, {{"classes", [&](const TomlPlace& value) { return read_rule_classes(value, when); }},
                                {"destination", [&](const TomlPlace& value) { return read_destination(value, reading, when); }},
                                {"role", [&](const TomlPlace& value) { return read_role(value, when.role); }},
                                {"model", into(when.model)},
                                {"key", into(when.key)},
                                {"count", [&](const TomlPlace& value) -> Status {
                                   TRY(const int64_t most, read_whole(value, 1, 1'000'000));
                                   count = static_cast<int>(most);
                                   return ok_status();
                                 }},
                                {"min_score", [&](const TomlPlace& value) -> Status {
                                   TRY(const double score, read_number(value, 0, 1));
                                   when.min_score = static_cast<float>(score);
                                   return ok_status();
                                 }}}));
  const bool about_findings = !when.classes.empty() || !when.role.empty() || when.min_score;
  when.count = count.value_or(about_findings ? 1 : 0);  // a rule about models or keys alone needs no finding
  return ok_status();
}

Status read_rule(const TomlPlace& place, const GateReading& reading, PolicyRule& rule) {
  bool when = false, then = false, action = false;
  const auto read_then = [&](const TomlPlace& value) {
    then = true;
    return read_table(value, {{"action", [&](const TomlPlace& word) -> Status {
                                 TRY(rule.action, read_action(word));
                                 action = true;
                                 return ok_status();
                               }},
                              {"reason", into(rule.reason)}});
  };
  TRY_STATUS(read_table(place, {{"when", [&](const TomlPlace& value) { return when = true, read_when(value, reading, rule.when); }}, {"then", read_then}}));
  if (!when) return place.error("when is missing");
  if (!then || !action) return place.error("then is missing its action");
  return ok_status();
}

Status check_patterns(const TomlPlace& place, const std::vector<std::string>& patterns) {
  for (size_t i = 0; i < patterns.size(); ++i) {
    const re2::RE2 compiled(patterns[i], re2::RE2::Quiet);
    if (!compiled.ok()) return place.error("entry " + std::to_string(i + 1) + " is no regular expression that RE2 knows");
    if (re2::RE2::FullMatch("", compiled)) return place.error("entry " + std::to_string(i + 1) + " matches an empty text");
  }
  return ok_status();
}

// "LENGTH:HEX", the length in folded characters.
bool is_keyed_hash(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == 0 || colon > 5 || colon == std::string_view::npos || text.size() != colon + 65) return false;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return std::ranges::all_of(text.substr(0, colon), digit) && std::ranges::all_of(text.substr(colon + 1), [&](char c) { return digit(c) || (c >= 'a' && c <= 'f'); });
}

Status read_hashes(const TomlPlace& place, std::vector<std::string>& out) {
  TRY(out, read_texts(place));
  if (!std::ranges::all_of(out, is_keyed_hash)) return place.error("\"LENGTH:HMAC\" expected, the length in characters and 64 hexadecimal digits, as 'calla policy hash' prints them");
  return ok_status();
}

Status read_hash_key(const TomlPlace& place, std::string& out) {
  std::string variable;
  TRY_STATUS(into_variable(variable)(place));
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr || *value == 0) return place.error("this environment variable is not set");
  out = value;
  return ok_status();
}

Status read_term(const TomlPlace& place, PolicyTerm& own) {
  Term& term = own.term;
  TRY_STATUS(read_table(place, {{"name", into(term.name)},
                                {"terms", into(term.terms)},
                                {"terms_hmac", [&](const TomlPlace& value) { return read_hashes(value, term.terms_hmac); }},
                                {"key_env", [&](const TomlPlace& value) { return read_hash_key(value, term.hmac_key); }},
                                {"patterns", [&](const TomlPlace& value) -> Status {
                                   TRY(term.patterns, read_texts(value));
                                   return check_patterns(value, term.patterns);
                                 }},
                                {"action", [&](const TomlPlace& value) -> Status {
                                   TRY(own.action, read_action(value));
                                   return ok_status();
                                 }}}));
  term.allowed = own.action == Action::allow;
  if (term.name.empty() || term.name.size() > 64) return place.error("a name of at most 64 bytes is missing");
  if (term.terms.empty() && term.terms_hmac.empty() && term.patterns.empty()) return place.error("terms, terms_hmac or patterns is missing");
  if (term.terms_hmac.empty() == !term.hmac_key.empty()) return place.error("terms_hmac and key_env belong together");
  return ok_status();
}

}  // namespace

Status read_rules(const TomlPlace& place, GateReading& reading) {
  TRY(const auto list, entries(place, true));
  if (list.size() > most_rules) return place.error("at most 1000 rules expected");
  for (const TomlPlace& entry : list) {
    PolicyRule rule;
    TRY_STATUS(read_rule(entry, reading, rule));
    if (rule.action == Action::allow) reading.note(entry, "has no effect, rules only make a request stricter");
    reading.config.policy.rules.push_back(std::move(rule));
  }
  return ok_status();
}

Status read_terms(const TomlPlace& place, GateReading& reading) {
  TRY(const auto list, entries(place, true));
  if (list.size() > most_terms) return place.error("at most 10000 terms expected");
  std::vector<PolicyTerm>& terms = reading.config.policy.terms;
  for (const TomlPlace& entry : list) {
    PolicyTerm own;
    TRY_STATUS(read_term(entry, own));
    if (std::ranges::any_of(terms, [&](const PolicyTerm& other) { return other.term.name == own.term.name; })) return entry.error("another term has this name");
    terms.push_back(std::move(own));
  }
  return ok_status();
}
