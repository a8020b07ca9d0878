// fuzz grammar_regex: a pattern becomes a grammar, the grammar is walked at random; masks, forced bytes and rewinding must agree with accepting.
#include "text/grammar.h"
#include "text/list_tokenizer.h"

static const ListTokenizer& tokenizer() {
  static const ListTokenizer made = [] {
    std::vector<std::string> tokens;
    for (int b = 0; b < 256; b++) tokens.emplace_back(1, static_cast<char>(b));
    for (const char* s : {"ab", "aa", "the ", "12", "\\n", "\\\"", "\",", "\xc3\xa9", "\xe4\xb8", "  ", "\": \"", "abcabcabc"}) tokens.emplace_back(s);
    return ListTokenizer(std::move(tokens));
  }();
  return made;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto trie = TokenTrie::make(tokenizer(), std::array{tokenizer().end()});
  if (size < 2) return 0;
  const size_t n_walk = std::min<size_t>(size - 1, data[0] % 16u);  // the last bytes choose the way
  const std::string_view pattern(reinterpret_cast<const char*>(data) + 1, size - 1 - n_walk);
  GrammarBuilder builder;
  const auto node = data[0] & 16 ? builder.json_string_of(pattern) : builder.regex(pattern, (data[0] & 32) != 0);
  if (!node) return 0;
  const auto grammar = std::move(builder).build(*node);
  if (!grammar) return 0;
  const auto matcher = GrammarMatcher::make(*grammar, trie);
  for (size_t i = size - n_walk; i < size; i++) {
    const auto mask = matcher->mask();
    const std::vector<uint64_t> bits(mask.begin(), mask.end());
    std::vector<TokenId> allowed;
    for (TokenId id = 0; id < tokenizer().size(); id++)
      if (bits[static_cast<size_t>(id) / 64] >> (id % 64) & 1) allowed.push_back(id);
    CHECK(!allowed.empty());  // every beginning of a match goes on or may end
    CHECK(matcher->must_end() == (matcher->may_end() && allowed.size() == 1));
    if (const std::string forced = matcher->forced(); !forced.empty()) {
      CHECK(matcher->accept_bytes(forced));
      matcher->rewind(1);
    }
    const size_t before = matcher->bytes_accepted();
    CHECK(matcher->accept(allowed[data[i] % allowed.size()]));
    if (data[i] & 128) matcher->rewind(1), CHECK(matcher->bytes_accepted() == before);
    if (matcher->may_end() && matcher->must_end()) break;
  }
  return 0;
}
