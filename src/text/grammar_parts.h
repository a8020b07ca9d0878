// grammar parts: the nodes that a GrammarBuilder collects, as the compiler and the reference recogniser read them.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "text/grammar.h"

// One node. What `first` and `count` mean depends on the kind.
struct GrammarNode {
  enum class Kind : uint8_t { empty, literal, bytes, sequence, choice, repeat, rule };
  Kind kind = Kind::empty;
  int32_t first = 0;  // literal: offset in `text`; bytes: index in `sets`; sequence, choice: offset in `children`; repeat: the node; rule: its body, -1 until defined
  int32_t count = 0;  // literal: bytes; sequence, choice: children
  int64_t least = 0, most = 0;  // repeat; most < 0: no limit
};

// Nodes of equal content are one node, rules aside: what is shared is compiled once.
struct GrammarBuilder::Parts {
  std::vector<GrammarNode> nodes;
  std::vector<Node> children;
  std::string text;
  std::vector<ByteSet> sets;
  std::vector<std::pair<Node, std::string>> names;  // of rules that have one, for messages
  std::unordered_map<std::string, Node> known;      // content -> node
  bool too_large = false;                           // a limit was met: build() fails

  Node add(const GrammarNode& node, std::string content);
  std::span<const Node> children_of(const GrammarNode& node) const { return std::span(children).subspan(static_cast<size_t>(node.first), static_cast<size_t>(node.count)); }
  std::string_view text_of(const GrammarNode& node) const { return std::string_view(text).substr(static_cast<size_t>(node.first), static_cast<size_t>(node.count)); }
  const GrammarNode& operator[](Node node) const { return nodes[static_cast<size_t>(node)]; }
};

struct GrammarParts {
  using Parts = GrammarBuilder::Parts;
  static const Parts& of(const GrammarBuilder& builder) { return *builder.parts_; }
};

// Sorted, disjoint, without surrogates and within Unicode; the complement in that set when `negated`.
std::vector<GrammarBuilder::Range> normal_ranges(std::span<const GrammarBuilder::Range> ranges, bool negated);

// The strict UTF-8 decoder as an automaton: state 0 is between characters; -1 is no UTF-8.
int utf8_next(int state, uint8_t byte);
