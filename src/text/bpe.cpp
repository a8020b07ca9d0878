// bpe: merging symbols by rank; short pieces by scanning, long ones with a priority queue.
#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <limits>
#include <queue>

#include "text/unicode.h"

static uint64_t pair_key(TokenId left, TokenId right) { return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right); }

void MergeTable::reserve(size_t merges) {
  const size_t wanted = std::bit_ceil(std::max<size_t>(merges * 2, 64));
  if (wanted <= slots_.size()) return;
  std::vector<Slot> old = std::move(slots_);
  slots_.assign(wanted, Slot{});
  shift_ = 64 - std::countr_zero(wanted);
  used_ = 0;
  for (const Slot& slot : old)
    if (slot.key != kFree) add(static_cast<TokenId>(slot.key >> 32), static_cast<TokenId>(slot.key & 0xffffffffu), slot.merge);
}

void MergeTable::add(TokenId left, TokenId right, Merge merge) {
  if ((used_ + 1) * 2 > slots_.size()) reserve((used_ + 1) * 2);
  const uint64_t key = pair_key(left, right);
  size_t at = home(key);
  while (slots_[at].key != kFree && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  if (slots_[at].key == kFree) ++used_;
  slots_[at] = {key, merge};
}

const MergeTable::Merge* MergeTable::find(TokenId left, TokenId right) const {
  if (slots_.empty()) return nullptr;
  const uint64_t key = pair_key(left, right);
  for (size_t at = home(key);; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].key == key) return &slots_[at].merge;
    if (slots_[at].key == kFree) return nullptr;
  }
}

Bpe::Bpe(const Vocabulary* vocabulary, MergeTable merges, BpeOptions options)
    : vocabulary_(vocabulary), merges_(std::move(merges)), options_(options), ascii_(128, -1), byte_tokens_(256, -1) {
  for (int c = 0; c < 128; ++c) ascii_[static_cast<size_t>(c)] = vocabulary_->find(std::string(1, static_cast<char>(c))).value_or(-1);
  if (!options_.byte_fallback) return;
  for (int b = 0; b < 256; ++b) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", b);
    byte_tokens_[static_cast<size_t>(b)] = vocabulary_->find(name).value_or(-1);
  }
}

// The tokens of a character's bytes; only when every one exists.
bool Bpe::fall_back(std::string_view character, std::vector<TokenId>& out) const {
  if (!options_.byte_fallback) return false;
  const auto token = [&](char c) { return byte_tokens_[static_cast<uint8_t>(c)]; };
  if (!std::ranges::all_of(character, [&](char c) { return token(c) >= 0; })) return false;
  for (const char c : character) out.push_back(token(c));
  return true;
}

// One symbol a character. An unknown one waits, so that fuse_unknown can swallow the next; Hugging Face emits it before the next
// known character, but behind byte tokens that come between.
void Bpe::symbols(std::string_view piece, std::vector<TokenId>& out) const {
  bool waiting = false;
  for (size_t at = 0; at < piece.size();) {
    const size_t length = utf8_step(piece, at).length;
    const std::string_view character = piece.substr(at, length);
    at += length;
    const TokenId id = length == 1 ? ascii_[static_cast<uint8_t>(character[0]) & 127] : vocabulary_->find(character).value_or(-1);
    if (id >= 0) {
      if (waiting) out.push_back(*options_.unknown);
      waiting = false;
      out.push_back(id);
    } else if (!fall_back(character, out) && options_.unknown) {
      if (waiting && !options_.fuse_unknown) out.push_back(*options_.unknown);
      waiting = true;
    }
  }
  if (waiting) out.push_back(*options_.unknown);
}

void Bpe::encode(std::string_view piece, std::vector<TokenId>& out) const {
  if (piece.empty()) return;
  if (options_.ignore_merges)
    if (const auto whole = vocabulary_->find(piece); whole && (static_cast<size_t>(*whole) >= never_whole_.size() || !never_whole_[static_cast<size_t>(*whole)]))
      return out.push_back(*whole);
  std::vector<TokenId> parts;
  symbols(piece, parts);
  static constexpr size_t kShort = 48;  // below this the scan's squares cost less than a heap
  if (parts.size() <= kShort) merge_short(parts);
  else merge_long(parts);
  out.insert(out.end(), parts.begin(), parts.end());
}

void Bpe::merge_short(std::vector<TokenId>& parts) const {
  static constexpr MergeTable::Merge kNone{std::numeric_limits<uint32_t>::max(), -1};
  std::array<MergeTable::Merge, 64> next;  // merge of parts i and i+1
  const auto look = [&](size_t i) {
    const auto* merge = merges_.find(parts[i], parts[i + 1]);
    next[i] = merge ? *merge : kNone;
  };
  for (size_t i = 0; i + 1 < parts.size(); ++i) look(i);
  while (parts.size() > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < parts.size(); ++i)
      if (next[i].rank < next[best].rank) best = i;
    if (next[best].result < 0) return;
    parts[best] = next[best].result;
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
    std::copy(next.begin() + static_cast<ptrdiff_t>(best) + 1, next.begin() + static_cast<ptrdiff_t>(parts.size()), next.begin() + static_cast<ptrdiff_t>(best));
    if (best + 1 < parts.size()) look(best);
    if (best > 0) look(best - 1);
  }
}

namespace {
struct Candidate {
  uint32_t rank;
  uint32_t at;
  TokenId left, right, result;
  bool operator>(const Candidate& o) const { return rank != o.rank ? rank > o.rank : at > o.at; }
};
}  // namespace

void Bpe::merge_long(std::vector<TokenId>& parts) const {
  const size_t n = parts.size();
  static constexpr uint32_t kEnd = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> next(n), previous(n);
  for (size_t i = 0; i < n; ++i) {
    next[i] = i + 1 < n ? static_cast<uint32_t>(i + 1) : kEnd;
    previous[i] = i > 0 ? static_cast<uint32_t>(i - 1) : kEnd;
  }
  std::vector<Candidate> initial;
  initial.reserve(n);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue(std::greater<>(), std::move(initial));
  const auto offer = [&](uint32_t at) {
    if (at == kEnd || next[at] == kEnd) return;
    const TokenId left = parts[at], right = parts[next[at]];
    if (const auto* merge = merges_.find(left, right)) queue.push({merge->rank, at, left, right, merge->result});
  };
  for (uint32_t i = 0; i + 1 < n; ++i) offer(i);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    const uint32_t at = top.at, gone = next[at];
    if (parts[at] != top.left || gone == kEnd || parts[gone] != top.right) continue;  // overtaken by another merge
    parts[at] = top.result;
    parts[gone] = -1;
    next[at] = next[gone];
    if (next[at] != kEnd) previous[next[at]] = at;
    offer(previous[at]);
    offer(at);
  }
  std::erase(parts, -1);
}

void MergeBuilder::never_make(TokenId id) {
  if (static_cast<size_t>(id) >= never_.size()) never_.resize(static_cast<size_t>(id) + 1);
  never_[static_cast<size_t>(id)] = true;
}

Status MergeBuilder::add(std::string_view left, std::string_view right) {
  const uint32_t rank = rank_++;
  const auto a = vocabulary_->find(left), b = vocabulary_->find(right);
  joined_.assign(left).append(right);
  const auto made = vocabulary_->find(joined_);
  if (!a || !b || !made || left.empty() || right.empty())
    return Error{Code::corrupt_file, "tokenizer: merge " + std::to_string(rank) + " has a part or a result that is not in the vocabulary"};
  if (static_cast<size_t>(*made) >= never_.size() || !never_[static_cast<size_t>(*made)]) table_.add(*a, *b, {rank, *made});
  return ok_status();
}

MergeTable merges_from_scores(const Vocabulary& vocabulary, std::span<const float> scores, const std::vector<bool>& excluded) {
  struct Row {
    float score;
    uint32_t left_length, right_length;  // characters
    TokenId result, left, right;
  };
  std::vector<Row> rows;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const std::string_view text = vocabulary.text(id);
    if (text.empty() || excluded[static_cast<size_t>(id)]) continue;
    uint32_t characters = 0, left_length = 0;
    for (const char c : text) characters += (static_cast<uint8_t>(c) & 0xc0) != 0x80;
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if ((static_cast<uint8_t>(text[cut]) & 0xc0) == 0x80) continue;
      ++left_length;
      const auto left = vocabulary.find(text.substr(0, cut));
      if (!left) continue;
      const auto right = vocabulary.find(text.substr(cut));
      if (right) rows.push_back({scores[static_cast<size_t>(id)], left_length, characters - left_length, id, *left, *right});
    }
  }
  // Best score first, then the longer left part, then the longer right part; equals stay in id order.
  std::ranges::sort(rows, [](const Row& a, const Row& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.left_length != b.left_length) return a.left_length > b.left_length;
    return a.right_length != b.right_length ? a.right_length > b.right_length : a.result < b.result;
  });
  MergeTable table;
  table.reserve(rows.size());
  for (size_t rank = 0; rank < rows.size(); ++rank) table.add(rows[rank].left, rows[rank].right, {static_cast<uint32_t>(rank), rows[rank].result});
  return table;
}
