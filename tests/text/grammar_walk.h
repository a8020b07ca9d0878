// grammar walk: a random text of a grammar, for tests that read back what a grammar can write.
#pragma once
#include <random>
#include <string>
#include "text/grammar_parts.h"

class GrammarWalk {
 public:
  GrammarWalk(const GrammarBuilder& builder, uint32_t seed) : parts_(GrammarParts::of(builder)), random_(seed) {}
  // False: it went too deep or found nothing to write; another seed may do better.
  bool write(GrammarBuilder::Node root, std::string& out) { return walk(root, out, 0); }

 private:
  using Kind = GrammarNode::Kind;
  bool walk(GrammarBuilder::Node at, std::string& out, int depth) {
    if (depth > 400 || out.size() > 20000) return false;
    const GrammarNode& node = parts_[at];
    switch (node.kind) {
      case Kind::empty: return true;
      case Kind::literal: out += parts_.text_of(node); return true;
      case Kind::bytes: return write_byte(parts_.sets[static_cast<size_t>(node.first)], out);
      case Kind::rule: return node.first >= 0 && walk(node.first, out, depth + 1);
      case Kind::sequence:
        for (const auto child : parts_.children_of(node))
          if (!walk(child, out, depth + 1)) return false;
        return true;
      case Kind::choice: return walk_choice(node, out, depth);
      case Kind::repeat: {
        const int64_t most = node.most < 0 ? node.least + 6 : std::min(node.most, node.least + 6);
        // Deep inside, as little as possible: nested values end.
        for (int64_t n = depth > 60 ? node.least : node.least + static_cast<int64_t>(random_() % static_cast<uint64_t>(most - node.least + 1)); n > 0; --n)
          if (!walk(node.first, out, depth + 1)) return false;
        return true;
      }
    }
    return false;
  }
  bool walk_choice(const GrammarNode& node, std::string& out, int depth) {
    const auto children = parts_.children_of(node);
    const size_t size = out.size();
    for (int tries = 0; !children.empty() && tries < 8; ++tries) {
      if (walk(children[random_() % children.size()], out, depth + 1)) return true;
      out.resize(size);
    }
    return false;
  }
  bool write_byte(const ByteSet& set, std::string& out) {
    if (set.none()) return false;
    size_t byte = random_() % 256;
    while (!set[byte]) byte = (byte + 1) % 256;
    out += static_cast<char>(byte);
    return true;
  }

  const GrammarParts::Parts& parts_;
  std::mt19937 random_;
};
