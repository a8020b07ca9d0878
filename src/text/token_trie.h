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
  // `deepest` is the depth of its subtree's longest token; `groups` are those of Group that occur in node or subtree.
  struct Node { int32_t skip, first_token; uint16_t depth, deepest; uint8_t byte, groups; };
  // Kinds of characters; `broken`: not UTF-8, or a token ends inside a character.
  enum Group : uint8_t { quote = 1, backslash = 2, control = 4, letter = 8, digit = 16, other_ascii = 32, beyond_ascii = 64, broken = 128 };
  static uint8_t group_of(uint8_t ascii);
  const std::vector<Node>& nodes() const { return nodes_; }  // and one past the last, for its first_token
  int32_t size() const { return static_cast<int32_t>(nodes_.size()) - 1; }
  const std::vector<TokenId>& order() const { return order_; }  // ids, sorted by their bytes
  const std::vector<uint64_t>& all() const { return all_; }      // a bit for each id in `order`
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
  void sum_up();

  std::vector<Node> nodes_;
  std::vector<TokenId> order_, ends_;
  std::vector<uint64_t> all_;
  std::string text_;
  std::vector<uint32_t> offsets_;
  int32_t longest_ = 0;
};
