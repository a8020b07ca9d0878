// aho_corasick: builds the automaton: a trie, laid out in breadth so that a node's suffix is placed before it.
#include "privacy/aho_corasick.h"

#include <algorithm>
#include <tuple>

const AhoCorasick::ByteMap& AhoCorasick::same_bytes() {
  static const ByteMap map = [] {
    ByteMap m;
    for (size_t i = 0; i < m.size(); ++i) m[i] = static_cast<uint8_t>(i);
    return m;
  }();
  return map;
}

const AhoCorasick::ByteMap& AhoCorasick::lower_case() {
  static const ByteMap map = [] {
    ByteMap m = same_bytes();
    for (size_t i = 'A'; i <= 'Z'; ++i) m[i] = static_cast<uint8_t>(i + 32);
    return m;
  }();
  return map;
}

// Nodes as ranges of the sorted words that share a prefix.
struct AhoCorasick::Trie {
  struct Range { size_t begin, end, depth; };
  struct Child { uint8_t byte; Range range; };
  const std::vector<Word>& words;

  // Words as long as the prefix come first in a range.
  size_t first_longer(const Range& at) const {
    size_t i = at.begin;
    while (i < at.end && words[i].bytes.size() == at.depth) ++i;
    return i;
  }
  void children(const Range& at, std::vector<Child>& out) const {
    out.clear();
    for (size_t i = first_longer(at); i < at.end;) {
      const uint8_t byte = static_cast<uint8_t>(words[i].bytes[at.depth]);
      size_t end = i + 1;
      while (end < at.end && static_cast<uint8_t>(words[end].bytes[at.depth]) == byte) ++end;
      out.push_back({byte, {i, end, at.depth + 1}});
      i = end;
    }
  }
};

void AhoCorasick::build() {
  for (Word& word : words_) {
    for (char& c : word.bytes) c = static_cast<char>(map_[static_cast<uint8_t>(c)]);
  }
  std::sort(words_.begin(), words_.end(), [](const Word& a, const Word& b) { return std::tie(a.bytes, a.id) < std::tie(b.bytes, b.id); });
  nodes_.clear();
  outs_.assign(1, {});
  root_ = {};
  if (!words_.empty()) place(Trie{words_});
}

void AhoCorasick::place(const Trie& trie) {
  struct Placed { uint32_t node; Trie::Range range; };
  std::vector<Placed> queue{{0, {0, words_.size(), 0}}};
  std::vector<Trie::Child> children;
  nodes_.assign(512, {0, none, 0, 0});
  nodes_[0].parent = 0;
  uint32_t free = 1;  // no free slot before it
  for (size_t q = 0; q < queue.size(); ++q) {
    const Placed at = queue[q];
    trie.children(at.range, children);
    if (children.empty()) continue;
    while (nodes_[free].parent != none) ++free;
    // The first base where all children fall on free slots.
    uint32_t base = free > children[0].byte ? free - children[0].byte : 1;
    const auto fits = [&] { return std::all_of(children.begin(), children.end(), [&](const Trie::Child& c) { return nodes_[base + c.byte].parent == none; }); };
    while (true) {
      if (nodes_.size() < base + 512) nodes_.resize(nodes_.size() * 2, {0, none, 0, 0});
      if (fits()) break;
      ++base;
    }
    nodes_[at.node].base = base;
    for (const Trie::Child& child : children) {
      const uint32_t to = base + child.byte;
      nodes_[to] = {0, at.node, 0, 0};
      nodes_[to].fail = at.node == 0 ? 0 : next(nodes_[at.node].fail, child.byte);
      nodes_[to].out = nodes_[nodes_[to].fail].out;
      for (size_t i = trie.first_longer(child.range); i-- > child.range.begin;) {
        outs_.push_back({words_[i].id, nodes_[to].out});
        nodes_[to].out = static_cast<uint32_t>(outs_.size() - 1);
      }
      if (at.node == 0) root_[child.byte] = to;
      queue.push_back({to, child.range});
    }
  }
  nodes_.shrink_to_fit();
}
