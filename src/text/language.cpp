// language: subset construction, products, lengths.
#include "text/language.h"

#include <algorithm>
#include <map>

#include "text/grammar_parts.h"

using Node = GrammarBuilder::Node;

static constexpr size_t kMostNfaStates = 100'000;
static constexpr size_t kMostMinimised = 600;      // refinement takes time that grows with the square
static constexpr int kMostDepth = 200;             // of nested nodes

static Error too_large() { return {Code::unsupported, "a set of texts with too many states"}; }

namespace {

struct Transition {
  const ByteSet* on = nullptr;  // null: without reading
  int to = 0;
};

// Thompson's automaton of a node.
class Nfa {
 public:
  explicit Nfa(const GrammarBuilder& builder) : parts_(GrammarParts::of(builder)) {
    for (size_t byte = 0; byte < 256; ++byte) single_[byte].set(byte);
  }
  Status read(Node node) {
    const int start = fresh(), end = fresh();
    CHECK(start == 0 && end == 1);
    return add(node, start, end, 0);
  }
  using Set = std::vector<int>;  // sorted
  void close(Set& set);
  Set step(const Set& set, uint8_t byte);
  std::vector<std::vector<uint8_t>> byte_classes() const;  // bytes that no transition tells apart
  bool accepts(const Set& set) const { return std::binary_search(set.begin(), set.end(), 1); }

 private:
  int fresh() { return transitions_.emplace_back(), static_cast<int>(transitions_.size()) - 1; }
  void connect(int from, int to, const ByteSet* on = nullptr) { transitions_[static_cast<size_t>(from)].push_back({on, to}); }
  Status add(Node node, int from, int to, int depth);
  Status add_repeat(const GrammarNode& node, int from, int to, int depth);

  const GrammarParts::Parts& parts_;
  std::array<ByteSet, 256> single_;
  std::vector<std::vector<Transition>> transitions_;
  std::vector<uint32_t> seen_;  // the last closure that met a state
  uint32_t closures_ = 0;
};

Status Nfa::add(Node id, int from, int to, int depth) {
  if (depth > kMostDepth || transitions_.size() > kMostNfaStates) return too_large();
  const GrammarNode& node = parts_[id];
  switch (node.kind) {
    case GrammarNode::Kind::empty: connect(from, to); break;
    case GrammarNode::Kind::bytes: connect(from, to, &parts_.sets[static_cast<size_t>(node.first)]); break;
    case GrammarNode::Kind::literal:
      for (const std::string_view text = parts_.text_of(node); const char& c : text) {
        const int next = &c == &text.back() ? to : fresh();
        connect(from, next, &single_[static_cast<uint8_t>(c)]);
        from = next;
      }
      break;
    case GrammarNode::Kind::sequence:
      for (const auto children = parts_.children_of(node); const Node& child : children) {
        const int next = &child == &children.back() ? to : fresh();
        TRY_STATUS(add(child, from, next, depth + 1));
        from = next;
      }
      break;
    case GrammarNode::Kind::choice:
      for (const Node child : parts_.children_of(node)) {
        // States of their own, so that a loop at the end of one alternative stays there.
        const int begin = fresh(), end = fresh();
        connect(from, begin), connect(end, to);
        TRY_STATUS(add(child, begin, end, depth + 1));
      }
      break;
    case GrammarNode::Kind::repeat: return add_repeat(node, from, to, depth);
    case GrammarNode::Kind::rule:
      if (node.first < 0) return too_large();
      return add(node.first, from, to, depth + 1);
  }
  return ok_status();
}

Status Nfa::add_repeat(const GrammarNode& node, int from, int to, int depth) {
  const auto once = [&]() -> Result<int> {
    const int begin = fresh(), end = fresh();
    connect(from, begin);
    TRY_STATUS(add(node.first, begin, end, depth + 1));
    return end;
  };
  for (int64_t i = 0; i < node.least; ++i) {
    TRY(from, once());
  }
  for (int64_t i = node.least; i < node.most; ++i) {
    connect(from, to);
    TRY(from, once());
  }
  if (node.most < 0) {
    const int loop = fresh(), end = fresh();
    connect(from, loop), connect(end, loop), connect(loop, to);
    return add(node.first, loop, end, depth + 1);
  }
  connect(from, to);
  return ok_status();
}

void Nfa::close(Set& set) {
  std::vector<int> open = set;
  seen_.resize(transitions_.size());
  ++closures_;
  for (const int state : set) seen_[static_cast<size_t>(state)] = closures_;
  while (!open.empty()) {
    const int state = open.back();
    open.pop_back();
    for (const Transition& transition : transitions_[static_cast<size_t>(state)]) {
      if (transition.on || seen_[static_cast<size_t>(transition.to)] == closures_) continue;
      seen_[static_cast<size_t>(transition.to)] = closures_;
      set.push_back(transition.to), open.push_back(transition.to);
    }
  }
  std::sort(set.begin(), set.end());
  // States that only pass on say nothing about what was read.
  std::erase_if(set, [&](int state) {
    return state != 1 && std::ranges::all_of(transitions_[static_cast<size_t>(state)], [](const Transition& transition) { return !transition.on; });
  });
}

std::vector<std::vector<uint8_t>> Nfa::byte_classes() const {
  std::vector<const ByteSet*> sets;
  for (const auto& list : transitions_)
    for (const Transition& transition : list)
      if (transition.on) sets.push_back(transition.on);
  std::sort(sets.begin(), sets.end());
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  std::map<std::vector<bool>, std::vector<uint8_t>> classes;
  for (size_t byte = 0; byte < 256; ++byte) {
    std::vector<bool> members;
    for (const ByteSet* set : sets) members.push_back(set->test(byte));
    classes[members].push_back(static_cast<uint8_t>(byte));
  }
  std::vector<std::vector<uint8_t>> out;
  for (auto& [members, bytes] : classes) out.push_back(std::move(bytes));
  return out;
}

Nfa::Set Nfa::step(const Set& set, uint8_t byte) {
  Set out;
  for (const int state : set)
    for (const Transition& transition : transitions_[static_cast<size_t>(state)])
      if (transition.on && transition.on->test(byte)) out.push_back(transition.to);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  if (!out.empty()) close(out);
  return out;
}

// States of a product or a subset construction, numbered as they are met.
template <class Key> struct Numbering {
  std::map<Key, int32_t> numbers;
  std::vector<Key> keys;
  int32_t of(const Key& key) {
    const auto [it, added] = numbers.try_emplace(key, static_cast<int32_t>(keys.size()));
    if (added) keys.push_back(key);
    return it->second;
  }
};

}  // namespace

Result<Language> Language::of(const GrammarBuilder& builder, Node node) {
  Nfa nfa(builder);
  TRY_STATUS(nfa.read(node));
  Language out;
  const auto classes = nfa.byte_classes();
  Numbering<Nfa::Set> sets;
  Nfa::Set start{0};
  nfa.close(start);
  sets.of(start);
  for (size_t i = 0; i < sets.keys.size(); ++i) {
    if (sets.keys.size() > kMostStates) return too_large();
    State& state = out.states_.emplace_back();
    const Nfa::Set from = sets.keys[i];
    state.accepts = nfa.accepts(from);
    for (const std::vector<uint8_t>& alike : classes) {
      const Nfa::Set to = nfa.step(from, alike[0]);
      const int32_t number = to.empty() ? -1 : sets.of(to);
      for (const uint8_t byte : alike) state.next[byte] = number;
    }
  }
  out.trim();
  out.minimise();
  return combine(out, text(), Keep::both);
}

Language Language::text() {
  Language out;
  std::array<int32_t, 256> nowhere;
  nowhere.fill(-1);
  out.states_.push_back({nowhere, true});
  for (size_t i = 0; i < out.states_.size(); ++i)
    for (int byte = 0; byte < 256; ++byte) {
      const int to = utf8_next(static_cast<int>(i), static_cast<uint8_t>(byte));
      if (to < 0) continue;
      while (out.states_.size() <= static_cast<size_t>(to)) out.states_.push_back({nowhere, false});
      out.states_[i].next[static_cast<size_t>(byte)] = to;
    }
  return out;
}

Language Language::words(std::span<const std::string> words) {
  Language out;
  std::array<int32_t, 256> nowhere;
  nowhere.fill(-1);
  out.states_.push_back({nowhere, false});
  for (const std::string& word : words) {
    size_t at = 0;
    for (const char c : word) {
      const auto byte = static_cast<uint8_t>(c);
      if (out.states_[at].next[byte] < 0) {
        out.states_[at].next[byte] = static_cast<int32_t>(out.states_.size());
        out.states_.push_back({nowhere, false});
      }
      at = static_cast<size_t>(out.states_[at].next[byte]);
    }
    out.states_[at].accepts = true;
  }
  out.trim();
  return out;
}

Result<Language> Language::combine(const Language& a, const Language& b, Keep keep) {
  const auto accepts = [](const Language& side, int32_t state) { return state >= 0 && side.states_[static_cast<size_t>(state)].accepts; };
  const auto next = [](const Language& side, int32_t state, size_t byte) { return state < 0 ? -1 : side.states_[static_cast<size_t>(state)].next[byte]; };
  Language out;
  Numbering<std::pair<int32_t, int32_t>> pairs;
  pairs.of({a.empty() ? -1 : 0, b.empty() ? -1 : 0});
  for (size_t i = 0; i < pairs.keys.size(); ++i) {
    if (pairs.keys.size() > kMostStates) return too_large();
    State& state = out.states_.emplace_back();
    const auto [p, q] = pairs.keys[i];
    const bool first = accepts(a, p), second = accepts(b, q);
    state.accepts = keep == Keep::both ? first && second : keep == Keep::either ? first || second : first && !second;
    std::pair<int32_t, int32_t> last{-2, -2};
    int32_t number = -1;
    for (size_t byte = 0; byte < 256; ++byte) {
      const std::pair to{next(a, p, byte), next(b, q, byte)};
      const bool dead = keep == Keep::both ? to.first < 0 || to.second < 0 : keep == Keep::either ? to.first < 0 && to.second < 0 : to.first < 0;
      if (to != last) number = dead ? -1 : pairs.of(to);
      last = to;
      state.next[byte] = number;
    }
  }
  out.trim();
  out.minimise();
  return out;
}

Result<Language> Language::of_length(int64_t least, int64_t most) const {
  if (empty() || (most >= 0 && most < least)) return Language();
  const int64_t cap = most >= 0 ? most : least;  // without a limit longer ones count as the least
  Language out;
  Numbering<std::pair<int32_t, int64_t>> pairs;
  pairs.of({0, 0});
  for (size_t i = 0; i < pairs.keys.size(); ++i) {
    if (pairs.keys.size() > kMostStates) return too_large();
    State& state = out.states_.emplace_back();
    const auto [from, count] = pairs.keys[i];
    state.accepts = states_[static_cast<size_t>(from)].accepts && count >= least;
    for (size_t byte = 0; byte < 256; ++byte) {
      const int32_t to = states_[static_cast<size_t>(from)].next[byte];
      const bool begins = (byte & 0xC0) != 0x80;
      state.next[byte] = to < 0 || (most >= 0 && begins && count == cap) ? -1 : pairs.of({to, begins ? std::min(cap, count + 1) : count});
    }
  }
  out.trim();
  out.minimise();
  return out;
}

bool Language::contains(std::string_view text) const {
  int32_t at = empty() ? -1 : 0;
  for (const char c : text) {
    if (at < 0) return false;
    at = states_[static_cast<size_t>(at)].next[static_cast<uint8_t>(c)];
  }
  return at >= 0 && states_[static_cast<size_t>(at)].accepts;
}

void Language::trim() {
  std::vector<std::vector<int32_t>> before(states_.size());
  std::vector<int32_t> open;
  std::vector<bool> useful(states_.size());
  for (size_t i = 0; i < states_.size(); ++i) {
    int32_t last = -1;
    for (const int32_t to : states_[i].next)
      if (to >= 0 && to != last) before[static_cast<size_t>(last = to)].push_back(static_cast<int32_t>(i));
    if (states_[i].accepts) useful[i] = true, open.push_back(static_cast<int32_t>(i));
  }
  while (!open.empty()) {
    const auto state = static_cast<size_t>(open.back());
    open.pop_back();
    for (const int32_t from : before[state])
      if (!useful[static_cast<size_t>(from)]) useful[static_cast<size_t>(from)] = true, open.push_back(from);
  }
  if (states_.empty() || !useful[0]) return states_.clear();
  std::vector<int32_t> number(states_.size(), -1);
  int32_t count = 0;
  for (size_t i = 0; i < states_.size(); ++i)
    if (useful[i]) number[i] = count++;
  for (size_t i = 0; i < states_.size(); ++i) {
    if (!useful[i]) continue;
    State& state = states_[static_cast<size_t>(number[i])];
    if (&state != &states_[i]) state = states_[i];
    for (int32_t& to : state.next)
      if (to >= 0) to = number[static_cast<size_t>(to)];
  }
  states_.resize(static_cast<size_t>(count));
}

// Bytes that lead to the same places everywhere: one of each kind.
std::vector<uint8_t> Language::different_bytes() const {
  std::map<std::vector<int32_t>, uint8_t> columns;
  for (size_t byte = 0; byte < 256; ++byte) {
    std::vector<int32_t> column;
    for (const State& state : states_) column.push_back(state.next[byte]);
    columns.try_emplace(std::move(column), static_cast<uint8_t>(byte));
  }
  std::vector<uint8_t> out;
  for (const auto& [column, byte] : columns) out.push_back(byte);
  return out;
}

// Moore's refinement: classes split until all members of one go to the same classes.
void Language::minimise() {
  if (states_.size() > kMostMinimised || states_.empty()) return;
  const std::vector<uint8_t> bytes = different_bytes();
  std::vector<int32_t> group(states_.size());
  for (size_t i = 0; i < states_.size(); ++i) group[i] = states_[i].accepts;
  size_t count = 0;
  std::vector<int32_t> signature(bytes.size() + 1);
  while (true) {
    std::map<std::vector<int32_t>, int32_t> signatures;
    std::vector<int32_t> next(states_.size());
    for (size_t i = 0; i < states_.size(); ++i) {
      signature[0] = group[i];
      for (size_t k = 0; k < bytes.size(); ++k) {
        const int32_t to = states_[i].next[bytes[k]];
        signature[k + 1] = to < 0 ? -1 : group[static_cast<size_t>(to)];
      }
      next[i] = signatures.try_emplace(signature, static_cast<int32_t>(signatures.size())).first->second;
    }
    group = std::move(next);
    if (signatures.size() == count) break;
    count = signatures.size();
  }
  std::vector<State> out(count);  // groups are numbered by their first member, so the start stays first
  for (size_t i = states_.size(); i-- > 0;) {
    State& state = out[static_cast<size_t>(group[i])];
    state = states_[i];
    for (int32_t& to : state.next)
      if (to >= 0) to = group[static_cast<size_t>(to)];
  }
  states_ = std::move(out);
}
