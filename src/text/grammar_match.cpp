// grammar match: one text on its way through a grammar, token by token.
#include <algorithm>

#include "text/grammar_mask.h"

using PositionId = GrammarStacks::PositionId;
using Frame = GrammarStacks::Frame;

static constexpr size_t kMaxAlone = 16;            // a position of more items is looked at as a whole
static constexpr size_t kMaxPaths = 64;            // ways through counted repetitions around a state
static constexpr size_t kMaxForcedBytes = 4096;    // found at once
static constexpr size_t kMaxSize = 1'000'000;      // of the automaton before what is no longer needed is left behind

namespace {
class Matcher final : public GrammarMatcher {
 public:
  Matcher(std::shared_ptr<const CompiledGrammar> grammar, const std::shared_ptr<const TokenTrieImpl>& tokens)
      : grammar_(std::move(grammar)), machine_(grammar_->machine()), cache_(grammar_->masks(tokens)), tokens_(cache_->tokens()),
        automaton_(std::make_unique<GrammarAutomaton>(machine_, tokens_.longest() + 1)), words_(tokens_.mask_words()) {
    history_.push_back({automaton_->stacks().position({{machine_.root, 0}}), 0, false});
  }
  std::span<const uint64_t> mask() override;
  bool accept(TokenId id) override;
  bool accept_bytes(std::string_view bytes) override;
  bool may_end() const override { return now().ended || automaton_->at_end(now().position); }
  bool must_end() const override;
  std::string forced() const override;
  void rewind(int tokens) override;
  size_t bytes_accepted() const override { return now().n_bytes; }

 private:
  struct Point {
    PositionId position;
    size_t n_bytes;
    bool ended;  // an end token was accepted
  };
  // The counted repetitions around a state, innermost first, and what is below them.
  struct Path {
    std::vector<Frame> counted;
    GrammarStacks::StackId below;
  };
  const Point& now() const { return history_.back(); }
  void make_mask(PositionId p);
  void mark_all(PositionId p);
  void mark_exits(const RuleTokens& rule, PositionId after);
  void mark(int32_t begin, int32_t end);
  bool find_paths(int32_t state, GrammarStacks::StackId stack, std::vector<Frame>& counted, std::vector<Path>& out);
  void compact();

  const std::shared_ptr<const CompiledGrammar> grammar_;
  const GrammarMachine& machine_;
  const std::shared_ptr<MaskCache> cache_;
  const TokenTrieImpl& tokens_;
  std::unique_ptr<GrammarAutomaton> automaton_;  // looking may extend it
  std::vector<Point> history_;
  std::vector<uint64_t> words_;
  std::shared_ptr<const TokenSet> mask_;
  size_t compact_at_ = kMaxSize;
};

std::span<const uint64_t> Matcher::mask() {
  if (now().ended) {
    std::fill(words_.begin(), words_.end(), 0);
    return words_;
  }
  const auto digest = automaton_->stacks().digest(now().position);
  mask_ = cache_->find(digest);
  if (!mask_) {
    make_mask(now().position);
    mask_ = std::make_shared<const TokenSet>(TokenSet::of(words_));
    cache_->keep(digest, mask_);
    return words_;
  }
  if (!mask_->bits.empty()) return mask_->bits;
  std::fill(words_.begin(), words_.end(), 0);
  mask_->add_to(words_);
  return words_;
}

void Matcher::make_mask(PositionId p) {
  std::fill(words_.begin(), words_.end(), 0);
  GrammarStacks& stacks = automaton_->stacks();
  const std::vector<GrammarStacks::Item> items(stacks.items(p).begin(), stacks.items(p).end());
  std::vector<std::pair<int32_t, Path>> alone;
  bool whole = items.size() > kMaxAlone;
  for (const auto& item : items) {
    std::vector<Path> paths;
    std::vector<Frame> counted;
    whole |= !whole && !find_paths(item.state, item.stack, counted, paths);
    for (Path& path : paths) alone.emplace_back(item.state, std::move(path));
  }
  if (whole) mark_all(p);
  else
    for (auto& [state, path] : alone) {
      std::reverse(path.counted.begin(), path.counted.end());
      const auto rule = cache_->rule_tokens(state, path.counted);
      rule->allowed.add_to(words_);
      if (!rule->exits.empty()) mark_exits(*rule, stacks.returned(path.below));
    }
  if (automaton_->at_end(p))
    for (const TokenId id : tokens_.ends()) words_[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
}

bool Matcher::find_paths(int32_t state, GrammarStacks::StackId stack, std::vector<Frame>& counted, std::vector<Path>& out) {
  if (!machine_.counted[static_cast<size_t>(machine_.states[static_cast<size_t>(state)].rule)]) {
    out.push_back({counted, stack});
    return out.size() <= kMaxPaths;
  }
  for (const int32_t id : automaton_->stacks().frames(stack)) {
    const Frame& frame = automaton_->stacks().frame(id);
    if (id == 0) {
      out.push_back({counted, 0});
      continue;
    }
    counted.push_back(frame);
    if (!find_paths(frame.to, frame.below, counted, out)) return false;
    counted.pop_back();
  }
  return out.size() <= kMaxPaths;
}

// The tokens of the trie's nodes begin … end - 1.
void Matcher::mark(int32_t begin, int32_t end) {
  const auto first = static_cast<size_t>(tokens_.nodes()[static_cast<size_t>(begin)].first_token), last = static_cast<size_t>(tokens_.nodes()[static_cast<size_t>(end)].first_token);
  for (const TokenId id : std::span(tokens_.order()).subspan(first, last - first)) words_[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
}

void Matcher::mark_all(PositionId p) {
  TrieWalk(tokens_, *automaton_).run(p, 0, tokens_.size(), [&](int32_t i, PositionId) { mark(i, i + 1); }, [&](int32_t i) { mark(i, tokens_.nodes()[static_cast<size_t>(i)].skip); });
}

void Matcher::mark_exits(const RuleTokens& rule, PositionId after) {
  if (after == 0) return;
  TrieWalk walk(tokens_, *automaton_);
  int byte = -1;
  PositionId at = 0;
  for (const int32_t i : rule.exits) {
    const auto& node = tokens_.nodes()[static_cast<size_t>(i)];
    if (node.byte != byte) byte = node.byte, at = automaton_->next(after, node.byte);
    if (at == 0) continue;
    mark(i, i + 1);
    walk.run(at, i + 1, node.skip, [&](int32_t below, PositionId) { mark(below, below + 1); }, [&](int32_t below) { mark(below, tokens_.nodes()[static_cast<size_t>(below)].skip); });
  }
}

bool Matcher::accept(TokenId id) {
  if (id < 0 || id >= tokens_.vocabulary() || now().ended) return false;
  if (tokens_.is_end(id)) {
    if (!may_end()) return false;
    history_.push_back({now().position, now().n_bytes, true});
    return true;
  }
  const std::string_view bytes = tokens_.bytes(id);
  return !bytes.empty() && accept_bytes(bytes);
}

bool Matcher::accept_bytes(std::string_view bytes) {
  if (now().ended) return bytes.empty();
  if (automaton_->stacks().size() > compact_at_) compact();
  PositionId p = now().position;
  for (const char c : bytes)
    if (p = automaton_->next(p, static_cast<uint8_t>(c)); p == 0) return false;
  history_.push_back({p, now().n_bytes + bytes.size(), false});
  return true;
}

bool Matcher::must_end() const {
  if (now().ended) return true;
  if (!automaton_->at_end(now().position)) return false;
  for (const auto& item : automaton_->open_items(now().position))
    if (machine_.states[static_cast<size_t>(item.state)].n_moves > 0) return false;
  return true;
}

std::string Matcher::forced() const {
  std::string out;
  if (now().ended) return out;
  for (PositionId p = now().position; p != 0 && out.size() < kMaxForcedBytes && !automaton_->at_end(p);) {
    ByteSet next;
    for (const auto& item : automaton_->open_items(p))
      for (const auto& move : machine_.moves_of(machine_.states[static_cast<size_t>(item.state)])) next |= machine_.sets[static_cast<size_t>(move.set)];
    if (next.count() != 1) break;
    uint8_t byte = 0;
    while (!next[byte]) byte++;
    out.push_back(static_cast<char>(byte));
    p = automaton_->next(p, byte);
  }
  return out;
}

void Matcher::rewind(int tokens) { history_.resize(history_.size() - std::min(history_.size() - 1, static_cast<size_t>(std::max(tokens, 0))), Point{}); }

void Matcher::compact() {
  auto fresh = std::make_unique<GrammarAutomaton>(machine_, tokens_.longest() + 1);
  std::unordered_map<GrammarStacks::StackId, GrammarStacks::StackId> copied{{0, 0}};
  for (Point& point : history_) point.position = fresh->stacks().copy(automaton_->stacks(), point.position, copied);
  automaton_ = std::move(fresh);
  compact_at_ = std::max(kMaxSize, 2 * automaton_->stacks().size());
}
}  // namespace

std::unique_ptr<GrammarMatcher> GrammarMatcher::make(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> tokens) {
  return std::make_unique<Matcher>(std::static_pointer_cast<const CompiledGrammar>(std::move(grammar)), std::static_pointer_cast<const TokenTrieImpl>(std::move(tokens)));
}
