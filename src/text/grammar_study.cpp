// grammar study: which nodes can match, which match the empty string, which recurse, and which become rules of their own.
#include <algorithm>

#include "text/grammar_machine.h"

using Node = GrammarBuilder::Node;
using Kind = GrammarNode::Kind;
using Parts = GrammarParts::Parts;

static constexpr int64_t kUnrolledStates = 64, kUnrolledFew = 8, kUnrolledFewStates = 256;  // a repetition with more states is counted
static constexpr int64_t kInlineStates = 48;   // a larger node that is used twice becomes a rule
static constexpr size_t kWideBytes = 32;       // a repeated set of so many bytes lets in so many tokens that its masks should be shared
static constexpr int64_t kHuge = 1'000'000;

static std::span<const Node> successors(const Parts& parts, Node n) {
  const GrammarNode& node = parts[n];
  if (node.kind == Kind::sequence || node.kind == Kind::choice) return parts.children_of(node);
  if (node.kind == Kind::repeat || node.kind == Kind::rule) return {&node.first, node.first < 0 ? 0u : 1u};
  return {};
}

// The least fixed point of "a node holds when all of its children do (sequence) or one of them (the others)", from `seeds` on.
static std::vector<char> spread(const Parts& parts, const std::vector<char>& seeds) {
  const size_t n = parts.nodes.size();
  std::vector<uint32_t> first(n + 1, 0), missing(n, 1);
  for (size_t i = 0; i < n; i++) {
    const auto next = successors(parts, static_cast<Node>(i));
    for (const Node c : next) first[static_cast<size_t>(c) + 1]++;
    if (parts.nodes[i].kind == Kind::sequence) missing[i] = static_cast<uint32_t>(next.size());
  }
  for (size_t i = 0; i < n; i++) first[i + 1] += first[i];
  std::vector<Node> parents(first[n]), open;
  std::vector<uint32_t> fill(first.begin(), first.end() - 1);
  for (size_t i = 0; i < n; i++)
    for (const Node c : successors(parts, static_cast<Node>(i))) parents[fill[static_cast<size_t>(c)]++] = static_cast<Node>(i);
  std::vector<char> holds = seeds;
  for (size_t i = 0; i < n; i++)
    if (holds[i]) open.push_back(static_cast<Node>(i));
  while (!open.empty()) {
    const auto node = static_cast<size_t>(open.back());
    open.pop_back();
    for (uint32_t i = first[node]; i < first[node + 1]; i++) {
      const auto parent = static_cast<size_t>(parents[i]);
      if (holds[parent] || --missing[parent] > 0) continue;
      holds[parent] = true, open.push_back(parents[i]);
    }
  }
  return holds;
}

namespace {
struct Study {
  const Parts& parts;
  NodeFacts facts;
  std::vector<int64_t> size;   // states of one copy, as a caller sees it
  std::vector<char> wide;      // holds a long repetition of a large set
  std::vector<char> broad;     // a large set may come next somewhere in it
  std::vector<int32_t> users;

  bool recursive(Node n) const {
    const GrammarNode& node = parts[n];
    return node.kind == Kind::rule && facts.component[static_cast<size_t>(n)] == facts.component[static_cast<size_t>(node.first)];
  }
  void measure(Node n) {
    const auto i = static_cast<size_t>(n);
    const GrammarNode& node = parts[n];
    size[i] = node.kind == Kind::literal ? node.count : 1;
    if (node.kind == Kind::bytes) broad[i] = parts.sets[static_cast<size_t>(node.first)].count() >= kWideBytes;
    if (recursive(n)) {
      facts.unit[i] = true;
      return;
    }
    for (const Node c : successors(parts, n)) {
      size[i] = std::min(size[i] + size[static_cast<size_t>(c)], kHuge);
      wide[i] |= wide[static_cast<size_t>(c)], broad[i] |= broad[static_cast<size_t>(c)];
    }
    if (node.kind == Kind::repeat) measure_repeat(i, node);
    if (users[i] > 1 && (size[i] > kInlineStates || wide[i])) {
      facts.unit[i] = true;
      size[i] = 1, wide[i] = broad[i] = false;
    }
  }
  void measure_repeat(size_t i, const GrammarNode& node) {
    const int64_t copies = node.most < 0 ? node.least : node.most;
    const int64_t inner = std::max<int64_t>(size[static_cast<size_t>(node.first)], 1);
    wide[i] |= broad[i] && (node.most < 0 || node.most > kUnrolledFew);
    const int64_t limit = copies <= kUnrolledFew ? kUnrolledFewStates : wide[i] ? 0 : kUnrolledStates;
    facts.counted[i] = copies > 1 && copies > limit / inner;
    size[i] = facts.counted[i] ? 1 : std::min(inner * std::max<int64_t>(copies, 1) + 1, kHuge);
  }
};
}  // namespace

Result<NodeFacts> study_nodes(const Parts& parts, Node root) {
  const size_t n = parts.nodes.size();
  Study s{parts, {}, std::vector<int64_t>(n), std::vector<char>(n), std::vector<char>(n), std::vector<int32_t>(n)};
  NodeFacts& facts = s.facts;
  facts.unit.assign(n, false), facts.counted.assign(n, false), facts.reached.assign(n, false);
  facts.component = strong_components(n, std::array{root}, [&](Node node) { return successors(parts, node); });
  std::vector<Node> order;
  std::vector<char> can_match(n), can_be_empty(n);
  for (size_t i = 0; i < n; i++) {
    const GrammarNode& node = parts.nodes[i];
    facts.reached[i] = facts.component[i] >= 0;
    can_be_empty[i] = node.kind == Kind::empty || (node.kind == Kind::repeat && node.least == 0);
    can_match[i] = can_be_empty[i] || node.kind == Kind::literal || node.kind == Kind::bytes;
    if (!facts.reached[i]) continue;
    if (node.kind == Kind::rule && node.first < 0) {
      std::string name;
      for (const auto& [rule, text] : parts.names)
        if (rule == static_cast<Node>(i)) name = text;
      return Error{Code::invalid_request, "grammar: a rule is used but not defined" + (name.empty() ? std::string() : ": \"" + name + "\"")};
    }
    order.push_back(static_cast<Node>(i));
  }
  facts.productive = spread(parts, can_match);
  facts.nullable = spread(parts, can_be_empty);
  if (!facts.productive[static_cast<size_t>(root)]) return Error{Code::invalid_request, "grammar: no text matches it"};
  for (const Node node : order)
    if (facts.productive[static_cast<size_t>(node)])
      for (const Node c : successors(parts, node)) s.users[static_cast<size_t>(c)]++;
  // What is referred to comes first; within a component that recurses, nodes were made after their children.
  std::sort(order.begin(), order.end(), [&](Node a, Node b) { return std::pair(facts.component[static_cast<size_t>(a)], a) < std::pair(facts.component[static_cast<size_t>(b)], b); });
  for (const Node node : order) s.measure(node);
  return std::move(facts);
}
