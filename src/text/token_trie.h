// token trie: a vocabulary's tokens in the order of their bytes, as flat arrays in the order of a walk.
#pragma once
#include <string_view>
#include <vector>

#include "text/grammar.h"

class TokenTrieImpl final : public TokenTrie {
 public:
  // `tokens` by id; empty ones are left out, and so are `ends`.
  TokenTrieImpl(std::span<const std::string_view> tokens, std::span<const TokenId> ends);

  // Node i: its last byte, its depth (1: one byte), where the walk goes on when its subtree is skipped, and where the tokens of its
  // subtree begin in `order`: tokens of node i alone end where those of node i + 1 begin.
  struct Node { int32_t skip, first_token; uint16_t depth; uint8_t byte; };
  const std::vector<Node>& nodes() const { return nodes_; }  // and one past the last, for its first_token
  int32_t size() const { return static_cast<int32_t>(nodes_.size()) - 1; }
  const std::vector<TokenId>& order() const { return order_; }  // ids, sorted by their bytes
  std::string_view bytes(TokenId id) const {
    const auto i = static_cast<size_t>(id);
    return std::string_view(text_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
  }
  int32_t vocabulary() const { return static_cast<int32_t>(offsets_.size()) - 1; }
  size_t mask_words() const { return (static_cast<size_t>(vocabulary()) + 63) / 64; }
  int32_t longest() const { return longest_; }
  std::span<const TokenId> ends() const { return ends_; }
  bool is_end(TokenId id) const;

 private:
  std::vector<Node> nodes_;
  std::vector<TokenId> order_, ends_;
  std::string text_;
  std::vector<uint32_t> offsets_;
  int32_t longest_ = 0;
};
