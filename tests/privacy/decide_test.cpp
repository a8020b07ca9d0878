// decide tests: the pure decision against a slow formulation of its own, for every class, action, destination and wish, and for random policies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fnmatch.h>
#include <algorithm>
#include <random>
#include <set>
#include "privacy/policy.h"

namespace {

using testing::ElementsAre;

constexpr std::array strictness = {Action::refuse, Action::local, Action::ask, Action::mask, Action::allow};  // strictest first

UpstreamOptions upstream(std::string name, Trust trust) {
  UpstreamOptions options;
  options.name = std::move(name), options.trust = trust, options.base_url = "https://api.example", options.models = {"big-1"};
  return options;
}
const UpstreamOptions cloud = upstream("cloud", Trust::cloud), other = upstream("other", Trust::cloud), house = upstream("house", Trust::priv);

FieldFinding finding(PrivacyClass cls, float score = 0.9f, std::string role = "user", std::string kind = "k", bool internal = false) {
  FieldFinding found;
  found.finding.cls = cls, found.finding.score = score, found.finding.kind = std::move(kind), found.finding.internal = internal;
  found.field = "messages[0].content", found.role = std::move(role);
  return found;
}

PolicyTerm term(const std::string& name, Action action) {
  PolicyTerm term;
  term.term.name = name, term.term.terms = {name}, term.action = action;
  return term;
}

// ---- the slow formulation: a request has an action when a sentence of the policy claims it, and the strictest claim holds ----
struct Claim { Action action; std::vector<size_t> findings; };  // of no finding: of the request as a whole

class Slow {
 public:
  Slow(const Policy& policy, const Situation& s) : policy_(policy), s_(s) {
    for (size_t i = 0; i < s.findings.size(); ++i) claim_by_finding(i);
    for (const PolicyRule& rule : policy.rules) claim_by_rule(rule);
    if (s.stricter) claims_.push_back({*s.stricter, *s.stricter == Action::mask ? noticed() : std::vector<size_t>{}});
  }
  Action whole() const {
    for (const Action action : strictness)
      if (std::ranges::any_of(claims_, [&](const Claim& claim) { return claim.action == action; })) return action;
    return Action::allow;
  }
  Action of(size_t i) const {
    for (const Action action : strictness)
      if (std::ranges::any_of(claims_, [&](const Claim& claim) { return claim.action == action && std::ranges::count(claim.findings, i) != 0; })) return action;
    return Action::allow;
  }

 private:
  bool at_private() const { return s_.destination != nullptr && s_.destination->trust == Trust::priv; }
  bool noticed(size_t i) const {
    const Finding& f = s_.findings[i].finding;
    return f.cls == PrivacyClass::unscanned || f.score >= policy_.classes.at(static_cast<size_t>(f.cls)).min_score;
  }
  std::vector<size_t> noticed() const {
    std::vector<size_t> all;
    for (size_t i = 0; i < s_.findings.size(); ++i)
      if (noticed(i)) all.push_back(i);
    return all;
  }
  // The table of privacy-interface.md 1, by group.
  static Action by_default(const Finding& f) {
    const std::string_view group = group_of(f.cls);
    if (group == "secret" || group == "health" || group == "unscanned") return Action::local;
    if (group == "custom") return Action::refuse;
    if (group == "opaque") return Action::ask;
    if (group == "low") return Action::allow;
    return group == "network" && f.internal ? Action::allow : Action::mask;
  }
  void claim_by_finding(size_t i) {
    if (!noticed(i)) return;
    const Finding& f = s_.findings[i].finding;
    const std::optional<Action> set = policy_.classes.at(static_cast<size_t>(f.cls)).action;
    std::vector<Action> claimed;
    if (f.cls == PrivacyClass::custom)
      for (const PolicyTerm& term : policy_.terms)
        if (term.term.name == f.kind) claimed.push_back(term.action);
    if (set) claimed.push_back(*set);
    if (claimed.empty()) claimed.push_back(by_default(f));
    for (const Action action : claimed)
      if (!at_private() || action == Action::refuse) claims_.push_back({action, {i}});
  }
  static bool matches(const std::string& pattern, const std::string& text) { return pattern.empty() || fnmatch(pattern.c_str(), text.c_str(), 0) == 0; }
  void claim_by_rule(const PolicyRule& rule) {
    const RuleWhen& when = rule.when;
    const bool named = !when.destination.empty() || when.destination_trust == Trust::priv;
    if (at_private() && !named && rule.action != Action::refuse) return;
    if (when.destination_trust == Trust::priv && !at_private()) return;
    if (when.destination_trust == Trust::cloud && at_private()) return;
    if (!when.destination.empty() && (s_.destination == nullptr || !matches(when.destination, s_.destination->name))) return;
    if (!matches(when.model, s_.model) || !matches(when.key, s_.key)) return;
    std::vector<size_t> counted;
    std::set<PrivacyClass> present;
    for (size_t i = 0; i < s_.findings.size(); ++i) {
      const Finding& f = s_.findings[i].finding;
      bool named_class = when.classes.empty();
      for (const auto& entry : when.classes)
        for (const PrivacyClass cls : entry) named_class = named_class || cls == f.cls;
      const bool strong = when.min_score ? f.score >= *when.min_score : noticed(i);
      if (named_class && strong && matches(when.role, s_.findings[i].role)) counted.push_back(i), present.insert(f.cls);
    }
    if (static_cast<int>(counted.size()) < when.count) return;
    for (const auto& entry : when.classes)
      if (std::ranges::none_of(entry, [&](PrivacyClass cls) { return present.contains(cls); })) return;
    claims_.push_back({rule.action, counted});
  }

  const Policy& policy_;
  const Situation& s_;
  std::vector<Claim> claims_;
};

void expect_same(const Policy& policy, const Situation& situation, const std::string& which) {
  const Decision decision = decide(policy, situation);
  const Slow slow(policy, situation);
  ASSERT_EQ(name_of(decision.action), name_of(slow.whole())) << which;
  ASSERT_EQ(decision.of_finding.size(), situation.findings.size()) << which;
  for (size_t i = 0; i < situation.findings.size(); ++i) ASSERT_EQ(name_of(decision.of_finding[i]), name_of(slow.of(i))) << which << " finding " << i;
  if (!decision.rules.empty()) {
    ASSERT_EQ(decision.rules.front().action, decision.action) << which;  // the reasons begin with the one that decided
  }
  for (size_t i = 1; i < decision.rules.size(); ++i) ASSERT_LE(decision.rules[i].action, decision.rules[i - 1].action) << which;
  ASSERT_TRUE(decision.action == Action::allow || !decision.rules.empty()) << which;
}

TEST(Decide, EveryClassActionDestinationAndWish) {
  int cases = 0;
  for (size_t c = 0; c < n_privacy_classes; ++c) {
    const auto cls = static_cast<PrivacyClass>(c);
    for (int set = -1; set < 5; ++set) {
      Policy policy;
      policy.classes[c].min_score = 0.5f;
      if (set >= 0) policy.classes[c].action = static_cast<Action>(set);
      for (const UpstreamOptions* destination : {static_cast<const UpstreamOptions*>(nullptr), &cloud, &house})
        for (const std::optional<Action> stricter : {std::optional<Action>(), std::optional(Action::mask), std::optional(Action::local), std::optional(Action::refuse)})
          for (const float score : {0.49f, 0.5f})
            for (const bool internal : {false, true}) {
              const std::vector findings = {finding(cls, score, "user", "k", internal)};
              expect_same(policy, {findings, destination, "cloud/big-1", "k1", stricter}, std::string(name_of(cls)) + " " + std::to_string(set) + " " + std::to_string(score));
              ++cases;
            }
    }
  }
  EXPECT_GE(cases, 2000);
}

template <class T, size_t n> const T& any(std::mt19937& random, const std::array<T, n>& from) { return from[random() % n]; }
PrivacyClass any_class(std::mt19937& random) { return static_cast<PrivacyClass>(random() % n_privacy_classes); }
float any_score(std::mt19937& random) { return any(random, std::array{0.1f, 0.3f, 0.49f, 0.5f, 0.6f, 0.95f}); }

Policy any_policy(std::mt19937& random) {
  static const std::array<std::string, 3> names = {"", "cloud", "house"}, models = {"", "cloud/*", "house/m"}, roles = {"", "user", "tool"};
  Policy policy;
  for (ClassRule& rule : policy.classes) {
    if (random() % 3 == 0) rule.action = static_cast<Action>(random() % 5);
    rule.min_score = any_score(random);
  }
  for (size_t n = random() % 4; n > 0; --n) {
    PolicyRule rule;
    for (size_t entries = random() % 3; entries > 0; --entries) rule.when.classes.push_back(random() % 2 == 0 ? std::vector{any_class(random)} : classes_named("contact"));
    rule.when.destination = any(random, names), rule.when.model = any(random, models), rule.when.role = any(random, roles);
    if (rule.when.destination.empty() && random() % 3 == 0) rule.when.destination_trust = static_cast<Trust>(random() % 2);
    if (random() % 4 == 0) rule.when.key = "k*";
    rule.when.count = static_cast<int>(random() % 4);
    if (random() % 2 == 0) rule.when.min_score = any_score(random);
    rule.action = static_cast<Action>(random() % 5);
    policy.rules.push_back(std::move(rule));
  }
  for (const char* name : {"nordstar", "südwind"})
    if (random() % 2 == 0) policy.terms.push_back(term(name, static_cast<Action>(1 + random() % 4)));
  return policy;
}

TEST(Decide, RandomPoliciesAndFindings) {
  std::mt19937 random(20260);
  static const std::array<std::string, 3> models = {"cloud/big-1", "house/m", "other/x"}, kinds = {"nordstar", "südwind", "mobile"}, roles = {"user", "tool", "system"}, keys = {"", "k1", "admin"};
  for (int round = 0; round < 20'000; ++round) {
    const Policy policy = any_policy(random);
    std::vector<FieldFinding> findings;
    for (size_t n = random() % 6; n > 0; --n) findings.push_back(finding(random() % 4 == 0 ? PrivacyClass::custom : any_class(random), any_score(random), any(random, roles), any(random, kinds), random() % 2 == 0));
    const std::array<const UpstreamOptions*, 4> destinations = {nullptr, &cloud, &other, &house};
    Situation situation{findings, any(random, destinations), any(random, models), any(random, keys), std::nullopt};
    if (random() % 3 == 0) situation.stricter = any(random, std::array{Action::mask, Action::local, Action::refuse});
    expect_same(policy, situation, "round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
}

TEST(Decide, NothingLoosens) {
  std::mt19937 random(7);
  for (int round = 0; round < 3'000; ++round) {
    const Policy policy = any_policy(random);
    std::vector<FieldFinding> findings;
    for (size_t n = 1 + random() % 4; n > 0; --n) findings.push_back(finding(any_class(random), any_score(random)));
    const Situation plain{findings, &cloud, "cloud/big-1", "k1", std::nullopt};
    const Action before = decide(policy, plain).action;
    for (const Action wish : {Action::allow, Action::mask, Action::ask, Action::local, Action::refuse}) {
      Situation stricter = plain;
      stricter.stricter = wish;
      EXPECT_EQ(decide(policy, stricter).action, std::max(before, wish));
    }
    Policy longer = policy;
    longer.rules.push_back({{}, static_cast<Action>(random() % 5), ""});
    EXPECT_GE(decide(longer, plain).action, before);
    findings.push_back(finding(any_class(random), 0.99f));  // one more finding never loosens
    EXPECT_GE(decide(policy, {findings, &cloud, "cloud/big-1", "k1", std::nullopt}).action, before);
  }
}

TEST(Decide, APersonWithAHealthStatementStays) {
  Policy policy;
  PolicyRule rule{{}, Action::local, "person with a health statement"};
  rule.when.classes = {{PrivacyClass::person}, {PrivacyClass::health}};
  rule.when.destination = "cloud", rule.when.role = "user";
  policy.rules = {rule};
  policy.classes[static_cast<size_t>(PrivacyClass::health)].action = Action::mask;
  const std::vector both = {finding(PrivacyClass::person), finding(PrivacyClass::health)}, one = {finding(PrivacyClass::person)};
  const Decision kept = decide(policy, {both, &cloud, "cloud/big-1", "", std::nullopt});
  EXPECT_EQ(kept.action, Action::local);
  EXPECT_THAT(kept.of_finding, ElementsAre(Action::local, Action::local));
  EXPECT_EQ(kept.rules.front().rule, "rule[0]");
  EXPECT_EQ(kept.rules.front().reason, "person with a health statement (2 found)");
  EXPECT_EQ(decide(policy, {one, &cloud, "cloud/big-1", "", std::nullopt}).action, Action::mask);
  EXPECT_EQ(decide(policy, {both, &other, "other/m", "", std::nullopt}).action, Action::mask);
}

TEST(Decide, ReasonsAreNamedOnceAndStrictestFirst) {
  Policy policy;
  policy.classes[static_cast<size_t>(PrivacyClass::person)] = {Action::mask, 0.6f};
  policy.terms = {term("nordstar", Action::refuse)};
  const std::vector findings = {finding(PrivacyClass::person), finding(PrivacyClass::person), finding(PrivacyClass::person, 0.55f), finding(PrivacyClass::custom, 1, "user", "nordstar"), finding(PrivacyClass::ip, 0.9f, "user", "v4", true)};
  const Decision decision = decide(policy, {findings, &cloud, "cloud/big-1", "", Action::local});
  std::vector<std::string> said;
  for (const AppliedRule& rule : decision.rules) said.push_back(rule.rule + " " + std::string(name_of(rule.action)) + ": " + rule.reason);
  EXPECT_THAT(said, ElementsAre("term.nordstar refuse: a term of the policy (1 found)", "request local: the request asks for it", "classes.person mask: set by the policy (2 found)",
                                "classes.person.min_score allow: below the score 0.6 (1 found)", "classes.ip.internal allow: not of the public network (1 found)"));
}

TEST(Decide, WhatCouldNotBeScannedHasNoThreshold) {
  Policy policy;
  policy.classes[static_cast<size_t>(PrivacyClass::unscanned)].min_score = 1;
  const std::vector findings = {finding(PrivacyClass::unscanned, 0)};
  EXPECT_EQ(decide(policy, {findings, &cloud, "cloud/big-1", "", std::nullopt}).action, Action::local);
  const std::vector broken = {finding(PrivacyClass::secret, std::numeric_limits<float>::quiet_NaN())};
  EXPECT_EQ(decide(Policy(), {broken, &cloud, "cloud/big-1", "", std::nullopt}).action, Action::local);
}

}  // namespace
