// schema array: items by position, distinct ones, and those that must be contained.
#include <algorithm>

#include "text/schema_compiler.h"

static constexpr size_t kMostStates = 2000;  // of an array whose items are counted
static constexpr size_t kMostPrefix = 1000;
static constexpr size_t kAnyOrder = 6;       // distinct values up to this many come in any order, more in the order of the schema

using Node = GrammarBuilder::Node;
using Texts = SchemaCompiler::Texts;

static size_t prefix_of(const SchemaLimits& limits) {
  size_t prefix = 0;
  for (const ArrayRule& rule : limits.arrays) prefix = std::max(prefix, rule.prefix.size());
  return prefix;
}

// Right-linear lists: a state says what may follow the items so far.
struct SchemaCompiler::Sequence {
  GrammarBuilder& builder;
  const JsonParts& parts;
  std::map<std::pair<int64_t, int64_t>, std::optional<Node>> states{};

  Node item(bool first, Node node, Node rest) const { return in_order(builder, {first ? builder.empty() : parts.comma, node, rest}); }
  Node enclosed(Texts items, bool may_be_empty) const {
    std::vector<Node> ways;
    if (items) ways.push_back(in_order(builder, {builder.literal("["), parts.gap, *items, parts.gap, builder.literal("]")}));
    if (may_be_empty) ways.push_back(builder.literal("[]"));
    return builder.choice(ways);
  }
  Texts rule(const std::vector<Node>& ways) const {
    if (ways.empty()) return std::nullopt;
    const Node out = builder.declare();
    builder.define(out, builder.choice(ways));
    return out;
  }
};

Result<Texts> SchemaCompiler::arrays(const SchemaLimits& limits) {
  const size_t prefix = prefix_of(limits);
  if (prefix > kMostPrefix) return places_.refuse(limits.place, "more \"prefixItems\" than a grammar should have");
  if (limits.unique && (limits.max_items < 0 || limits.max_items > 1)) return distinct_items(limits);
  if (!limits.contains.empty()) return containing_items(limits);
  int64_t most = limits.max_items;
  const auto at_most = [&](int64_t count) { most = most < 0 ? count : std::min(most, count); };
  std::vector<Node> items;
  for (size_t i = 0; i < prefix && (most < 0 || static_cast<int64_t>(i) < most); ++i) {
    TRY(const Texts item, texts(meaning_.item_terms(limits, i)));
    if (!item) {
      at_most(static_cast<int64_t>(i));
      break;
    }
    items.push_back(*item);
  }
  // Beyond the prefix: offered where the schema says something of it, or where minItems needs it.
  const bool says = std::ranges::any_of(limits.arrays, [](const ArrayRule& rule) { return rule.rest.has_value(); });
  const auto listed = static_cast<int64_t>(items.size());
  Texts tail;
  if ((most < 0 || most > listed) && (prefix == 0 || says || limits.min_items > listed)) {
    TRY(tail, texts(meaning_.item_terms(limits, prefix)));
  }
  if (!tail) at_most(listed);
  if (most >= 0 && limits.min_items > most) return Texts();
  if (listed == 0) {
    const Node list = tail ? json_list(builder_, parts_, *tail, limits.min_items, most) : builder_.empty();
    return Texts(in_order(builder_, {builder_.literal("["), list, builder_.literal("]")}));
  }
  Node rest = builder_.empty();
  if (tail) rest = builder_.repeat(in_order(builder_, {parts_.comma, *tail}), std::max<int64_t>(0, limits.min_items - listed), most < 0 ? -1 : most - listed);
  for (size_t i = items.size(); i-- > 1;) {
    rest = in_order(builder_, {parts_.comma, items[i], rest});
    if (static_cast<int64_t>(i) >= limits.min_items) rest = builder_.optional(rest);
  }
  return Texts(Sequence{builder_, parts_}.enclosed(in_order(builder_, {items[0], rest}), limits.min_items == 0));
}

// nullopt: not plainly a small set.
Result<std::optional<std::vector<JsonView>>> SchemaCompiler::finite_values(const SchemaTerms& terms) {
  TRY(const auto* all, meaning_.alternatives(terms));
  std::vector<JsonView> out;
  for (const SchemaLimits& limits : *all) {
    if (!limits.values) return std::optional<std::vector<JsonView>>();
    for (const JsonView value : *limits.values) {
      TRY(const bool kept, meaning_.satisfies(value, limits));
      if (kept && std::ranges::none_of(out, [&](JsonView known) { return equal_json(known, value); })) out.push_back(value);
    }
  }
  return std::optional(std::move(out));
}

// Each value at most once: a state for every set of values used so far, or with many values for the last one.
Result<Texts> SchemaCompiler::distinct_items(const SchemaLimits& limits) {
  TRY(const auto values, finite_values(meaning_.item_terms(limits, 0)));
  if (!values || prefix_of(limits) > 0 || !limits.contains.empty()) return places_.refuse(limits.place, "\"uniqueItems\" for items that are not one \"enum\"");
  std::vector<Node> nodes;
  for (const JsonView value : *values) {
    std::string text;
    write_json(value, text);
    nodes.push_back(builder_.literal(text));
  }
  const auto count = static_cast<int64_t>(nodes.size()), most = limits.max_items < 0 ? count : std::min(count, limits.max_items);
  if (most < limits.min_items) return Texts();
  if (most == 0) return Texts(builder_.literal("[]"));
  const bool any_order = nodes.size() <= kAnyOrder;
  const int64_t cap = any_order || most < count ? most : std::max<int64_t>(limits.min_items, 1);  // more need not be told apart
  if (!any_order && count * cap > static_cast<int64_t>(kMostStates)) return places_.refuse(limits.place, "\"uniqueItems\" over too many values");
  Sequence list{builder_, parts_};
  // `used`: bits of the values so far, or how many of the values in order are behind. `taken`: items so far.
  const auto after = [&](auto& self, int64_t used, int64_t taken) -> Texts {
    const auto [known, added] = list.states.try_emplace({used, taken});
    if (!added) return known->second;
    std::vector<Node> ways;
    const auto take = [&](int64_t i, int64_t then) {
      if (const Texts rest = self(self, then, std::min(cap, taken + 1))) ways.push_back(list.item(taken == 0, nodes[static_cast<size_t>(i)], *rest));
    };
    if (any_order ? taken >= std::max<int64_t>(limits.min_items, 1) : used == count && taken >= std::max<int64_t>(limits.min_items, 1)) ways.push_back(builder_.empty());
    const bool more = any_order || most < count ? taken < most : true;
    for (int64_t i = 0; any_order && more && i < count; ++i)
      if ((used >> i & 1) == 0) take(i, used | int64_t{1} << i);
    if (!any_order && used < count) {
      if (more) take(used, used + 1);
      if (const Texts rest = self(self, used + 1, taken)) ways.push_back(*rest);
    }
    return list.states[{used, taken}] = list.rule(ways);
  };
  return Texts(list.enclosed(after(after, 0, 0), limits.min_items == 0));
}

// A state counts the items and those that match; both are capped where more makes no difference.
Result<Texts> SchemaCompiler::containing_items(const SchemaLimits& limits) {
  if (limits.contains.size() > 1) return places_.refuse(limits.place, "\"contains\" more than once");
  const ContainsRule& rule = limits.contains[0];
  const auto prefix = static_cast<int64_t>(prefix_of(limits));
  const int64_t items_cap = limits.max_items >= 0 ? limits.max_items : std::max({limits.min_items, prefix, int64_t{1}});
  const int64_t matches_cap = rule.most >= 0 ? rule.most : rule.least;
  if ((items_cap + 1) * (matches_cap + 1) > static_cast<int64_t>(kMostStates)) return places_.refuse(limits.place, "\"contains\" with too large a count");
  const auto with = [&](SchemaTerms terms, bool negated) {
    terms.push_back({rule.item.place, rule.item.negated != negated});
    return sorted_terms(std::move(terms));
  };
  std::vector<Texts> matching, others;
  for (int64_t i = 0; i <= std::min(prefix, items_cap); ++i) {
    const SchemaTerms terms = meaning_.item_terms(limits, static_cast<size_t>(i));
    TRY(const Texts match, texts(with(terms, false)));
    TRY(const Texts other, texts(rule.most >= 0 ? with(terms, true) : terms));
    matching.push_back(match), others.push_back(other);
  }
  Sequence list{builder_, parts_};
  // Rules first: without a largest count a state leads back to itself.
  const auto after = [&](auto& self, int64_t items, int64_t matches) -> Node {
    auto [known, added] = list.states.try_emplace({items, matches});
    if (!added) return *known->second;
    const Node out = builder_.declare();
    known->second = out;
    std::vector<Node> ways;
    if (items >= std::max<int64_t>(limits.min_items, 1) && matches >= rule.least) ways.push_back(builder_.empty());
    if (limits.max_items < 0 || items < limits.max_items) {
      const auto at = static_cast<size_t>(std::min(items, prefix));
      const int64_t next = std::min(items_cap, items + 1);
      if (others[at]) ways.push_back(list.item(items == 0, *others[at], self(self, next, matches)));
      if (matching[at] && (rule.most < 0 || matches < rule.most))
        ways.push_back(list.item(items == 0, *matching[at], self(self, next, std::min(matches_cap, matches + 1))));
    }
    builder_.define(out, builder_.choice(ways));
    return out;
  };
  return Texts(list.enclosed(after(after, 0, 0), limits.min_items == 0 && rule.least == 0));
}
