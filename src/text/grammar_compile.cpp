// grammar compile: nodes become automata, by continuation: the automaton of a node is built in front of what follows it.
#include <algorithm>
#include <limits>
#include <map>
#include <queue>

#include "text/grammar_machine.h"

using Node = GrammarBuilder::Node;
using Kind = GrammarNode::Kind;
using Parts = GrammarParts::Parts;

static constexpr size_t kMaxSteps = 600'000, kMaxMoves = 4'000'000;
static constexpr size_t kMaxWork = 5'000'000;  // steps looked at on the way to those that read
static constexpr int kMaxNesting = 3000;
static constexpr int64_t kMaxCount = 1 << 30;

namespace {
// A state of the first automaton: it reads one byte, forks without reading, calls a rule, or is the end of its rule.
struct Step {
  enum class Kind : uint8_t { byte, fork, call, final } kind = Kind::fork;
  int32_t set = 0;                       // byte
  int32_t rule = 0, least = 0, most = 0;  // call: how often more than once
  int32_t next = -1;                     // byte, call
  std::vector<int32_t> ways;             // fork
};
using StepId = int32_t;

struct PairHash {
  size_t operator()(uint64_t key) const { return static_cast<size_t>((key ^ key >> 29) * 0x9e3779b97f4a7c15u); }
};
uint64_t pair_key(int32_t a, int32_t b) { return static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32 | static_cast<uint32_t>(b); }

class Compiler {
 public:
  Compiler(const Parts& parts, const NodeFacts& facts) : parts_(parts), facts_(facts) {}
  Result<GrammarMachine> run(Node root);

 private:
  struct Rule { Node node; bool counted; StepId start, end; };

  bool full() const { return steps_.size() >= kMaxSteps || work_ > kMaxWork || too_deep_; }
  StepId add(Step step) {
    steps_.push_back(std::move(step));
    return static_cast<StepId>(steps_.size()) - 1;
  }
  int32_t intern(const ByteSet& set);
  StepId byte(int32_t set, StepId next);
  StepId call(int32_t rule, int64_t least, int64_t most, StepId next);
  StepId fork(std::vector<StepId> ways);
  int32_t rule_of(Node node, bool counted);
  StepId build(Node node, StepId next);
  StepId build_inside(Node node, StepId next);
  StepId build_repeat(const GrammarNode& node, StepId next);

  std::vector<StepId> reach(StepId from);  // the steps that are no forks, without reading
  void untie(std::span<const int32_t> cycle);
  void number_rules(std::vector<int32_t>& order);
  int32_t state_of(StepId step, bool may_be_final);
  void settle(int32_t state, StepId step, bool may_be_final);

  const Parts& parts_;
  const NodeFacts& facts_;
  std::vector<Step> steps_;
  std::vector<Rule> rules_;
  std::unordered_map<uint64_t, int32_t, PairHash> rule_ids_, bytes_, built_;
  std::unordered_map<std::string, int32_t> set_ids_;
  std::vector<uint32_t> marks_;
  uint32_t mark_ = 0;
  int32_t current_ = 0, nesting_ = 0;
  bool too_deep_ = false;
  size_t work_ = 0;
  GrammarMachine out_;
  std::unordered_map<uint64_t, int32_t, PairHash> state_ids_;
  std::vector<std::tuple<int32_t, StepId, bool>> unsettled_;
  std::unordered_map<int32_t, int32_t> rule_number_;
};

int32_t Compiler::intern(const ByteSet& set) {
  const auto [it, is_new] = set_ids_.try_emplace(std::string(reinterpret_cast<const char*>(&set), sizeof set), static_cast<int32_t>(out_.sets.size()));
  if (is_new) out_.sets.push_back(set);
  return it->second;
}

StepId Compiler::byte(int32_t set, StepId next) {
  const auto [it, is_new] = bytes_.try_emplace(pair_key(set, next), 0);
  if (is_new) it->second = add({.kind = Step::Kind::byte, .set = set, .next = next, .ways = {}});
  return it->second;
}

StepId Compiler::call(int32_t rule, int64_t least, int64_t most, StepId next) {
  return add({.kind = Step::Kind::call, .rule = rule, .least = static_cast<int32_t>(least), .most = static_cast<int32_t>(most), .next = next, .ways = {}});
}

StepId Compiler::fork(std::vector<StepId> ways) {
  if (ways.size() == 1) return ways[0];
  return add({.kind = Step::Kind::fork, .ways = std::move(ways)});
}

int32_t Compiler::rule_of(Node node, bool counted) {
  const auto [it, is_new] = rule_ids_.try_emplace(pair_key(node, counted), static_cast<int32_t>(rules_.size()));
  if (is_new) rules_.push_back({node, counted, -1, -1});
  return it->second;
}

StepId Compiler::build(Node node, StepId next) {
  if (full()) return next;
  const auto n = static_cast<size_t>(node);
  if (facts_.unit[n]) {
    // A rule that ends in itself is a loop, not a call.
    const Rule& here = rules_[static_cast<size_t>(current_)];
    const bool loops = parts_[node].kind == Kind::rule && next == here.end && here.node >= 0 && facts_.component[n] == facts_.component[static_cast<size_t>(here.node)];
    if (!loops) {
      const StepId called = call(rule_of(node, false), 0, 0, next);
      return facts_.nullable[n] ? fork({called, next}) : called;
    }
  }
  const bool leaf = parts_[node].kind < Kind::sequence;
  if (!leaf)
    if (const auto it = built_.find(pair_key(node, next)); it != built_.end()) return it->second;
  StepId loop = -1;
  if (parts_[node].kind == Kind::rule) built_[pair_key(node, next)] = loop = add({});
  if (++nesting_ > kMaxNesting) too_deep_ = true;
  StepId out = full() ? next : build_inside(node, next);
  nesting_--;
  if (loop >= 0) {
    steps_[static_cast<size_t>(loop)].ways = {out};
    out = loop;
  }
  if (!leaf) built_[pair_key(node, next)] = out;
  return out;
}

StepId Compiler::build_inside(Node id, StepId next) {
  const GrammarNode& node = parts_[id];
  switch (node.kind) {
    case Kind::empty: return next;
    case Kind::bytes: return byte(intern(parts_.sets[static_cast<size_t>(node.first)]), next);
    case Kind::rule: return build(node.first, next);
    case Kind::repeat: return build_repeat(node, next);
    case Kind::literal: {
      const std::string_view text = parts_.text_of(node);
      for (size_t i = text.size(); i-- > 0 && !full();) {
        ByteSet one;
        one.set(static_cast<uint8_t>(text[i]));
        next = byte(intern(one), next);
      }
      return next;
    }
    case Kind::sequence: {
      const auto children = parts_.children_of(node);
      for (size_t i = children.size(); i-- > 0;) next = build(children[i], next);
      return next;
    }
    case Kind::choice: {
      std::vector<StepId> ways;
      for (const Node c : parts_.children_of(node))
        if (facts_.productive[static_cast<size_t>(c)]) ways.push_back(build(c, next));
      return fork(std::move(ways));
    }
  }
  return next;
}

StepId Compiler::build_repeat(const GrammarNode& node, StepId next) {
  const auto n = static_cast<size_t>(node.first);
  if (!facts_.productive[n]) return next;
  // Where one round may be empty, fewer rounds do.
  const int64_t least = facts_.nullable[n] ? 0 : std::min(node.least, kMaxCount), most = node.most >= kMaxCount ? -1 : node.most;
  StepId at = next;
  if (most < 0) {
    const StepId loop = add({});
    const StepId round = build(node.first, loop);
    steps_[static_cast<size_t>(loop)].ways = {round, next};
    at = loop;
  }
  const bool counted = facts_.counted[static_cast<size_t>(&node - parts_.nodes.data())];
  if (counted && (most >= 0 || least > 0)) {
    const int64_t top = most < 0 ? least : most;
    const StepId called = call(rule_of(node.first, true), std::max<int64_t>(least - 1, 0), top - 1, at);
    return least == 0 ? fork({called, at}) : called;
  }
  for (int64_t i = most < 0 ? least : most; i > 0 && !full(); i--) {
    const StepId round = build(node.first, at);
    at = i > least ? fork({round, next}) : round;
  }
  return at;
}

std::vector<StepId> Compiler::reach(StepId from) {
  marks_.resize(steps_.size(), 0);
  mark_++;
  std::vector<StepId> open{from}, out;
  while (!open.empty()) {
    const StepId id = open.back();
    open.pop_back(), work_++;
    if (std::exchange(marks_[static_cast<size_t>(id)], mark_) == mark_) continue;
    const Step& step = steps_[static_cast<size_t>(id)];
    if (step.kind != Step::Kind::fork) out.push_back(id);
    else open.insert(open.end(), step.ways.rbegin(), step.ways.rend());
  }
  return out;
}

// Rules that begin with each other (`cycle`): with A_i = sum of A_j x_ij + b_i, each becomes b (x*) (Arden's lemma), where b are the
// beginnings without a call back into the cycle. Each rule gets a copy of all their automata, in which the end of rule j leads to a hub
// from which every x_ij goes on.
void Compiler::untie(std::span<const int32_t> cycle) {
  const auto inside = [&](int32_t rule) { return std::find(cycle.begin(), cycle.end(), rule) != cycle.end(); };
  std::map<int32_t, std::vector<StepId>> beginnings;
  std::map<StepId, int32_t> ends;
  for (const int32_t r : cycle) {
    beginnings[r] = reach(rules_[static_cast<size_t>(r)].start);
    ends[rules_[static_cast<size_t>(r)].end] = r;
  }
  std::vector<StepId> new_starts;
  for (const int32_t self : cycle) {
    std::unordered_map<StepId, StepId> copies;
    std::vector<StepId> open;
    std::map<int32_t, StepId> hubs;
    for (const int32_t r : cycle) hubs[r] = add({});
    const auto copy = [&](StepId id) {
      if (const auto it = ends.find(id); it != ends.end()) return hubs[it->second];
      const auto [it, is_new] = copies.try_emplace(id, 0);
      if (is_new) it->second = add({}), open.push_back(id);
      return it->second;
    };
    std::vector<StepId> starts;
    for (const auto& [r, steps] : beginnings)
      for (const StepId id : steps) {
        if (work_++; full()) return;
        const Step step = steps_[static_cast<size_t>(id)];
        if (step.kind == Step::Kind::final) continue;
        if (step.kind != Step::Kind::call || !inside(step.rule)) {
          starts.push_back(copy(id));
          continue;
        }
        StepId rest = copy(step.next);
        if (step.most > 0) {
          const StepId more = call(step.rule, std::max(step.least - 1, 0), step.most - 1, rest);
          rest = step.least == 0 ? fork({more, rest}) : more;
        }
        steps_[static_cast<size_t>(hubs[step.rule])].ways.push_back(rest);
      }
    steps_[static_cast<size_t>(hubs[self])].ways.push_back(rules_[static_cast<size_t>(self)].end);
    while (!open.empty() && !full()) {
      const StepId id = open.back();
      open.pop_back();
      Step step = steps_[static_cast<size_t>(id)];
      work_ += 1 + step.ways.size();
      if (step.next >= 0) step.next = copy(step.next);
      for (StepId& way : step.ways) way = copy(way);
      steps_[static_cast<size_t>(copies[id])] = std::move(step);
    }
    new_starts.push_back(fork(std::move(starts)));
  }
  for (size_t i = 0; i < cycle.size(); i++) rules_[static_cast<size_t>(cycle[i])].start = new_starts[i];
}

// Callers before the rules that they begin with.
void Compiler::number_rules(std::vector<int32_t>& order) {
  std::vector<std::vector<int32_t>> begins(rules_.size());
  std::vector<int32_t> all(rules_.size());
  const auto find_calls = [&](size_t r) {
    begins[r].clear();
    for (const StepId id : reach(rules_[r].start))
      if (steps_[static_cast<size_t>(id)].kind == Step::Kind::call) begins[r].push_back(steps_[static_cast<size_t>(id)].rule);
  };
  for (size_t r = 0; r < rules_.size(); r++) all[r] = static_cast<int32_t>(r), find_calls(r);
  const auto next = [&](int32_t r) { return std::span<const int32_t>(begins[static_cast<size_t>(r)]); };
  const auto component = strong_components(rules_.size(), all, next);
  std::map<int32_t, std::vector<int32_t>> members;
  for (const int32_t r : all) members[component[static_cast<size_t>(r)]].push_back(r);
  for (const auto& [id, cycle] : members) {
    const auto& first = begins[static_cast<size_t>(cycle[0])];
    if (cycle.size() == 1 && std::find(first.begin(), first.end(), cycle[0]) == first.end()) continue;
    untie(cycle);
    if (full()) return;
  }
  order.assign(all.begin(), all.end());  // components are numbered callees first, and untying leaves no edge inside one
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return std::pair(component[static_cast<size_t>(b)], a) < std::pair(component[static_cast<size_t>(a)], b); });
}

int32_t Compiler::state_of(StepId step, bool may_be_final) {
  const auto [it, is_new] = state_ids_.try_emplace(pair_key(step, may_be_final), static_cast<int32_t>(out_.states.size()));
  if (is_new) out_.states.push_back({.rule = current_}), unsettled_.emplace_back(it->second, step, may_be_final);
  return it->second;
}

void Compiler::settle(int32_t id, StepId from, bool may_be_final) {
  GrammarMachine::State state;
  state.rule = current_;
  std::map<StepId, ByteSet> moves;
  std::vector<GrammarMachine::Call> calls;
  for (const StepId s : reach(from)) {
    const Step& step = steps_[static_cast<size_t>(s)];
    if (step.kind == Step::Kind::byte) moves[step.next] |= out_.sets[static_cast<size_t>(step.set)];
    else if (step.kind == Step::Kind::call) calls.push_back({rule_number_[step.rule], step.least, step.most, state_of(step.next, true)});
    else state.final = may_be_final;
  }
  std::vector<GrammarMachine::ByteMove> made;
  for (const auto& [next, set] : moves) made.push_back({intern(set), state_of(next, true)});
  state.only_final = state.final && made.empty() && calls.empty();
  state.first_move = static_cast<uint32_t>(out_.moves.size()), state.n_moves = static_cast<uint32_t>(made.size());
  state.first_call = static_cast<uint32_t>(out_.calls.size()), state.n_calls = static_cast<uint32_t>(calls.size());
  out_.moves.insert(out_.moves.end(), made.begin(), made.end());
  out_.calls.insert(out_.calls.end(), calls.begin(), calls.end());
  out_.states[static_cast<size_t>(id)] = state;
}

void divide_bytes(GrammarMachine& machine) {
  std::vector<char> used(machine.sets.size());
  for (const auto& move : machine.moves) used[static_cast<size_t>(move.set)] = true;
  for (size_t s = 0; s < machine.sets.size(); s++) {
    if (!used[s]) continue;
    std::array<std::array<int16_t, 2>, 256> split;
    for (auto& halves : split) halves = {-1, -1};
    int16_t n = 0;
    for (size_t b = 0; b < 256; b++) {
      int16_t& id = split[machine.class_of[b]][machine.sets[s][b]];
      if (id < 0) id = n++;
      machine.class_of[b] = static_cast<uint8_t>(id);
    }
    if (n == 256) break;
  }
  for (size_t b = 0; b < 256; b++)
    if (machine.class_of[b] == machine.bytes_of_class.size()) machine.bytes_of_class.push_back(static_cast<uint8_t>(b));
}

// Shortest paths to counted calls, backwards along moves (a byte), calls (none) and what follows calls (a byte at least).
void find_counts(GrammarMachine& machine) {
  auto& ahead = machine.count_ahead;
  ahead.assign(machine.states.size(), std::numeric_limits<int32_t>::max());
  std::vector<std::vector<std::pair<int32_t, int32_t>>> before(machine.states.size());  // [state]: whence, bytes
  using Reached = std::pair<int32_t, int32_t>;
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> open;
  const bool any = std::any_of(machine.calls.begin(), machine.calls.end(), [](const auto& call) { return call.most > 0; });
  for (size_t s = 0; s < machine.states.size() && any; s++) {
    const auto from = static_cast<int32_t>(s);
    for (const auto& move : machine.moves_of(machine.states[s])) before[static_cast<size_t>(move.to)].emplace_back(from, 1);
    for (const auto& call : machine.calls_of(machine.states[s])) {
      before[static_cast<size_t>(machine.starts[static_cast<size_t>(call.rule)])].emplace_back(from, 0);
      before[static_cast<size_t>(call.to)].emplace_back(from, 1);
      for (const int32_t count : {call.least, call.most})
        if (count > 0) open.emplace(count, from);
    }
  }
  while (!open.empty()) {
    const auto [count, state] = open.top();
    open.pop();
    if (count >= ahead[static_cast<size_t>(state)]) continue;
    ahead[static_cast<size_t>(state)] = count;
    for (const auto& [from, bytes] : before[static_cast<size_t>(state)]) open.emplace(count + bytes, from);
  }
}

Result<GrammarMachine> Compiler::run(Node root) {
  // Rule 0 is the whole; it is never called.
  rules_.push_back({-1, false, -1, -1});
  for (size_t r = 0; r < rules_.size() && !full(); r++) {
    current_ = static_cast<int32_t>(r);
    const StepId end = rules_[r].end = add({.kind = Step::Kind::final, .ways = {}});
    built_.clear();
    const Node node = r == 0 ? root : rules_[r].node;
    const bool itself = r != 0 && !rules_[r].counted;  // a rule's own automaton, not a call of it
    const StepId start = itself ? add({}) : build(node, end);
    rules_[r].start = start;
    if (!itself) continue;
    built_[pair_key(node, end)] = start;
    const StepId inside = build_inside(node, end);
    steps_[static_cast<size_t>(start)].ways = {inside};
  }
  std::vector<int32_t> order;
  if (!full()) number_rules(order);
  if (too_deep_) return Error{Code::too_large, "grammar: nested more than 3000 levels deep"};
  if (full()) return Error{Code::too_large, "grammar: larger than 600000 states, or its rules begin with each other in too many ways"};
  for (size_t i = 0; i < order.size(); i++) rule_number_[order[i]] = static_cast<int32_t>(i);
  for (const int32_t r : order) {
    current_ = rule_number_[r];
    out_.starts.push_back(state_of(rules_[static_cast<size_t>(r)].start, r == 0));
    out_.counted.push_back(rules_[static_cast<size_t>(r)].counted);
    if (r == 0) out_.root = out_.starts.back();
    while (!unsettled_.empty()) {
      const auto [state, step, may_be_final] = unsettled_.back();
      unsettled_.pop_back();
      settle(state, step, may_be_final);
      if (out_.moves.size() + out_.calls.size() > kMaxMoves || full()) return Error{Code::too_large, "grammar: larger than 4000000 transitions"};
    }
  }
  divide_bytes(out_);
  find_counts(out_);
  return std::move(out_);
}
}  // namespace

Result<GrammarMachine> compile_grammar(const Parts& parts, Node root) {
  TRY(const NodeFacts facts, study_nodes(parts, root));
  return Compiler(parts, facts).run(root);
}

Result<std::shared_ptr<const Grammar>> GrammarBuilder::build(Node root) && {
  if (parts_->too_large) return Error{Code::too_large, "grammar: more than 400000 nodes"};
  TRY(GrammarMachine machine, compile_grammar(*parts_, root));
  return std::shared_ptr<const Grammar>(std::make_shared<CompiledGrammar>(std::move(machine)));
}
