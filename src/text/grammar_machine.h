// grammar machine: a grammar compiled to automata that call each other, and how one is made of nodes.
#pragma once
#include <array>
#include <mutex>
#include <vector>

#include "text/grammar_parts.h"

// A rule matches at least one byte; where it may match none, its callers have a way around the call. No rule begins with itself, however
// many calls deep. Every state can still reach the end of its rule, so whatever is alive is the beginning of a match.
struct GrammarMachine {
  struct ByteMove { int32_t set, to; };
  // Runs `rule` once, then between `least` and `most` times more.
  struct Call { int32_t rule, least, most, to; };
  struct State {
    uint32_t first_move = 0, n_moves = 0, first_call = 0, n_calls = 0;
    int32_t rule = 0;
    bool final = false;
    bool only_final = false;  // final, and nothing else: a call that leads here needs no return
  };
  std::vector<State> states;
  std::vector<ByteMove> moves;
  std::vector<Call> calls;
  std::vector<ByteSet> sets;
  std::vector<int32_t> starts;   // by rule: its first state. A rule's first state calls only rules of higher numbers
  std::vector<char> counted;     // by rule: the body of a counted repetition, which is looked at together with its caller
  std::vector<int32_t> count_ahead;  // by state: the lowest count of a call that may come, plus the bytes at least before it
  int32_t root = 0;              // the first state of all; unlike a rule it may be final
  std::array<uint8_t, 256> class_of{};  // bytes that no set tells apart
  std::vector<uint8_t> bytes_of_class;  // one byte of each class

  std::span<const ByteMove> moves_of(const State& s) const { return std::span(moves).subspan(s.first_move, s.n_moves); }
  std::span<const Call> calls_of(const State& s) const { return std::span(calls).subspan(s.first_call, s.n_calls); }
};

// What the compiler wants to know about every node before it starts.
struct NodeFacts {
  std::vector<char> reached, productive, nullable;
  std::vector<char> unit;          // called as a rule of its own: it recurses, or is large and used more than once
  std::vector<char> counted;       // a repetition that counts at run time
  std::vector<int32_t> component;  // of the graph of references: equal for nodes that reach each other
};
Result<NodeFacts> study_nodes(const GrammarParts::Parts& parts, GrammarBuilder::Node root);

Result<GrammarMachine> compile_grammar(const GrammarParts::Parts& parts, GrammarBuilder::Node root);

class MaskCache;
class TokenTrieImpl;
class CompiledGrammar final : public Grammar {
 public:
  explicit CompiledGrammar(GrammarMachine machine) : machine_(std::move(machine)) {}
  const GrammarMachine& machine() const { return machine_; }
  std::shared_ptr<MaskCache> masks(const std::shared_ptr<const TokenTrieImpl>& tokens) const;  // one for each vocabulary

 private:
  GrammarMachine machine_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<MaskCache>> masks_;
};

// Strongly connected components of 0 … n-1 as seen from `root`, numbered so that what is referred to comes first; -1: not reached.
template <class Successors> std::vector<int32_t> strong_components(size_t n, std::span<const int32_t> roots, Successors successors) {
  std::vector<int32_t> component(n, -1), low(n, -1), index(n, -1), open;
  struct Visit { int32_t node; size_t next; };
  std::vector<Visit> path;
  int32_t clock = 0, n_components = 0;
  const auto enter = [&](int32_t node) {
    index[static_cast<size_t>(node)] = low[static_cast<size_t>(node)] = clock++;
    open.push_back(node), path.push_back({node, 0});
  };
  for (const int32_t root : roots) {
    if (index[static_cast<size_t>(root)] < 0) enter(root);
    while (!path.empty()) {
      const int32_t node = path.back().node;
      const std::span<const int32_t> next = successors(node);
      if (path.back().next < next.size()) {
        const int32_t other = next[path.back().next++];
        if (index[static_cast<size_t>(other)] < 0) enter(other);
        else if (component[static_cast<size_t>(other)] < 0) low[static_cast<size_t>(node)] = std::min(low[static_cast<size_t>(node)], index[static_cast<size_t>(other)]);
        continue;
      }
      path.pop_back();
      if (!path.empty()) low[static_cast<size_t>(path.back().node)] = std::min(low[static_cast<size_t>(path.back().node)], low[static_cast<size_t>(node)]);
      if (low[static_cast<size_t>(node)] != index[static_cast<size_t>(node)]) continue;
      int32_t member;
      do {
        member = open.back(), open.pop_back();
        component[static_cast<size_t>(member)] = n_components;
      } while (member != node);
      n_components++;
    }
  }
  return component;
}
