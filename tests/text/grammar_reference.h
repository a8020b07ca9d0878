// grammar reference: a slow recogniser that follows the meaning of the nodes word by word; the truth for the matcher.
#pragma once
#include <set>
#include <string_view>
#include <vector>

#include "text/grammar_parts.h"

// For a node and a start in the text: where its matches end, and whether the rest of the text begins one of its strings. Both for rules
// are the least fixed point over the whole grammar, found by repetition.
class GrammarReference {
 public:
  using Node = GrammarBuilder::Node;
  using Kind = GrammarNode::Kind;
  GrammarReference(const GrammarBuilder& builder, std::string_view text) : parts_(GrammarParts::of(builder)), text_(text) {
    productive_.assign(parts_.nodes.size(), false);
    ends_.assign(parts_.nodes.size(), std::vector<std::set<size_t>>(text.size() + 1));
    begins_.assign(parts_.nodes.size(), std::vector<char>(text.size() + 1, false));
  }
  // Is the text a match of `root`; `viable`: is it the beginning of one.
  bool run(Node root, bool* viable) {
    while (again([&](Node n) { return set(productive_[size_t(n)], can_match(n)); })) {}
    while (again([&](Node n) { return grow(n); })) {}
    if (viable) *viable = begins_[size_t(root)][0];
    return ends_[size_t(root)][0].contains(text_.size());
  }

 private:
  template <class F> bool again(F update) {
    bool changed = false;
    for (Node n = 0; n < static_cast<Node>(parts_.nodes.size()); n++) changed |= update(n);
    return changed;
  }
  template <class T> static bool set(T&& place, bool value) {
    if (bool(place) == value) return false;
    place = value;
    return true;
  }
  bool can_match(Node n) const {
    const GrammarNode& node = parts_[n];
    switch (node.kind) {
      case Kind::rule: return node.first >= 0 && productive_[size_t(node.first)];
      case Kind::sequence: for (const Node c : parts_.children_of(node)) if (!productive_[size_t(c)]) return false; return true;
      case Kind::choice: for (const Node c : parts_.children_of(node)) if (productive_[size_t(c)]) return true; return false;
      case Kind::repeat: return node.least == 0 || productive_[size_t(node.first)];
      default: return true;
    }
  }
  bool grow(Node n) {
    bool changed = false;
    for (size_t at = 0; at <= text_.size(); at++) {
      std::set<size_t> ends;
      bool begins = false;
      look(parts_[n], at, ends, begins);
      begins |= ends.contains(text_.size());
      if (ends != ends_[size_t(n)][at]) ends_[size_t(n)][at] = ends, changed = true;
      changed |= set(begins_[size_t(n)][at], begins);
    }
    return changed;
  }
  void look(const GrammarNode& node, size_t at, std::set<size_t>& ends, bool& begins) const {
    const auto rest = text_.substr(at);
    switch (node.kind) {
      case Kind::empty: ends.insert(at); break;
      case Kind::literal:
        if (rest.starts_with(parts_.text_of(node))) ends.insert(at + size_t(node.count));
        begins = parts_.text_of(node).starts_with(rest);
        break;
      case Kind::bytes:
        if (!rest.empty() && parts_.sets[size_t(node.first)][uint8_t(rest[0])]) ends.insert(at + 1);
        begins = rest.empty();
        break;
      case Kind::rule: if (node.first >= 0) ends = ends_[size_t(node.first)][at], begins = begins_[size_t(node.first)][at]; break;
      case Kind::choice:
        for (const Node c : parts_.children_of(node)) ends.insert(ends_[size_t(c)][at].begin(), ends_[size_t(c)][at].end()), begins |= bool(begins_[size_t(c)][at]);
        break;
      case Kind::sequence: look_sequence(node, at, ends, begins); break;
      case Kind::repeat: look_repeat(node, at, ends, begins); break;
    }
  }
  std::set<size_t> step(Node n, const std::set<size_t>& from) const {
    std::set<size_t> out;
    for (const size_t at : from) out.insert(ends_[size_t(n)][at].begin(), ends_[size_t(n)][at].end());
    return out;
  }
  void look_sequence(const GrammarNode& node, size_t at, std::set<size_t>& ends, bool& begins) const {
    ends = {at};
    for (const Node c : parts_.children_of(node)) {
      if (!can_match(c)) begins = false, ends.clear();
      for (const size_t from : ends) begins |= bool(begins_[size_t(c)][from]);
      ends = step(c, ends);
    }
    for (const Node c : parts_.children_of(node))
      if (!can_match(c)) begins = false;
  }
  void look_repeat(const GrammarNode& node, size_t at, std::set<size_t>& ends, bool& begins) const {
    std::set<size_t> here = {at};
    for (int64_t n = 0; node.most < 0 || n <= node.most; n++) {
      if (n >= node.least) ends.insert(here.begin(), here.end());
      if (node.most < 0 || n < node.most)
        for (const size_t from : here) begins |= bool(begins_[size_t(node.first)][from]);
      const std::set<size_t> next = step(node.first, here);
      if (next.empty()) break;
      // With a node that matches the empty string the set only grows; without, it moves on and runs out.
      if (next == here) {
        ends.insert(here.begin(), here.end());
        break;
      }
      if (n >= node.least && std::includes(ends.begin(), ends.end(), next.begin(), next.end())) break;
      here = next;
    }
    begins |= at == text_.size() && can_match_repeat(node);
  }
  bool can_match_repeat(const GrammarNode& node) const { return node.least == 0 || productive_[size_t(node.first)]; }

  const GrammarParts::Parts& parts_;
  std::string_view text_;
  std::vector<bool> productive_;
  std::vector<std::vector<std::set<size_t>>> ends_;  // [node][start]
  std::vector<std::vector<char>> begins_;            // [node][start]
};

inline bool reference_match(const GrammarBuilder& builder, GrammarBuilder::Node root, std::string_view bytes, bool* viable = nullptr) {
  return GrammarReference(builder, bytes).run(root, viable);
}
