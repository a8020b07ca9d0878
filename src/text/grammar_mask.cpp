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
    : machine_(machine), tokens_(std::move(tokens)), exact_(machine, tokens_->longest() + 1), uncounted_(machine, tokens_->longest() + 1, false), rules_(kRulesBytes), masks_(kMasksBytes) {}

std::shared_ptr<const TokenSet> MaskCache::find(const Digest& position) {
  const std::lock_guard lock(mutex_);
  return masks_.find(position);
}

void MaskCache::keep(const Digest& position, std::shared_ptr<const TokenSet> mask) {
  const std::lock_guard lock(mutex_);
  masks_.keep(position, std::move(mask));
}

GrammarStacks::PositionId MaskCache::place(GrammarAutomaton& automaton, int32_t state, std::span<const Frame> counted) {
  GrammarStacks::StackId stack = 0;
  for (Frame frame : counted) {
    frame.below = stack;
    stack = automaton.stacks().push({frame});
  }
  return automaton.stacks().position({{state, stack}});
}

std::shared_ptr<const RuleTokens> MaskCache::find_rule(const Digest& key) {
  const std::lock_guard lock(mutex_);
  return rules_.find(key);
}

std::shared_ptr<const RuleTokens> MaskCache::keep_rule(const Digest& key, RuleTokens made) {
  auto shared = std::make_shared<const RuleTokens>(std::move(made));
  const std::lock_guard lock(mutex_);
  rules_.keep(key, shared);
  return shared;
}

// The lowest count that a token can come upon, and the bytes before it: a token of no more bytes cannot use it up.
int32_t MaskCache::lowest_count(int32_t state, std::span<const Frame> counted) const {
  const auto& ahead = machine_.count_ahead;
  int32_t lowest = ahead[static_cast<size_t>(state)];
  for (const Frame& frame : counted) {
    lowest = std::min({lowest, ahead[static_cast<size_t>(frame.to)], ahead[static_cast<size_t>(machine_.starts[static_cast<size_t>(frame.rule)])]});
    for (const int32_t count : {frame.least, frame.most})
      if (count > 0) lowest = std::min(lowest, count);
  }
  return lowest;
}

// Tokens too short to use up any count are those of the same place without counting, which is looked up once for all counts; only the
// longer ones are looked at again.
std::shared_ptr<const RuleTokens> MaskCache::rule_tokens(int32_t state, std::span<const Frame> counted) {
  const std::lock_guard classifying(classify_mutex_);
  for (GrammarAutomaton* automaton : {&exact_, &uncounted_})
    if (automaton->stacks().size() > kMaxAutomatonSize) automaton->reset();
  const int32_t longest = tokens_->longest(), lowest = lowest_count(state, counted);
  std::vector<Frame> frames(counted.begin(), counted.end()), uncounted = frames;
  for (Frame& frame : frames) frame.least = std::min(frame.least, longest + 1), frame.most = std::min(frame.most, longest + 1);
  for (Frame& frame : uncounted) frame.least = std::min(frame.least, 1), frame.most = std::min(frame.most, 1);
  const auto start = place(exact_, state, frames);
  Digest key = exact_.stacks().digest(start);
  if (lowest <= longest)
    if (auto found = find_rule(key)) return found;
  const auto free_start = place(uncounted_, state, uncounted);
  Digest free_key = uncounted_.stacks().digest(free_start);
  free_key.a ^= 1;  // not that of the same place with counting
  auto free_rule = find_rule(free_key);
  if (!free_rule) free_rule = keep_rule(free_key, classify(free_start));
  return lowest > longest ? free_rule : keep_rule(key, refine(*free_rule, start, lowest));
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
  TrieWalk(*tokens_, uncounted_).run(start, 0, tokens_->size(),
      [&](int32_t i, GrammarStacks::PositionId p) {
        set_bits(in_order, first_token(i), first_token(i + 1));
        if (skip(i) > i + 1 && uncounted_.at_end(p)) ended.push_back(i);
      },
      [&](int32_t i) { set_bits(in_order, first_token(i), first_token(skip(i))); });
  RuleTokens out;
  const auto add_exits = [&](int32_t begin, int32_t end) {
    for (int32_t i = begin; i < end; i = skip(i))
      if (const size_t first = first_token(i), last = first_token(skip(i)); count_bits(in_order, first, last) < last - first) out.exits.push_back(i);
  };
  if (uncounted_.at_end(start)) add_exits(0, tokens_->size());
  for (const int32_t i : ended) add_exits(i + 1, skip(i));
  sort_exits(out.exits);
  // From the trie's order to ids: the fewer of those that are allowed and those that are not, one by one.
  const size_t n_tokens = tokens_->order().size();
  const bool most = count_bits(in_order, 0, n_tokens) > n_tokens / 2;
  if (most) bits = tokens_->all();
  for (size_t w = 0; w * 64 < n_tokens; w++) {
    const uint64_t within = n_tokens - w * 64 < 64 ? (uint64_t{1} << (n_tokens - w * 64)) - 1 : ~uint64_t{0};
    for (uint64_t word = (most ? ~in_order[w] : in_order[w]) & within; word; word &= word - 1) {
      const auto id = static_cast<size_t>(tokens_->order()[w * 64 + static_cast<size_t>(std::countr_zero(word))]);
      bits[id / 64] ^= uint64_t{1} << (id % 64);
    }
  }
  out.allowed = TokenSet::of(bits);
  return out;
}

// `longer` is the same place without counting; `count` is lowest_count.
RuleTokens MaskCache::refine(const RuleTokens& longer, GrammarStacks::PositionId start, int32_t count) {
  const auto& nodes = tokens_->nodes();
  const auto node_at = [&](int32_t node) -> const TokenTrieImpl::Node& { return nodes[static_cast<size_t>(node)]; };
  const auto ids = [&](int32_t begin, int32_t end) {
    return std::span(tokens_->order()).subspan(static_cast<size_t>(node_at(begin).first_token), static_cast<size_t>(node_at(end).first_token - node_at(begin).first_token));
  };
  std::vector<uint64_t> bits(tokens_->mask_words());
  longer.allowed.add_to(bits);
  std::vector<int32_t> ended;
  TrieWalk(*tokens_, exact_).run_long(start, count,
      [&](int32_t i, GrammarStacks::PositionId p) {
        if (node_at(i).depth > count)
          for (const TokenId id : ids(i, i + 1)) bits[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
        if (node_at(i).skip > i + 1 && exact_.at_end(p)) ended.push_back(i);
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
  if (exact_.at_end(start)) add_exits(0, tokens_->size());
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
