// grammar mask: which tokens a position allows. What a rule allows by itself is looked up once and shared by all who use the grammar.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "text/grammar_stacks.h"
#include "text/token_trie.h"

// A set of tokens, by id: a bit each, or a list where they are few.
struct TokenSet {
  std::vector<uint64_t> bits;
  std::vector<TokenId> few;
  static TokenSet of(std::span<const uint64_t> bits);
  void add_to(std::span<uint64_t> out) const;
  size_t size_bytes() const { return bits.size() * 8 + few.size() * 4 + sizeof *this; }
};

// What a state allows as far as its own rule goes. A token that runs past the end of the rule is undecided: `exits` are the nodes of the
// trie just behind the end, sorted by their byte, less those whose tokens are all allowed anyway.
struct RuleTokens {
  TokenSet allowed;
  std::vector<int32_t> exits;
  size_t size_bytes() const { return allowed.size_bytes() + exits.size() * 4 + sizeof *this; }
};

// The last used values, up to a number of bytes.
template <class T> class RecentlyUsed {
 public:
  using Digest = GrammarStacks::Digest;
  explicit RecentlyUsed(size_t limit_bytes) : limit_bytes_(limit_bytes) {}
  std::shared_ptr<const T> find(const Digest& key) {
    const auto it = places_.find(key);
    if (it == places_.end()) return nullptr;
    values_.splice(values_.begin(), values_, it->second);
    return it->second->second;
  }
  void keep(const Digest& key, std::shared_ptr<const T> value) {
    if (places_.contains(key)) return;
    used_bytes_ += value->size_bytes() + kOverheadBytes;
    values_.emplace_front(key, std::move(value));
    places_[key] = values_.begin();
    while (used_bytes_ > limit_bytes_ && values_.size() > 1) {
      used_bytes_ -= values_.back().second->size_bytes() + kOverheadBytes;
      places_.erase(values_.back().first);
      values_.pop_back();
    }
  }

 private:
  static constexpr size_t kOverheadBytes = 128;
  struct Hash {
    size_t operator()(const Digest& d) const { return static_cast<size_t>(d.a ^ d.b); }
  };
  using Values = std::list<std::pair<Digest, std::shared_ptr<const T>>>;
  const size_t limit_bytes_;
  size_t used_bytes_ = 0;
  Values values_;  // the last used first
  std::unordered_map<Digest, typename Values::iterator, Hash> places_;
};

// Walks part of the trie along an automaton and shows what stays alive. Where a position comes back to itself with all characters of a
// subtree, the subtree is shown as one. Bounded: after too much work only single bytes are looked at, so what is shown is right but not all.
class TrieWalk {
 public:
  using PositionId = GrammarStacks::PositionId;
  TrieWalk(const TokenTrieImpl& tokens, GrammarAutomaton& automaton)
      : nodes_(tokens.nodes()), automaton_(automaton), path_(static_cast<size_t>(tokens.longest()) + 1), limit_(automaton.stacks().work() + kMaxWork) {}
  // Nodes `begin` … `end` - 1, whose parent is reached at `from`: visit(node, position) for one, visit_all(node) for one with its subtree.
  template <class Visit, class VisitAll> void run(PositionId from, int32_t begin, int32_t end, Visit visit, VisitAll visit_all) {
    if (begin >= end) return;
    const int base = nodes_[static_cast<size_t>(begin)].depth - 1;
    path_[static_cast<size_t>(base)] = {from, end - begin < kFewNodes ? kUnknown : automaton_.loops(from)};
    for (int32_t i = begin; i < end;) {
      const auto& node = nodes_[static_cast<size_t>(i)];
      const Step above = path_[node.depth - 1u];
      if ((node.groups & ~above.loops) == 0 && (node.byte & 0xc0) != 0x80) {  // between characters
        visit_all(i);
        i = node.skip;
        continue;
      }
      const PositionId p = tired(node.depth - base) ? 0 : automaton_.next(above.position, node.byte);
      if (p == 0) {
        i = node.skip;
        continue;
      }
      // Only a position that was seen to come back is worth asking for its loops.
      path_[node.depth] = {p, p == above.position ? above.loops == kUnknown ? automaton_.loops(p) : above.loops : kUnknown};
      visit(i++, p);
    }
  }
  // Nodes whose subtree has tokens longer than `longer`: visit(node, position), and dead(node) for one that is not alive.
  template <class Visit, class Dead> void run_long(PositionId from, int longer, Visit visit, Dead dead) {
    path_[0] = {from, kUnknown};
    for (int32_t i = 0; i + 1 < static_cast<int32_t>(nodes_.size());) {
      const auto& node = nodes_[static_cast<size_t>(i)];
      const PositionId p = node.deepest <= longer || tired(node.depth) ? 0 : automaton_.next(path_[node.depth - 1u].position, node.byte);
      if (p == 0) {
        if (node.deepest > longer) dead(i);
        i = node.skip;
        continue;
      }
      path_[node.depth] = {p, kUnknown};
      visit(i++, p);
    }
  }

 private:
  static constexpr uint64_t kMaxWork = 300'000;  // about 0.1 s; an ordinary position needs a hundredth
  static constexpr uint8_t kUnknown = 0;
  static constexpr int32_t kFewNodes = 256;  // walked sooner than their loops are found
  struct Step { PositionId position = 0; uint8_t loops = kUnknown; };
  bool tired(int depth) const { return depth > 1 && automaton_.stacks().work() > limit_; }
  const std::vector<TokenTrieImpl::Node>& nodes_;
  GrammarAutomaton& automaton_;
  std::vector<Step> path_;
  const uint64_t limit_;
};

// What is shared by all matchers of a grammar over one vocabulary.
class MaskCache {
 public:
  using Digest = GrammarStacks::Digest;
  using Frame = GrammarStacks::Frame;
  MaskCache(const GrammarMachine& machine, std::shared_ptr<const TokenTrieImpl> tokens);
  const TokenTrieImpl& tokens() const { return *tokens_; }
  const std::shared_ptr<const TokenTrieImpl>& shared_tokens() const { return tokens_; }
  // `counted`: the counted repetitions around the state, outermost first (their `below` is not read).
  std::shared_ptr<const RuleTokens> rule_tokens(int32_t state, std::span<const Frame> counted);
  std::shared_ptr<const TokenSet> find(const Digest& position);
  void keep(const Digest& position, std::shared_ptr<const TokenSet> mask);

 private:
  static GrammarStacks::PositionId place(GrammarAutomaton& automaton, int32_t state, std::span<const Frame> counted);
  int32_t lowest_count(int32_t state, std::span<const Frame> counted) const;
  std::shared_ptr<const RuleTokens> find_rule(const Digest& key);
  std::shared_ptr<const RuleTokens> keep_rule(const Digest& key, RuleTokens made);
  RuleTokens classify(GrammarStacks::PositionId start);
  RuleTokens refine(const RuleTokens& longer, GrammarStacks::PositionId start, int32_t count);
  void sort_exits(std::vector<int32_t>& exits) const;

  const GrammarMachine& machine_;
  const std::shared_ptr<const TokenTrieImpl> tokens_;
  std::mutex classify_mutex_;
  GrammarAutomaton exact_, uncounted_;  // under classify_mutex_; the second does not count
  std::mutex mutex_;
  RecentlyUsed<RuleTokens> rules_;
  RecentlyUsed<TokenSet> masks_;
};
