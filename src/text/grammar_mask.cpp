// grammar mask: classifying the vocabulary for one state, and the caches.
#include "text/grammar_mask.h"

#include <algorithm>
#include <bit>

static constexpr size_t kRulesBytes = 64 << 20, kMasksBytes = 32 << 20;
static constexpr size_t kFew = 2048;                   // tokens: a list is smaller and quicker to add than 31 KB of bits
static constexpr size_t kMaxAutomatonSize = 1'000'000;  // a larger one is begun anew
static constexpr size_t kMaxVocabularies = 8;

TokenSet TokenSet::of(std::span<const uint64_t> bits) {
  size_t count = 0;
  for (const uint64_t word : bits) count += static_cast<size_t>(std::popcount(word));
  TokenSet out;
  if (count > kFew) {
    out.bits.assign(bits.begin(), bits.end());
    return out;
  }
  out.few.reserve(count);
  for (size_t w = 0; w < bits.size(); w++)
    for (uint64_t word = bits[w]; word; word &= word - 1) out.few.push_back(static_cast<TokenId>(w * 64 + static_cast<size_t>(std::countr_zero(word))));
  return out;
}

void TokenSet::add_to(std::span<uint64_t> out) const {
  for (size_t w = 0; w < bits.size(); w++) out[w] |= bits[w];
  for (const TokenId id : few) out[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
}

MaskCache::MaskCache(const GrammarMachine& machine, std::shared_ptr<const TokenTrieImpl> tokens)
    : tokens_(std::move(tokens)), automaton_(machine, tokens_->longest() + 1), rules_(kRulesBytes), masks_(kMasksBytes) {}

std::shared_ptr<const TokenSet> MaskCache::find(const Digest& position) {
  const std::lock_guard lock(mutex_);
  return masks_.find(position);
}

void MaskCache::keep(const Digest& position, std::shared_ptr<const TokenSet> mask) {
  const std::lock_guard lock(mutex_);
  masks_.keep(position, std::move(mask));
}

GrammarStacks::PositionId MaskCache::place(int32_t state, std::span<const Frame> counted) {
  GrammarStacks::StackId stack = 0;
  for (Frame frame : counted) {
    frame.below = stack;
    stack = automaton_.stacks().push({frame});
  }
  return automaton_.stacks().position({{state, stack}});
}

std::shared_ptr<const RuleTokens> MaskCache::find_rule(GrammarStacks::PositionId start) {
  const std::lock_guard lock(mutex_);
  return rules_.find(automaton_.stacks().digest(start));
}

std::shared_ptr<const RuleTokens> MaskCache::keep_rule(GrammarStacks::PositionId start, RuleTokens made) {
  auto shared = std::make_shared<const RuleTokens>(std::move(made));
  const std::lock_guard lock(mutex_);
  rules_.keep(automaton_.stacks().digest(start), shared);
  return shared;
}

// A token of n bytes cannot use up a count of n or more. So the shorter tokens are those of the same place without counts, which is
// looked up once for all counts, and only the longer ones are looked at again.
std::shared_ptr<const RuleTokens> MaskCache::rule_tokens(int32_t state, std::span<const Frame> counted) {
  const std::lock_guard classifying(classify_mutex_);
  if (automaton_.stacks().size() > kMaxAutomatonSize) automaton_.reset();
  std::vector<Frame> exact(counted.begin(), counted.end()), uncounted;
  int32_t lowest = GrammarStacks::kUncounted;
  for (Frame& frame : exact) {
    for (int32_t* count : {&frame.least, &frame.most}) {
      if (*count > tokens_->longest()) *count = GrammarStacks::kUncounted;
      if (*count > 0) lowest = std::min(lowest, *count);
    }
    uncounted.push_back(frame);
    if (frame.least > 0) uncounted.back().least = GrammarStacks::kUncounted;
    if (frame.most > 0) uncounted.back().most = GrammarStacks::kUncounted;
  }
  const auto start = place(state, exact);
  if (auto found = find_rule(start)) return found;
  if (lowest == GrammarStacks::kUncounted) return keep_rule(start, classify(start));
  const auto free_start = place(state, uncounted);
  auto free_rule = find_rule(free_start);
  if (!free_rule) free_rule = keep_rule(free_start, classify(free_start));
  return keep_rule(start, refine(*free_rule, start, lowest));
}

// How many of bits first … last - 1 are set.
static size_t count_bits(std::span<const uint64_t> bits, size_t first, size_t last) {
  size_t count = 0;
  for (; first < last && first % 64; first++) count += bits[first / 64] >> (first % 64) & 1;
  for (; first + 64 <= last; first += 64) count += static_cast<size_t>(std::popcount(bits[first / 64]));
  for (; first < last; first++) count += bits[first / 64] >> (first % 64) & 1;
  return count;
}

static void set_bits(std::span<uint64_t> bits, size_t first, size_t last) {
  for (; first < last && first % 64; first++) bits[first / 64] |= uint64_t{1} << (first % 64);
  for (; first + 64 <= last; first += 64) bits[first / 64] = ~uint64_t{0};
  for (; first < last; first++) bits[first / 64] |= uint64_t{1} << (first % 64);
}

void MaskCache::sort_exits(std::vector<int32_t>& exits) const {
  const auto key = [&](int32_t node) { return std::pair(tokens_->nodes()[static_cast<size_t>(node)].byte, node); };
  std::sort(exits.begin(), exits.end(), [&](int32_t a, int32_t b) { return key(a) < key(b); });
}

RuleTokens MaskCache::classify(GrammarStacks::PositionId start) {
  const auto& nodes = tokens_->nodes();
  const auto first_token = [&](int32_t node) { return static_cast<size_t>(nodes[static_cast<size_t>(node)].first_token); };
  const auto skip = [&](int32_t node) { return nodes[static_cast<size_t>(node)].skip; };
  std::vector<uint64_t> in_order(tokens_->order().size() / 64 + 1), bits(tokens_->mask_words());
  std::vector<int32_t> ended;  // nodes at which the rule may end
  TrieWalk(*tokens_, automaton_).run(start, 0, tokens_->size(),
      [&](int32_t i, GrammarStacks::PositionId p) {
        set_bits(in_order, first_token(i), first_token(i + 1));
        if (skip(i) > i + 1 && automaton_.at_end(p)) ended.push_back(i);
      },
      [&](int32_t i) { set_bits(in_order, first_token(i), first_token(skip(i))); });
  RuleTokens out;
  const auto add_exits = [&](int32_t begin, int32_t end) {
    for (int32_t i = begin; i < end; i = skip(i))
      if (const size_t first = first_token(i), last = first_token(skip(i)); count_bits(in_order, first, last) < last - first) out.exits.push_back(i);
  };
  if (automaton_.at_end(start)) add_exits(0, tokens_->size());
  for (const int32_t i : ended) add_exits(i + 1, skip(i));
  sort_exits(out.exits);
  for (size_t w = 0; w < in_order.size(); w++)
    for (uint64_t word = in_order[w]; word; word &= word - 1) {
      const auto id = static_cast<size_t>(tokens_->order()[w * 64 + static_cast<size_t>(std::countr_zero(word))]);
      bits[id / 64] |= uint64_t{1} << (id % 64);
    }
  out.allowed = TokenSet::of(bits);
  return out;
}

// `longer` is the same place with counts that no token uses up; `count` is the lowest of those that `start` really has.
RuleTokens MaskCache::refine(const RuleTokens& longer, GrammarStacks::PositionId start, int32_t count) {
  const auto& nodes = tokens_->nodes();
  const auto node_at = [&](int32_t node) -> const TokenTrieImpl::Node& { return nodes[static_cast<size_t>(node)]; };
  const auto ids = [&](int32_t begin, int32_t end) {
    return std::span(tokens_->order()).subspan(static_cast<size_t>(node_at(begin).first_token), static_cast<size_t>(node_at(end).first_token - node_at(begin).first_token));
  };
  std::vector<uint64_t> bits(tokens_->mask_words());
  longer.allowed.add_to(bits);
  std::vector<int32_t> ended;
  TrieWalk(*tokens_, automaton_).run_long(start, count,
      [&](int32_t i, GrammarStacks::PositionId p) {
        if (node_at(i).depth > count)
          for (const TokenId id : ids(i, i + 1)) bits[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
        if (node_at(i).skip > i + 1 && automaton_.at_end(p)) ended.push_back(i);
      },
      [&](int32_t i) {
        for (const TokenId id : ids(i, node_at(i).skip)) bits[static_cast<size_t>(id) / 64] &= ~(uint64_t{1} << (id % 64));
      });
  RuleTokens out;
  for (const int32_t i : longer.exits)
    if (node_at(i).deepest <= count) out.exits.push_back(i);
  const auto add_exits = [&](int32_t begin, int32_t end) {
    for (int32_t i = begin; i < end; i = node_at(i).skip) {
      const auto below = ids(i, node_at(i).skip);
      const auto allowed = [&](TokenId id) { return (bits[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0; };
      if (node_at(i).deepest > count && !std::all_of(below.begin(), below.end(), allowed)) out.exits.push_back(i);
    }
  };
  if (automaton_.at_end(start)) add_exits(0, tokens_->size());
  for (const int32_t i : ended) add_exits(i + 1, node_at(i).skip);
  sort_exits(out.exits);
  out.allowed = TokenSet::of(bits);
  return out;
}

std::shared_ptr<MaskCache> CompiledGrammar::masks(const std::shared_ptr<const TokenTrieImpl>& tokens) const {
  const std::lock_guard lock(mutex_);
  for (const auto& cache : masks_)
    if (cache->shared_tokens() == tokens) return cache;
  if (masks_.size() >= kMaxVocabularies) masks_.erase(masks_.begin());
  return masks_.emplace_back(std::make_shared<MaskCache>(machine_, tokens));
}
