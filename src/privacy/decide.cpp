// decide: from findings, a policy and a destination to an action: a pure function in which everything can only make a request stricter.
#include <fmt/format.h>
#include <algorithm>
#include "privacy/glob.h"
#include "privacy/policy.h"

namespace {

Action stricter_of(Action a, Action b) { return std::max(a, b); }

const ClassRule& rule_of(const Policy& policy, PrivacyClass cls) { return policy.classes[static_cast<size_t>(cls)]; }

// A score that is no number is not below anything; what could not be scanned has no score to speak of.
bool below(const Policy& policy, const Finding& finding) { return finding.score < rule_of(policy, finding.cls).min_score && finding.cls != PrivacyClass::unscanned; }

bool is_private(const Situation& situation) { return situation.destination != nullptr && situation.destination->trust == Trust::priv; }

const PolicyTerm* term_of(const Policy& policy, const Finding& finding) {
  if (finding.cls != PrivacyClass::custom) return nullptr;
  for (const PolicyTerm& term : policy.terms)
    if (term.term.name == finding.kind) return &term;
  return nullptr;
}

// What one finding asks for by itself, and by which rule. `reason` does not depend on the finding's text.
struct Verdict { std::string rule; Action action; std::string reason; };

Verdict verdict_of(const Policy& policy, const Finding& finding) {
  const ClassRule& rule = rule_of(policy, finding.cls);
  const std::string of_class = "classes." + std::string(name_of(finding.cls));
  if (below(policy, finding)) return {of_class + ".min_score", Action::allow, fmt::format("below the score {:g}", rule.min_score)};
  if (const PolicyTerm* term = term_of(policy, finding)) {
    const bool by_class = rule.action && *rule.action > term->action;
    return by_class ? Verdict{of_class, *rule.action, "set by the policy"} : Verdict{"term." + term->term.name, term->action, "a term of the policy"};
  }
  if (rule.action) return {of_class, *rule.action, "set by the policy"};
  if (finding.internal && default_action(finding.cls, true) != default_action(finding.cls, false)) return {of_class + ".internal", default_action(finding.cls, true), "not of the public network"};
  return {of_class, default_action(finding.cls, false), "by default"};
}

bool destination_fits(const RuleWhen& when, const Situation& situation) {
  if (when.destination_trust) return is_private(situation) == (*when.destination_trust == Trust::priv);
  return when.destination.empty() || (situation.destination != nullptr && glob_matches(when.destination, situation.destination->name));
}

bool request_fits(const RuleWhen& when, const Situation& situation) {
  return destination_fits(when, situation) && (when.model.empty() || glob_matches(when.model, situation.model)) && (when.key.empty() || glob_matches(when.key, situation.key));
}

bool names(const RuleWhen& when, PrivacyClass cls) {
  return when.classes.empty() || std::ranges::any_of(when.classes, [&](const auto& entry) { return std::ranges::count(entry, cls) != 0; });
}

bool counts_for(const Policy& policy, const RuleWhen& when, const FieldFinding& found) {
  const bool low = when.min_score ? found.finding.score < *when.min_score : below(policy, found.finding);
  return !low && names(when, found.finding.cls) && (when.role.empty() || when.role == found.role);
}

// Indexes of the findings that make `rule` hold; nullopt: it does not.
std::optional<std::vector<size_t>> holds(const Policy& policy, const PolicyRule& rule, const Situation& situation) {
  if (!request_fits(rule.when, situation)) return std::nullopt;
  std::vector<size_t> counted;
  for (size_t i = 0; i < situation.findings.size(); ++i)
    if (counts_for(policy, rule.when, situation.findings[i])) counted.push_back(i);
  if (std::cmp_less(counted.size(), rule.when.count)) return std::nullopt;
  for (const auto& entry : rule.when.classes) {
    const bool present = std::ranges::any_of(counted, [&](size_t i) { return std::ranges::count(entry, situation.findings[i].finding.cls) != 0; });
    if (!present) return std::nullopt;
  }
  return counted;
}

// To a private destination class actions and general rules do not apply, unless they refuse; a rule that names it does.
bool applies_in_private(const RuleWhen& when, Action action) { return action == Action::refuse || !when.destination.empty() || when.destination_trust == Trust::priv; }

// Collects what led to a decision, each rule once with how often it struck.
class Reasons {
 public:
  void add(const std::string& rule, Action action, const std::string& reason, int times = 1) {
    for (Entry& entry : entries_)
      if (entry.applied.rule == rule && entry.applied.action == action && entry.applied.reason == reason) return void(entry.times += times);
    entries_.push_back({{rule, action, reason}, times});
  }
  std::vector<AppliedRule> strictest_first() const {
    std::vector<AppliedRule> out;
    for (const Action action : {Action::refuse, Action::local, Action::ask, Action::mask, Action::allow})
      for (const Entry& entry : entries_) {
        if (entry.applied.action != action) continue;
        out.push_back(entry.applied);
        if (entry.times > 0) out.back().reason += fmt::format(" ({} found)", entry.times);
      }
    return out;
  }

 private:
  struct Entry { AppliedRule applied; int times; };
  std::vector<Entry> entries_;
};

class Deciding {
 public:
  Deciding(const Policy& policy, const Situation& situation) : policy_(policy), situation_(situation) {}

  Decision decide() {
    decision_.of_finding.assign(situation_.findings.size(), Action::allow);
    for (size_t i = 0; i < situation_.findings.size(); ++i) by_class(i);
    for (size_t i = 0; i < policy_.rules.size(); ++i) by_rule(i);
    for (const Action action : decision_.of_finding) raise(action);
    if (situation_.stricter) by_request(*situation_.stricter);
    decision_.rules = reasons_.strictest_first();
    return std::move(decision_);
  }

 private:
  void raise(Action action) { decision_.action = stricter_of(decision_.action, action); }

  void by_class(size_t i) {
    const Verdict verdict = verdict_of(policy_, situation_.findings[i].finding);
    if (is_private(situation_) && verdict.action != Action::refuse) return reasons_.add("upstream." + situation_.destination->name + ".trust", Action::allow, "a private destination");
    decision_.of_finding[i] = verdict.action;
    reasons_.add(verdict.rule, verdict.action, verdict.reason);
  }

  void by_rule(size_t index) {
    const PolicyRule& rule = policy_.rules[index];
    if (is_private(situation_) && !applies_in_private(rule.when, rule.action)) return;
    const auto counted = holds(policy_, rule, situation_);
    if (!counted) return;
    for (const size_t i : *counted) decision_.of_finding[i] = stricter_of(decision_.of_finding[i], rule.action);
    raise(rule.action);
    reasons_.add(fmt::format("rule[{}]", index), rule.action, rule.reason.empty() ? "all its conditions hold" : rule.reason, static_cast<int>(counted->size()));
  }

  // A client that wants to be masked wants it for everything that was found.
  void by_request(Action action) {
    raise(action);
    for (size_t i = 0; i < situation_.findings.size() && action == Action::mask; ++i) {
      if (!below(policy_, situation_.findings[i].finding)) decision_.of_finding[i] = stricter_of(decision_.of_finding[i], action);
    }
    reasons_.add("request", action, "the request asks for it", 0);
  }

  const Policy& policy_;
  const Situation& situation_;
  Decision decision_;
  Reasons reasons_;
};

}  // namespace

Decision decide(const Policy& policy, const Situation& situation) { return Deciding(policy, situation).decide(); }
