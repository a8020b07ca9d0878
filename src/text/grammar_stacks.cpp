// grammar stacks: merging, entering and leaving rules, reading bytes.
#include "text/grammar_stacks.h"

#include <algorithm>
#include <bit>

#include "text/token_trie.h"

using Frame = GrammarStacks::Frame;
using Item = GrammarStacks::Item;
using Digest = GrammarStacks::Digest;

static uint64_t mix(uint64_t h, uint64_t v, uint64_t k) {
  h = (std::rotl(h, 27) ^ v) * k;
  return h ^ h >> 31;
}
static void mix(Digest& d, uint64_t v) { d.a = mix(d.a, v, 0x9e3779b97f4a7c15u), d.b = mix(d.b, v + 0x5851f42d4c957f2du, 0xd6e8feb86659fd93u); }

template <class Same> int32_t GrammarStacks::Index::find(uint64_t hash, Same same) const {
  for (size_t i = hash & (slots.size() - 1);; i = (i + 1) & (slots.size() - 1)) {
    if (slots[i] < 0) return -1;
    if (hashes[i] == hash && same(slots[i])) return slots[i];
  }
}

void GrammarStacks::Index::insert(uint64_t hash, int32_t id) {
  if (++used * 2 > slots.size()) {
    Index larger;
    larger.slots.assign(slots.size() * 4, -1), larger.hashes.assign(slots.size() * 4, 0);
    for (size_t i = 0; i < slots.size(); i++)
      if (slots[i] >= 0) larger.insert(hashes[i], slots[i]);
    slots = std::move(larger.slots), hashes = std::move(larger.hashes);
  }
  size_t i = hash & (slots.size() - 1);
  while (slots[i] >= 0) i = (i + 1) & (slots.size() - 1);
  slots[i] = id, hashes[i] = hash;
}

GrammarStacks::GrammarStacks(const GrammarMachine& machine, int32_t count_limit, bool counting)
    : machine_(machine), count_limit_(count_limit), counting_(counting), seen_(machine.states.size()) { reset(); }

void GrammarStacks::reset() {
  frames_ = {Frame{}}, members_ = {0}, stacks_ = {{0, 1, 0, {1, 2}}}, items_.clear(), positions_ = {{0, 0, {3, 4}}};
  frame_index_ = stack_index_ = position_index_ = {}, unions_.clear();
  frame_marks_.assign(1, 0);
}

int32_t GrammarStacks::keep(const Frame& f) {
  if (f.to < 0) return 0;
  Digest d;
  for (const int32_t v : {f.to, f.rule, f.least, f.most, f.below}) mix(d, static_cast<uint32_t>(v));
  int32_t id = frame_index_.find(d.a, [&](int32_t other) { return frames_[static_cast<size_t>(other)] == f; });
  if (id >= 0) return id;
  id = static_cast<int32_t>(frames_.size());
  frames_.push_back(f), frame_marks_.push_back(0);
  frame_index_.insert(d.a, id);
  return id;
}

GrammarStacks::StackId GrammarStacks::keep(std::vector<int32_t> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (ids.size() == 1 && ids[0] == 0) return 0;
  Digest key;
  for (const int32_t f : ids) mix(key, static_cast<uint32_t>(f));
  StackId id = stack_index_.find(key.a, [&](StackId other) { return std::ranges::equal(frames(other), ids); });
  if (id >= 0) return id;
  Stack stack{static_cast<uint32_t>(members_.size()), static_cast<uint32_t>(ids.size()), 0, {}};
  std::vector<Digest> parts;  // ids differ from one GrammarStacks to the next: sorted by content
  for (const int32_t f : ids) {
    const Frame& frame = frames_[static_cast<size_t>(f)];
    Digest d{5, 6};
    if (f != 0) {
      const Stack& below = stacks_[static_cast<size_t>(frame.below)];
      for (const int32_t v : {frame.to, frame.rule, std::min(frame.least, count_limit_), std::min(frame.most, count_limit_)}) mix(d, static_cast<uint32_t>(v));
      mix(d, below.digest.a), mix(d, below.digest.b);
      stack.depth = std::max(stack.depth, below.depth + 1);
    }
    parts.push_back(d);
  }
  std::sort(parts.begin(), parts.end(), [](const Digest& x, const Digest& y) { return x.a != y.a ? x.a < y.a : x.b < y.b; });
  for (const Digest& d : parts) mix(stack.digest, d.a), mix(stack.digest, d.b);
  id = static_cast<StackId>(stacks_.size());
  members_.insert(members_.end(), ids.begin(), ids.end());
  stacks_.push_back(stack);
  stack_index_.insert(key.a, id);
  return id;
}

GrammarStacks::StackId GrammarStacks::push(std::vector<Frame> frames) { return push_merged(frames, 0); }

// Frames that differ in their counts alone become one where the counts touch; frames that differ in what is below alone become one over
// the union of that.
GrammarStacks::StackId GrammarStacks::push_merged(std::vector<Frame>& list, int depth) {
  work_ += list.size();
  const auto by_place = [](const Frame& x, const Frame& y) { return std::tie(x.to, x.rule, x.below, x.least, x.most) < std::tie(y.to, y.rule, y.below, y.least, y.most); };
  std::sort(list.begin(), list.end(), by_place);
  std::vector<Frame> merged;
  for (const Frame& f : list) {
    Frame* last = merged.empty() ? nullptr : &merged.back();
    if (last && last->to == f.to && last->rule == f.rule && last->below == f.below && f.least <= last->most + counting_) last->most = std::max(last->most, f.most);
    else merged.push_back(f);
  }
  std::sort(merged.begin(), merged.end());
  std::vector<int32_t> ids;
  for (size_t i = 0; i < merged.size(); i++) {
    Frame f = merged[i];
    while (i + 1 < merged.size() && merged[i + 1].to == f.to && merged[i + 1].rule == f.rule && merged[i + 1].least == f.least && merged[i + 1].most == f.most)
      if (const StackId below = merged[++i].below; f.to >= 0) f.below = unite(f.below, below, depth + 1);
    ids.push_back(keep(f));
  }
  return keep(std::move(ids));
}

GrammarStacks::StackId GrammarStacks::unite(StackId a, StackId b, int depth) {
  if (a == b) return a;
  const uint64_t key = static_cast<uint64_t>(static_cast<uint32_t>(std::min(a, b))) << 32 | static_cast<uint32_t>(std::max(a, b));
  if (const auto it = unions_.find(key); it != unions_.end()) return it->second;
  std::vector<Frame> list;
  for (const StackId s : {a, b})
    for (const int32_t f : frames(s)) list.push_back(frames_[static_cast<size_t>(f)]);
  const StackId out = push_merged(list, depth);
  if (unions_.size() >= kMaxUnions) unions_.clear();
  unions_[key] = out;
  return out;
}

void GrammarStacks::merge(std::vector<Item>& items) {
  std::sort(items.begin(), items.end());
  size_t n = 0;
  for (size_t i = 0; i < items.size(); n++) {
    Item item = items[i++];
    while (i < items.size() && items[i].state == item.state) item.stack = unite(item.stack, items[i++].stack);
    items[n] = item;
  }
  items.resize(n);
}

GrammarStacks::PositionId GrammarStacks::position(std::vector<Item> list) {
  if (list.empty()) return 0;
  merge(list);
  Digest key, digest;
  for (const Item& i : list) {
    mix(key, static_cast<uint64_t>(static_cast<uint32_t>(i.state)) << 32 | static_cast<uint32_t>(i.stack));
    const Digest& stack = stacks_[static_cast<size_t>(i.stack)].digest;
    mix(digest, static_cast<uint32_t>(i.state)), mix(digest, stack.a), mix(digest, stack.b);
  }
  PositionId id = position_index_.find(key.a, [&](PositionId other) { return std::ranges::equal(items(other), list); });
  if (id >= 0) return id;
  id = static_cast<PositionId>(positions_.size());
  positions_.push_back({static_cast<uint32_t>(items_.size()), static_cast<uint32_t>(list.size()), digest});
  items_.insert(items_.end(), list.begin(), list.end());
  position_index_.insert(key.a, id);
  return id;
}

GrammarStacks::PositionId GrammarStacks::copy(const GrammarStacks& other, PositionId p, std::unordered_map<StackId, StackId>& copied) {
  std::vector<Item> list;
  for (const Item& item : other.items(p)) {
    std::vector<StackId> open{item.stack};
    while (!open.empty()) {  // what is below first
      const StackId s = open.back();
      std::vector<Frame> list_of_frames;
      bool ready = true;
      for (const int32_t id : other.frames(s)) {
        Frame f = other.frame(id);
        if (id != 0) {
          const auto it = copied.find(f.below);
          if (it == copied.end()) open.push_back(f.below), ready = false;
          else f.below = it->second;
        }
        list_of_frames.push_back(f);
      }
      if (!ready) continue;
      open.pop_back();
      if (!copied.contains(s)) copied[s] = push(std::move(list_of_frames));
    }
    list.push_back({item.state, copied[item.stack]});
  }
  return position(std::move(list));
}

// The rule over `stack` has ended: the places to return to, and in `again` the rounds of counted rules that may follow.
void GrammarStacks::leave(StackId stack, std::vector<Item>& out, std::vector<Frame>& again, bool& at_end) {
  std::vector<StackId> ended{stack};
  while (!ended.empty()) {
    const StackId s = ended.back();
    ended.pop_back();
    for (const int32_t id : frames(s)) {
      work_++;
      if (id == 0) at_end = true;
      if (id == 0 || std::exchange(frame_marks_[static_cast<size_t>(id)], mark_) == mark_) continue;
      const Frame f = frames_[static_cast<size_t>(id)];
      if (f.most > 0) again.push_back({f.to, f.rule, count_down(f.least), count_down(f.most), f.below});
      if (f.least > 0) continue;
      if (!state(f.to).only_final) out.push_back({f.to, f.below});
      if (state(f.to).final) ended.push_back(f.below);
    }
  }
}

// A call whose return would only end its caller returns to the caller's caller at once: a list that is written as recursion stays flat.
void GrammarStacks::enter(const Frame& f, std::vector<Frame>& pending) {
  if (f.most > 0 || !state(f.to).only_final) {
    if (stacks_[static_cast<size_t>(f.below)].depth < kMaxDepth) pending.push_back(f);
    return;
  }
  for (const int32_t id : frames(f.below)) pending.push_back(frames_[static_cast<size_t>(id)]);
}

GrammarStacks::PositionId GrammarStacks::returned(StackId stack) {
  mark_++;
  std::vector<Item> out;
  std::vector<Frame> again;
  bool at_end = false;
  leave(stack, out, again, at_end);
  for (const Frame& f : again) {
    std::vector<Frame> pending;
    enter(f, pending);
    if (!pending.empty()) out.push_back({machine_.starts[static_cast<size_t>(f.rule)], push_merged(pending, 0)});
  }
  return position(std::move(out));
}

GrammarStacks::Open GrammarStacks::open(PositionId p) {
  Open out;
  out.items.assign(items(p).begin(), items(p).end());
  std::vector<Frame> again;
  mark_++;
  for (const Item& i : items(p)) {
    work_++;
    if (state(i.state).final) leave(i.stack, out.items, again, out.at_end);
  }
  merge(out.items);
  // Rules to enter, lowest number first: all calls of a rule are known before its own first calls are looked at.
  std::vector<std::pair<int32_t, std::vector<Frame>>> pending;
  const auto add = [&](int32_t rule, const Frame& f) {
    auto at = std::lower_bound(pending.begin(), pending.end(), rule, [](const auto& x, int32_t r) { return x.first > r; });
    if (at == pending.end() || at->first != rule) at = pending.insert(at, {rule, {}});
    enter(f, at->second);
  };
  const auto add_calls = [&](const Item& i) {
    for (const auto& call : machine_.calls_of(state(i.state))) work_++, add(call.rule, {call.to, call.rule, counting_ ? call.least : std::min(call.least, 1), counting_ ? call.most : std::min(call.most, 1), i.stack});
  };
  for (const Frame& f : again) add(f.rule, f);
  for (const Item& i : std::vector<Item>(out.items)) add_calls(i);
  while (!pending.empty()) {
    auto [rule, frames] = std::move(pending.back());
    pending.pop_back();
    if (frames.empty()) continue;
    const Item item{machine_.starts[static_cast<size_t>(rule)], push_merged(frames, 0)};
    out.items.push_back(item);
    add_calls(item);
  }
  merge(out.items);
  return out;
}

GrammarStacks::PositionId GrammarStacks::step(const Open& from, uint8_t byte) {
  if (overfull()) return 0;
  std::vector<Item> out;
  mark_++;
  for (const Item& i : from.items) {
    const auto moves = machine_.moves_of(state(i.state));
    work_ += moves.size();
    for (const auto& move : moves)
      if (machine_.sets[static_cast<size_t>(move.set)][byte]) {
        Seen& seen = seen_[static_cast<size_t>(move.to)];
        if (seen.mark == mark_ && seen.stack == i.stack) continue;
        seen = {mark_, i.stack};
        out.push_back({move.to, i.stack});
      }
  }
  return position(std::move(out));
}

void GrammarAutomaton::forget() {
  for (const Row& r : rows_) row_of_[static_cast<size_t>(r.position)] = -1;
  rows_.clear(), transitions_.clear();
}

void GrammarAutomaton::reset() {
  forget();
  row_of_.clear();
  stacks_.reset();
}

size_t GrammarAutomaton::make_row(PositionId p) {
  if (rows_.size() >= kMaxRows) forget();
  const auto i = static_cast<size_t>(p);
  if (i >= row_of_.size()) row_of_.resize(i + 64, -1);
  row_of_[i] = static_cast<int32_t>(rows_.size());
  rows_.push_back({p, stacks_.open(p), -1});
  transitions_.resize(transitions_.size() + n_classes(), -1);
  return rows_.size() - 1;
}

GrammarStacks::PositionId GrammarAutomaton::find_next(PositionId p, uint8_t byte) {
  const size_t r = row(p);
  const PositionId to = stacks_.step(rows_[r].open, byte);
  return transitions_[r * n_classes() + stacks_.machine().class_of[byte]] = to;
}

// Whether every character that goes on from `utf8_state` leads from `from` to `to`.
bool GrammarAutomaton::comes_back(PositionId to, PositionId from, int utf8_state, std::vector<std::pair<PositionId, int>>& known) {
  if (utf8_state == 0) return from == to;
  if (from == 0) return false;
  const std::pair key{from, utf8_state};
  if (std::find(known.begin(), known.end(), key) != known.end()) return true;
  for (unsigned byte = 0x80; byte < 0xc0; byte++) {
    const int state = utf8_next(utf8_state, static_cast<uint8_t>(byte));
    if (state >= 0 && !comes_back(to, next(from, static_cast<uint8_t>(byte)), state, known)) return false;
  }
  known.push_back(key);
  return true;
}

uint8_t GrammarAutomaton::find_loops(PositionId p) {
  unsigned loops = TokenTrieImpl::broken - 1u;
  for (unsigned byte = 0; byte < 0x80; byte++)
    if (const uint8_t group = TokenTrieImpl::group_of(static_cast<uint8_t>(byte)); (loops & group) && next(p, static_cast<uint8_t>(byte)) != p) loops &= ~unsigned{group};
  std::vector<std::pair<PositionId, int>> known;
  for (unsigned byte = 0xc2; byte < 0xf5 && (loops & TokenTrieImpl::beyond_ascii); byte++)
    if (!comes_back(p, next(p, static_cast<uint8_t>(byte)), utf8_next(0, static_cast<uint8_t>(byte)), known)) loops &= ~unsigned{TokenTrieImpl::beyond_ascii};
  rows_[row(p)].loops = static_cast<int>(loops);
  return static_cast<uint8_t>(loops);
}
