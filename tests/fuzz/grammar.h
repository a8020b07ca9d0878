// grammar fuzz: a text of one of the notations is compiled; the grammar must have bounded errors and never lead into a dead end.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include "text/grammar.h"
#include "text/text.h"

// A vocabulary of single bytes; the last token ends.
class ByteTokens final : public Tokenizer {
 public:
  ByteTokens() {
    for (int byte = 0; byte < 256; ++byte) bytes_[static_cast<size_t>(byte)] = static_cast<char>(byte);
  }
  std::vector<TokenId> encode(std::string_view, EncodeOptions) const override { return {}; }
  std::string_view bytes(TokenId id, bool) const override { return id >= 0 && id < 256 ? std::string_view(&bytes_[static_cast<size_t>(id)], 1) : std::string_view(); }
  bool is_special(TokenId id) const override { return id == 256; }
  std::optional<TokenId> find(std::string_view) const override { return std::nullopt; }
  int size() const override { return 257; }
  std::optional<TokenId> bos() const override { return std::nullopt; }
  std::optional<TokenId> eos() const override { return 256; }

 private:
  std::array<char, 256> bytes_{};
};

inline int walk_grammar(std::string_view text, Result<GrammarBuilder::Node> (GrammarBuilder::*read)(std::string_view)) {
  static const auto tokens = TokenTrie::make(ByteTokens(), std::array<TokenId, 1>{256});
  GrammarBuilder builder;
  const auto root = (builder.*read)(text);
  const auto grammar = root ? std::move(builder).build(*root) : Result<std::shared_ptr<const Grammar>>(root.error());
  if (!grammar) {
    if (grammar.error().message.empty() || grammar.error().message.size() > 4096) std::abort();
    return 0;
  }
  const auto matcher = GrammarMatcher::make(*grammar, tokens);
  uint32_t state = 1;
  for (int n = 0; n < 64; ++n) {
    const auto mask = matcher->mask();
    std::vector<TokenId> allowed;
    for (TokenId id = 0; id < 257; ++id)
      if ((mask[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0) allowed.push_back(id);
    if (allowed.empty()) std::abort();
    const TokenId id = allowed[(state = state * 1664525 + 1013904223) % allowed.size()];
    if (id == 256) return matcher->may_end() ? 0 : (std::abort(), 0);
    if (!matcher->accept(id)) std::abort();
  }
  return 0;
}
