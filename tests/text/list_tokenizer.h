// list tokenizer: a vocabulary of any byte strings, for tests of constraints.
#pragma once
#include <string>
#include <vector>

#include "text/text.h"

// A vocabulary of any byte strings; the last token is the end.
class ListTokenizer final : public Tokenizer {
 public:
  explicit ListTokenizer(std::vector<std::string> tokens) : tokens_(std::move(tokens)) { tokens_.emplace_back(); }
  std::vector<TokenId> encode(std::string_view, EncodeOptions) const override { return {}; }
  std::string_view bytes(TokenId id, bool) const override { return tokens_[size_t(id)]; }
  bool is_special(TokenId id) const override { return tokens_[size_t(id)].empty(); }
  std::optional<TokenId> find(std::string_view) const override { return std::nullopt; }
  int size() const override { return int(tokens_.size()); }
  std::optional<TokenId> bos() const override { return std::nullopt; }
  std::optional<TokenId> eos() const override { return size() - 1; }
  TokenId end() const { return size() - 1; }

 private:
  std::vector<std::string> tokens_;
};
