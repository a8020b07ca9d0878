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

std::shared_ptr<const RuleTokens> MaskCache::rule_tokens(int32_t state, std::span<const Frame> counted) {
  const std::lock_guard classifying(classify_mutex_);
  if (automaton_.stacks().size() > kMaxAutomatonSize) automaton_.reset();
  const int32_t limit = tokens_->longest() + 1;
  GrammarStacks::StackId stack = 0;
  for (Frame frame : counted) {
    frame.least = std::min(frame.least, limit), frame.most = std::min(frame.most, limit);
    frame.below = stack;
    stack = automaton_.stacks().push({frame});
  }
  const auto start = automaton_.stacks().position({{state, stack}});
  const Digest key = automaton_.stacks().digest(start);
  {
    const std::lock_guard lock(mutex_);
    if (auto found = rules_.find(key)) return found;
  }
  auto made = std::make_shared<const RuleTokens>(classify(start));
  const std::lock_guard lock(mutex_);
  rules_.keep(key, made);
  return made;
}

// How many of bits first … last - 1 are set.
static size_t count_bits(std::span<const uint64_t> bits, size_t first, size_t last) {
  size_t count = 0;
  for (; first < last && first % 64; first++) count += bits[first / 64] >> (first % 64) & 1;
  for (; first + 64 <= last; first += 64) count += static_cast<size_t>(std::popcount(bits[first / 64]));
  for (; first < last; first++) count += bits[first / 64] >> (first % 64) & 1;
  return count;
}

RuleTokens MaskCache::classify(GrammarStacks::PositionId start) {
  const auto& nodes = tokens_->nodes();
  std::vector<uint64_t> in_order(tokens_->order().size() / 64 + 1), bits(tokens_->mask_words());
  std::vector<int32_t> ended;  // nodes at which the rule may end
  TrieWalk(*tokens_, automaton_).run(start, 0, tokens_->size(), [&](int32_t i, GrammarStacks::PositionId p) {
    const auto n = static_cast<size_t>(i);
    for (auto t = static_cast<size_t>(nodes[n].first_token); t < static_cast<size_t>(nodes[n + 1].first_token); t++) in_order[t / 64] |= uint64_t{1} << (t % 64);
    if (nodes[n].skip > i + 1 && automaton_.at_end(p)) ended.push_back(i);
  });
  RuleTokens out;
  const auto add_exits = [&](int32_t begin, int32_t end) {
    for (int32_t i = begin; i < end; i = nodes[static_cast<size_t>(i)].skip) {
      const auto first = static_cast<size_t>(nodes[static_cast<size_t>(i)].first_token), last = static_cast<size_t>(nodes[static_cast<size_t>(nodes[static_cast<size_t>(i)].skip)].first_token);
      if (count_bits(in_order, first, last) < last - first) out.exits.push_back(i);
    }
  };
  if (automaton_.at_end(start)) add_exits(0, tokens_->size());
  for (const int32_t i : ended) add_exits(i + 1, nodes[static_cast<size_t>(i)].skip);
  std::stable_sort(out.exits.begin(), out.exits.end(), [&](int32_t a, int32_t b) { return nodes[static_cast<size_t>(a)].byte < nodes[static_cast<size_t>(b)].byte; });
  for (size_t w = 0; w < in_order.size(); w++)
    for (uint64_t word = in_order[w]; word; word &= word - 1) {
      const auto id = static_cast<size_t>(tokens_->order()[w * 64 + static_cast<size_t>(std::countr_zero(word))]);
      bits[id / 64] |= uint64_t{1} << (id % 64);
    }
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
