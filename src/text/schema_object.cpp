// schema object: members in the order of their declaration, then those that only a pattern or additionalProperties allows.
#include <algorithm>

#include "text/schema_compiler.h"

static constexpr size_t kMostCounted = 4000;   // pairs of a member and a count
static constexpr size_t kMostPatterns = 4;     // of names in one object: each combination is a set of names of its own
static constexpr size_t kMostMembers = 5000;

using Node = GrammarBuilder::Node;
using Texts = SchemaCompiler::Texts;

// Declared members around which a grammar is made, and what may follow them.
struct SchemaCompiler::Object {
  GrammarBuilder& builder;
  const JsonParts& parts;
  std::vector<Member> members;
  std::optional<Node> extra;
  int64_t least = 0, most = -1;  // members in all
  std::map<std::pair<size_t, int64_t>, std::optional<Node>> counted{};

  Node extras_after() const { return extra ? builder.repeat(in_order(builder, {parts.comma, *extra}), 0, -1) : builder.empty(); }
  Texts plain();
  Texts with_counts(size_t index, int64_t count);
  Texts last(int64_t count) const;
};

// No counts: whichever member comes first has no comma before it. nullopt: not even an object without members.
Texts SchemaCompiler::Object::plain() {
  std::vector<Node> tails(members.size() + 1, extras_after());  // what may follow member i - 1
  for (size_t i = members.size(); i-- > 0;) {
    const Node item = in_order(builder, {parts.comma, members[i].node});
    tails[i] = in_order(builder, {members[i].required ? item : builder.optional(item), tails[i + 1]});
    if (i % 16 == 0) {  // long tails become rules, so that many first members do not copy them
      const Node rule = builder.declare();
      builder.define(rule, tails[i]);
      tails[i] = rule;
    }
  }
  std::vector<Node> ways;
  size_t i = 0;
  for (; i < members.size(); ++i) {
    ways.push_back(in_order(builder, {members[i].node, tails[i + 1]}));
    if (members[i].required) break;
  }
  const bool may_be_empty = i == members.size();
  if (may_be_empty && extra) ways.push_back(in_order(builder, {*extra, extras_after()}));
  Node inside = builder.empty();
  if (!ways.empty()) inside = in_order(builder, {parts.gap, builder.choice(ways), parts.gap});
  return may_be_empty ? builder.optional(inside) : inside;
}

Texts SchemaCompiler::Object::last(int64_t count) const {
  const int64_t low = std::max<int64_t>(0, least - count), high = most < 0 ? -1 : most - count;
  if (low == 0 && (!extra || high == 0)) return builder.empty();
  if (!extra || (high >= 0 && low > high)) return std::nullopt;
  const Node after = in_order(builder, {parts.comma, *extra});
  if (count > 0) return builder.repeat(after, low, high);
  const Node list = in_order(builder, {*extra, builder.repeat(after, std::max<int64_t>(0, low - 1), high < 0 ? -1 : high - 1)});
  return low > 0 ? list : builder.optional(list);
}

Texts SchemaCompiler::Object::with_counts(size_t index, int64_t count) {
  if (index == members.size()) return last(count);
  const int64_t cap = most >= 0 ? most : std::max<int64_t>(least, 1);
  const auto [known, added] = counted.try_emplace({index, count});
  if (!added) return known->second;
  std::vector<Node> ways;
  const Member& member = members[index];
  if (most < 0 || count < most)
    if (const Texts rest = with_counts(index + 1, std::min(cap, count + 1))) ways.push_back(in_order(builder, {count > 0 ? parts.comma : builder.empty(), member.node, *rest}));
  if (!member.required)
    if (const Texts rest = with_counts(index + 1, count)) ways.push_back(*rest);
  Texts out;
  if (!ways.empty()) {
    out = builder.declare();
    builder.define(*out, builder.choice(ways));
  }
  return counted[{index, count}] = out;
}

// nullopt: a required member can have no value.
Result<std::optional<std::vector<SchemaCompiler::Member>>> SchemaCompiler::declared_members(const SchemaLimits& limits) {
  std::vector<std::string> names;
  std::set<std::string, std::less<>> seen;
  for (const ObjectRule& rule : limits.objects)
    for (const auto& [name, term] : rule.properties)
      if (rule.evaluates && seen.insert(name).second) names.push_back(name);
  for (const std::string& name : limits.required)
    if (seen.insert(name).second) names.push_back(name);
  if (names.size() > kMostMembers) return places_.refuse(limits.place, "more properties than a grammar should have");
  std::vector<Member> members;
  for (const std::string& name : names) {
    const bool required = std::find(limits.required.begin(), limits.required.end(), name) != limits.required.end();
    Texts value;
    TRY(const bool named, meaning_.name_satisfies(name, sorted_terms(limits.names)));
    if (named && !limits.forbidden.contains(name)) {
      TRY(const SchemaTerms terms, meaning_.member_terms(limits, name));
      TRY(value, texts(terms));
    }
    if (value) members.push_back({name, required, in_order(builder_, {builder_.literal(json_text(name)), parts_.colon, *value})});
    else if (required) return std::optional<std::vector<Member>>();
  }
  return std::optional(std::move(members));
}

// Names that no schema here mentions, out of `base`.
Result<Node> SchemaCompiler::extra_names(const SchemaLimits& limits, const Language& base, bool all_texts) {
  std::vector<std::string> taken(limits.forbidden.begin(), limits.forbidden.end());
  taken.insert(taken.end(), limits.required.begin(), limits.required.end());
  for (const ObjectRule& rule : limits.objects)
    for (const auto& [name, term] : rule.properties) taken.push_back(name);
  if (taken.empty() && all_texts && limits.names.empty()) return parts_.string;
  TRY(Language left, meaning_.spend(limits.place, Language::combine(base, Language::words(taken), Language::Keep::first_only)));
  if (!limits.names.empty()) {
    TRY(const Language allowed, meaning_.texts(sorted_terms(limits.names)));
    TRY(left, meaning_.spend(limits.place, Language::combine(left, allowed, Language::Keep::both)));
  }
  return left.json_string(builder_);
}

// Members beyond the declared ones: one kind for each combination of patterns that a name may have.
Result<std::optional<Node>> SchemaCompiler::extra_members(const SchemaLimits& limits, bool needed) {
  std::vector<std::pair<std::string, SchemaTerm>> patterns;
  bool declares = false, says = false;
  for (const ObjectRule& rule : limits.objects) {
    for (const auto& pattern : rule.patterns)
      if (std::ranges::none_of(patterns, [&](const auto& known) { return known.first == pattern.first; })) patterns.push_back(pattern);
    declares = declares || (rule.evaluates && !(rule.properties.empty() && rule.patterns.empty()));
    says = says || (rule.evaluates && rule.rest);
  }
  if (patterns.size() > kMostPatterns) return places_.refuse(limits.place, "more \"patternProperties\" than a grammar should have");
  std::vector<Node> kinds;
  for (size_t subset = 0; subset < size_t{1} << patterns.size(); ++subset) {
    if (subset == 0 && declares && !says && !needed) continue;
    Language names = Language::text();
    for (size_t i = 0; i < patterns.size(); ++i) {
      TRY(const Language* matching, meaning_.pattern(patterns[i].second.place, patterns[i].first));
      TRY(names, meaning_.spend(limits.place, Language::combine(names, *matching, (subset >> i & 1) != 0 ? Language::Keep::both : Language::Keep::first_only)));
    }
    SchemaTerms terms;
    for (const ObjectRule& rule : limits.objects) {
      bool matched = false;
      for (const auto& [pattern, term] : rule.patterns)
        for (size_t i = 0; i < patterns.size(); ++i)
          if ((subset >> i & 1) != 0 && patterns[i].first == pattern) terms.push_back(term), matched = true;
      if (!matched && rule.rest) terms.push_back(*rule.rest);
    }
    if (names.empty()) continue;
    TRY(const Texts value, texts(sorted_terms(std::move(terms))));
    if (!value) continue;
    TRY(const Node name, extra_names(limits, names, patterns.empty()));
    kinds.push_back(in_order(builder_, {name, parts_.colon, *value}));
  }
  return either(kinds);
}

Result<Texts> SchemaCompiler::objects(const SchemaLimits& limits) {
  TRY(auto members, declared_members(limits));
  if (!members) return Texts();
  const auto always = std::ranges::count_if(*members, &Member::required), declared = static_cast<int64_t>(members->size());
  TRY(const auto extra, extra_members(limits, limits.min_properties > declared));
  Object object{builder_, parts_, std::move(*members), extra, limits.min_properties, limits.max_properties};
  const bool counts = limits.min_properties > always || (limits.max_properties >= 0 && (extra || limits.max_properties < declared));
  Texts inside;
  if (counts) {
    // Two names that are free could be the same, and count once.
    if (extra && limits.min_properties > always + 1) return places_.refuse(limits.place, "\"minProperties\" above the number of required properties and one, where names are free");
    const int64_t cap = limits.max_properties >= 0 ? limits.max_properties : limits.min_properties;
    if (declared * std::min(cap + 1, declared + 1) > static_cast<int64_t>(kMostCounted)) return places_.refuse(limits.place, "\"minProperties\" or \"maxProperties\" over too many properties");
    if (const Texts some = object.with_counts(0, 0)) inside = in_order(builder_, {parts_.gap, *some, parts_.gap});
  } else {
    inside = object.plain();
  }
  if (!inside) return Texts();
  return Texts(in_order(builder_, {builder_.literal("{"), *inside, builder_.literal("}")}));
}
