// token trie: sorting a vocabulary and laying out its trie.
#include "text/token_trie.h"

#include <algorithm>

#include "text/grammar_parts.h"
#include "text/text.h"

static constexpr size_t kLongest = 4096;  // a longer token is never allowed

bool TokenTrieImpl::is_end(TokenId id) const { return std::find(ends_.begin(), ends_.end(), id) != ends_.end(); }

// The first eight bytes as a number that sorts like them.
static uint64_t sort_key(std::string_view text) {
  uint64_t key = 0;
  for (size_t i = 0; i < 8; i++) key = key << 8 | (i < text.size() ? static_cast<uint8_t>(text[i]) : 0);
  return key;
}

TokenTrieImpl::TokenTrieImpl(std::span<const std::string_view> tokens, std::span<const TokenId> ends) {
  for (const TokenId id : ends)
    if (id >= 0 && static_cast<size_t>(id) < tokens.size() && !is_end(id)) ends_.push_back(id);
  std::vector<std::pair<uint64_t, TokenId>> sorted;
  sorted.reserve(tokens.size());
  offsets_.reserve(tokens.size() + 1);
  for (size_t i = 0; i < tokens.size(); i++) {
    offsets_.push_back(static_cast<uint32_t>(text_.size()));
    if (tokens[i].empty() || tokens[i].size() > kLongest || is_end(static_cast<TokenId>(i))) continue;
    text_ += tokens[i];
    sorted.emplace_back(sort_key(tokens[i]), static_cast<TokenId>(i));
    longest_ = std::max(longest_, static_cast<int32_t>(tokens[i].size()));
  }
  offsets_.push_back(static_cast<uint32_t>(text_.size()));
  std::sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    const int order = bytes(a.second).compare(bytes(b.second));
    return order != 0 ? order < 0 : a.second < b.second;
  });
  order_.reserve(sorted.size());
  nodes_.reserve(sorted.size() * 3);
  std::vector<int32_t> path;  // the open nodes
  std::string_view previous;
  const auto close = [&](size_t depth) {
    for (; path.size() > depth; path.pop_back()) nodes_[static_cast<size_t>(path.back())].skip = static_cast<int32_t>(nodes_.size());
  };
  for (const auto& [key, id] : sorted) {
    const std::string_view text = bytes(id);
    const auto common = static_cast<size_t>(std::mismatch(text.begin(), text.end(), previous.begin(), previous.end()).first - text.begin());
    close(common);
    for (size_t i = common; i < text.size(); i++) {
      path.push_back(static_cast<int32_t>(nodes_.size()));
      nodes_.push_back({0, static_cast<int32_t>(order_.size()), static_cast<uint16_t>(i + 1), 0, static_cast<uint8_t>(text[i]), 0});
    }
    order_.push_back(id);
    previous = text;
  }
  close(0);
  all_.resize(mask_words());
  for (const TokenId id : order_) all_[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
  nodes_.push_back({0, static_cast<int32_t>(order_.size()), 0, 0, 0, 0});
  sum_up();
}

uint8_t TokenTrieImpl::group_of(uint8_t c) {
  if (c == '"') return quote;
  if (c == '\\') return backslash;
  if (c < 0x20 || c == 0x7f) return control;
  if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') return letter;
  return c >= '0' && c <= '9' ? digit : other_ascii;
}

// Groups and depths of the subtrees: downwards along the decoder's states, then upwards.
void TokenTrieImpl::sum_up() {
  std::vector<int> state(static_cast<size_t>(longest_) + 1, 0);  // of the UTF-8 decoder, by depth
  std::vector<int32_t> path(static_cast<size_t>(longest_) + 1, -1);
  for (size_t i = 0; i + 1 < nodes_.size(); i++) {
    Node& node = nodes_[i];
    const size_t d = node.depth;
    state[d] = state[d - 1] < 0 ? -1 : utf8_next(state[d - 1], node.byte);
    const bool ends_token = nodes_[i + 1].first_token > node.first_token;
    node.groups = state[d] < 0 ? uint8_t{broken} : node.byte < 0x80 ? group_of(node.byte) : uint8_t{beyond_ascii};
    if (ends_token && state[d] != 0) node.groups |= broken;
    node.deepest = node.depth;
  }
  for (size_t i = 0; i + 1 < nodes_.size(); i++) {  // along the path: a node's ancestors are the open ones
    Node& node = nodes_[i];
    path[node.depth] = static_cast<int32_t>(i);
    if (node.skip > static_cast<int32_t>(i) + 1) continue;
    for (size_t d = node.depth; d-- > 1;) {
      Node &above = nodes_[static_cast<size_t>(path[d])], &below = nodes_[static_cast<size_t>(path[d + 1])];
      const uint8_t groups = above.groups | below.groups;
      const uint16_t deepest = std::max(above.deepest, below.deepest);
      if (groups == above.groups && deepest == above.deepest) break;
      above.groups = groups, above.deepest = deepest;
    }
  }
}

std::shared_ptr<const TokenTrie> TokenTrie::make(const Tokenizer& tokenizer, std::span<const TokenId> ends, std::span<const std::string_view> spelt) {
  std::vector<std::string_view> tokens(static_cast<size_t>(std::max(tokenizer.size(), 0)));
  for (size_t i = 0; i < tokens.size(); i++) tokens[i] = tokenizer.bytes(static_cast<TokenId>(i));
  for (const std::string_view text : spelt)
    if (const auto id = tokenizer.find(text); id && tokens[static_cast<size_t>(*id)].empty()) tokens[static_cast<size_t>(*id)] = tokenizer.bytes(*id, false);
  return std::make_shared<TokenTrieImpl>(tokens, ends);
}
