// grammar stacks: where a text may be in a grammar. Sets of stacks share their tails and are kept once, so equal positions have equal ids.
#pragma once
#include <compare>
#include <unordered_map>
#include <vector>

#include "text/grammar_machine.h"

// A position is a set of items: a state, and the calls to return from when its rule ends. Those are a set of frames, each over the set
// below it. Whatever could be merged is: a position has one item for a state, a set one frame for a place to return to. Grows until reset.
class GrammarStacks {
 public:
  using StackId = int32_t;     // a set of frames; 0: the end of the whole (of a rule, where only that rule is looked at)
  using PositionId = int32_t;  // 0: nothing is left, the text does not match
  struct Frame {
    int32_t to = -1, rule = -1;    // the state to return to; the rule that was called
    int32_t least = 0, most = 0;   // how often the rule has to run and may run once more before that
    StackId below = -1;
    auto operator<=>(const Frame&) const = default;
  };
  struct Item {
    int32_t state;
    StackId stack;
    auto operator<=>(const Item&) const = default;
  };
  struct Digest {  // the same for equal content in whatever GrammarStacks; counts beyond `count_limit` are equal
    uint64_t a = 0, b = 0;
    bool operator==(const Digest&) const = default;
  };

  // `count_limit`: counts that no token can exhaust are not told apart in digests.
  // Not `counting`: a repetition that may go on may go on for ever, one that must go on must for ever.
  GrammarStacks(const GrammarMachine& machine, int32_t count_limit, bool counting);
  void reset();
  const GrammarMachine& machine() const { return machine_; }

  std::span<const Item> items(PositionId p) const { return items_of(positions_[static_cast<size_t>(p)]); }
  std::span<const int32_t> frames(StackId s) const { return std::span(members_).subspan(stacks_[static_cast<size_t>(s)].first, stacks_[static_cast<size_t>(s)].count); }
  const Frame& frame(int32_t id) const { return frames_[static_cast<size_t>(id)]; }
  Digest digest(PositionId p) const { return positions_[static_cast<size_t>(p)].digest; }

  StackId push(std::vector<Frame> frames);          // a set of frames, merged
  PositionId copy(const GrammarStacks& other, PositionId position, std::unordered_map<StackId, StackId>& copied);
  PositionId position(std::vector<Item> items);     // merged
  PositionId returned(StackId stack);               // after the rule over `stack` has ended

  // A position with everything that can be done without reading: ended rules are left, calls entered.
  struct Open { std::vector<Item> items; bool at_end = false; };
  Open open(PositionId p);
  PositionId step(const Open& from, uint8_t byte);

  uint64_t work() const { return work_; }           // grows with the time spent
  size_t size() const { return frames_.size() + members_.size() + items_.size() + positions_.size(); }
  bool overfull() const { return size() > kMaxSize; }

 private:
  static constexpr size_t kMaxSize = 2'000'000;  // about 40 bytes each
  static constexpr size_t kMaxUnions = 100'000;
  static constexpr int32_t kMaxDepth = 1000;
  struct Stack { uint32_t first, count; int32_t depth; Digest digest; };
  struct Position { uint32_t first, count; Digest digest; };
  // Ids by hash, open addressing.
  struct Index {
    std::vector<int32_t> slots = std::vector<int32_t>(1024, -1);
    std::vector<uint64_t> hashes = std::vector<uint64_t>(1024);
    size_t used = 0;
    template <class Same> int32_t find(uint64_t hash, Same same) const;
    void insert(uint64_t hash, int32_t id);
  };
  std::span<const Item> items_of(const Position& p) const { return std::span(items_).subspan(p.first, p.count); }
  const GrammarMachine::State& state(int32_t s) const { return machine_.states[static_cast<size_t>(s)]; }
  int32_t count_down(int32_t count) const { return count > 0 && counting_ ? count - 1 : count; }
  int32_t keep(const Frame& frame);
  StackId keep(std::vector<int32_t> frames);
  StackId unite(StackId a, StackId b, int depth = 0);
  StackId push_merged(std::vector<Frame>& frames, int depth);
  void merge(std::vector<Item>& items);
  void leave(StackId stack, std::vector<Item>& items, std::vector<Frame>& again, bool& at_end);
  void enter(const Frame& frame, std::vector<Frame>& pending);

  const GrammarMachine& machine_;
  const int32_t count_limit_;
  const bool counting_;
  std::vector<Frame> frames_;
  std::vector<int32_t> members_;
  std::vector<Stack> stacks_;
  std::vector<Item> items_;
  std::vector<Position> positions_;
  Index frame_index_, stack_index_, position_index_;
  std::unordered_map<uint64_t, StackId> unions_;
  struct Seen { uint64_t mark = 0; StackId stack = 0; };
  std::vector<Seen> seen_;             // by state: where the last step led to it
  std::vector<uint64_t> frame_marks_;  // by frame: the last time it was returned from
  uint64_t mark_ = 0;
  uint64_t work_ = 0;
};

// The positions of a GrammarStacks as a deterministic automaton over classes of bytes, made as it is walked.
class GrammarAutomaton {
 public:
  using PositionId = GrammarStacks::PositionId;
  GrammarAutomaton(const GrammarMachine& machine, int32_t count_limit, bool counting = true) : stacks_(machine, count_limit, counting) {}
  GrammarStacks& stacks() { return stacks_; }
  const GrammarStacks& stacks() const { return stacks_; }
  PositionId next(PositionId p, uint8_t byte) {
    const size_t c = stacks_.machine().class_of[byte];
    const int32_t known = transitions_[row(p) * n_classes() + c];
    return known >= 0 ? known : find_next(p, byte);
  }
  bool at_end(PositionId p) { return rows_[row(p)].open.at_end; }
  std::span<const GrammarStacks::Item> open_items(PositionId p) { return rows_[row(p)].open.items; }
  // Groups of TokenTrieImpl all of whose characters lead from `p` back to `p`.
  uint8_t loops(PositionId p) {
    const size_t r = row(p);
    return rows_[r].loops >= 0 ? static_cast<uint8_t>(rows_[r].loops) : find_loops(p);
  }
  void forget();                                   // drops the transitions, keeps the positions
  size_t rows() const { return rows_.size(); }
  void reset();

 private:
  static constexpr size_t kMaxRows = 4096;
  struct Row { PositionId position; GrammarStacks::Open open; int loops = -1; };
  size_t n_classes() const { return stacks_.machine().bytes_of_class.size(); }
  size_t row(PositionId p) {
    const auto i = static_cast<size_t>(p);
    return i < row_of_.size() && row_of_[i] >= 0 ? static_cast<size_t>(row_of_[i]) : make_row(p);
  }
  size_t make_row(PositionId p);
  PositionId find_next(PositionId p, uint8_t byte);
  uint8_t find_loops(PositionId p);
  bool comes_back(PositionId to, PositionId from, int utf8_state, std::vector<std::pair<PositionId, int>>& known);

  GrammarStacks stacks_;
  std::vector<int32_t> row_of_;       // by position
  std::vector<Row> rows_;
  std::vector<int32_t> transitions_;  // [row][class]; -1: not known yet
};
