// grammar tests: the primitives, and the matcher against a slow reference that follows the nodes word by word.
#include <algorithm>
#include <ctime>
#include <gtest/gtest.h>
#include <random>
#include <set>

#include "text/grammar.h"
#include "text/grammar_reference.h"
#include "text/list_tokenizer.h"
#include "text/unicode.h"

using Node = GrammarBuilder::Node;
using Range = GrammarBuilder::Range;

TEST(GrammarParts, characters_are_spelt_as_utf8) {
  GrammarBuilder b;
  const std::vector<Range> ranges = {{'a', 'f'}, {0x7f, 0x81}, {0x7fe, 0x802}, {0xd7fd, 0xe003}, {0xfffe, 0x10001}, {0x10fffe, 0x10ffff}};
  const Node in = b.characters(ranges), out = b.characters(ranges, true);
  for (const char32_t edge : {0x60, 0x66, 0x7e, 0x82, 0x7fd, 0x802, 0xd7fc, 0xe003, 0xfffd, 0x10001, 0x10fffd})
    for (char32_t c = edge - 2; c <= std::min<char32_t>(edge + 3, 0x10ffff); c++) {
      if (c >= 0xd800 && c <= 0xdfff) continue;
      std::string text;
      append_utf8(c, text);
      const bool inside = std::any_of(ranges.begin(), ranges.end(), [&](Range r) { return c >= r.first && c <= r.last; });
      EXPECT_EQ(reference_match(b, in, text), inside) << std::hex << uint32_t(c);
      EXPECT_EQ(reference_match(b, out, text), !inside) << std::hex << uint32_t(c);
    }
  for (const char* bad : {"\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "\x80", "\xe0\x80\x80", "\xff"}) EXPECT_FALSE(reference_match(b, out, bad));
}

TEST(GrammarParts, until_knows_its_stop) {
  GrammarBuilder b;
  for (const std::string stop : {"</x>", "aab", "a", "\xc3\xa9!", "aabaaab"}) {
    const Node node = b.until(stop);
    for (const std::string text : {"", "hello", "a", "aa", "aaab", "aabaabaaab", "aabaaaab", "</x", "<</x>", "b\xc3\xa9", "b\xc3\xa9!", "\xc3\xa9\xc3\xa9!", "\xf0\x9f\x98\x80</x>"})
      EXPECT_EQ(reference_match(b, node, text), text.find(stop) == std::string::npos) << stop << " in " << text;
    bool viable = false;
    EXPECT_FALSE(reference_match(b, node, "b\xc3", &viable));
    EXPECT_TRUE(viable);
    EXPECT_FALSE(reference_match(b, node, "b\xff", &viable));
    EXPECT_FALSE(viable);
  }
}

TEST(GrammarParts, reference_follows_recursion_and_repeats) {
  GrammarBuilder b;
  const Node s = b.declare("s");  // s: s s | "(" s ")" | empty
  b.define(s, b.choice(std::array{b.sequence(std::array{s, s}), b.sequence(std::array{b.literal("("), s, b.literal(")")}), b.empty()}));
  bool viable = false;
  EXPECT_TRUE(reference_match(b, s, "(()())()"));
  EXPECT_FALSE(reference_match(b, s, "(()", &viable));
  EXPECT_TRUE(viable);
  EXPECT_FALSE(reference_match(b, s, "())", &viable));
  EXPECT_FALSE(viable);
  const Node r = b.repeat(b.literal("ab"), 2, 3);
  for (const auto& [text, match, prefix] : std::vector<std::tuple<std::string, bool, bool>>{{"", false, true}, {"ab", false, true}, {"abab", true, true}, {"ababa", false, true}, {"ababab", true, true}, {"abababa", false, false}}) {
    EXPECT_EQ(reference_match(b, r, text, &viable), match) << text;
    EXPECT_EQ(viable, prefix) << text;
  }
  EXPECT_EQ(b.literal("x"), b.literal("x"));
}

// Grammars over the letters a and b, with everything that can go wrong: recursion on both sides, cycles of empty rules, nested counts.
struct RandomGrammar {
  std::mt19937& random;
  GrammarBuilder builder;
  std::vector<Node> rules, nodes;
  int below(int n) { return int(random() % unsigned(n)); }
  Node any() { return below(3) == 0 ? rules[size_t(below(int(rules.size())))] : nodes[size_t(below(int(nodes.size())))]; }
  Node make() {
    for (int i = 1 + below(4); i > 0; i--) rules.push_back(builder.declare());
    ByteSet both;
    both.set('a').set('b');
    nodes = {builder.literal("a"), builder.literal("b"), builder.literal("ab"), builder.bytes(both), builder.empty()};
    for (int i = 0; i < 12; i++) {
      std::vector<Node> parts;
      for (int n = 1 + below(3); n > 0; n--) parts.push_back(any());
      const int least = below(4), kind = below(5);
      if (kind < 2) nodes.push_back(builder.sequence(parts));
      else if (kind < 4) nodes.push_back(builder.choice(parts));
      else if (below(3) == 0) nodes.push_back(builder.repeat(nodes[size_t(below(int(std::min<size_t>(nodes.size(), 9))))], below(2) * 9, below(3) == 0 ? -1 : 9 + below(20)));
      else nodes.push_back(builder.repeat(any(), least, below(3) == 0 ? -1 : least + below(3)));
    }
    for (const Node rule : rules) builder.define(rule, nodes[nodes.size() - 1 - size_t(below(8))]);
    return below(2) == 0 ? rules[0] : nodes.back();
  }
};

static std::string random_text(std::mt19937& random, size_t n) {
  std::string out;
  for (size_t i = 0; i < n; i++) out += random() % 2 ? 'a' : 'b';
  return out;
}

static const std::vector<std::string> kLetters = {"a", "b", "ab", "aa", "ba", "bb", "aba", "abb", "aab", "bab", "abab", "aaaa", "bbbb", "babab", "ab", "c"};

TEST(GrammarMatcher, agrees_with_the_reference_on_random_grammars) {
  const ListTokenizer tokenizer(kLetters);
  const auto trie = TokenTrie::make(tokenizer, std::array{tokenizer.end()});
  int n_built = 0, n_matches = 0, n_prefixes = 0;
  for (unsigned seed = 0; seed < 1500; seed++) {
    std::mt19937 random(seed);
    RandomGrammar maker{random, {}, {}, {}};
    const Node root = maker.make();
    RandomGrammar again{*new std::mt19937(seed), {}, {}, {}};  // the builder is used up by build(); the reference reads an equal one
    const std::unique_ptr<std::mt19937> owner(&again.random);
    again.make();
    auto grammar = std::move(maker.builder).build(root);
    bool productive = false;
    reference_match(again.builder, root, "", &productive);
    ASSERT_EQ(bool(grammar), productive) << "seed " << seed << ": " << (grammar ? "" : grammar.error().message);
    if (!grammar) continue;
    n_built++;
    for (int round = 0; round < 6; round++) {
      const std::string text = random_text(random, random() % 11);
      auto matcher = GrammarMatcher::make(*grammar, trie);
      for (size_t n = 0; n <= text.size(); n++) {
        bool viable = false;
        const bool match = reference_match(again.builder, root, text.substr(0, n), &viable);
        const bool accepted = n == 0 || matcher->accept_bytes(text.substr(n - 1, 1));
        ASSERT_EQ(accepted, viable) << "seed " << seed << " text " << text.substr(0, n);
        if (!accepted) break;
        ASSERT_EQ(matcher->may_end(), match) << "seed " << seed << " text " << text.substr(0, n);
        n_matches += match, n_prefixes += viable && !match;
      }
    }
  }
  EXPECT_GT(n_built, 1000);
  EXPECT_GT(n_matches, 1000);
  EXPECT_GT(n_prefixes, 1000);
}

TEST(GrammarMatcher, masks_forced_bytes_and_rewinding_agree_with_trying) {
  const ListTokenizer tokenizer(kLetters);
  const auto trie = TokenTrie::make(tokenizer, std::array{tokenizer.end()});
  for (unsigned seed = 0; seed < 1500; seed++) {
    std::mt19937 random(seed);
    RandomGrammar maker{random, {}, {}, {}};
    const Node root = maker.make();
    auto grammar = std::move(maker.builder).build(root);
    if (!grammar) continue;
    auto matcher = GrammarMatcher::make(*grammar, trie);
    std::vector<TokenId> accepted;
    for (int step = 0; step < 12; step++) {
      const auto mask = matcher->mask();
      const std::vector<uint64_t> bits(mask.begin(), mask.end());
      std::vector<TokenId> allowed;
      std::bitset<256> next;
      auto fresh = GrammarMatcher::make(*grammar, trie);
      for (const TokenId before : accepted) ASSERT_TRUE(fresh->accept(before));
      for (TokenId id = 0; id < tokenizer.size(); id++) {
        const bool can = fresh->accept(id);
        if (can) fresh->rewind(1);
        if (can && id != tokenizer.end()) allowed.push_back(id), next.set(uint8_t(tokenizer.bytes(id, true)[0]));
        ASSERT_EQ(bits[size_t(id) / 64] >> (id % 64) & 1, uint64_t(can)) << "seed " << seed << " token " << id << " step " << step;
      }
      EXPECT_EQ(bits[size_t(tokenizer.end()) / 64] >> (tokenizer.end() % 64) & 1, uint64_t(matcher->may_end()));
      EXPECT_EQ(matcher->must_end(), matcher->may_end() && allowed.empty());
      const std::string forced = matcher->forced();
      if (next.count() != 1 || matcher->may_end()) EXPECT_EQ(forced, "");
      else EXPECT_TRUE(!forced.empty() && next[uint8_t(forced[0])]);
      if (!forced.empty()) {
        ASSERT_TRUE(matcher->accept_bytes(forced));
        matcher->rewind(1);
      }
      if (allowed.empty()) break;
      if (accepted.size() > 2 && random() % 4 == 0) {
        const int back = 1 + int(random() % 3);
        matcher->rewind(back);
        accepted.resize(accepted.size() - size_t(back));
        continue;
      }
      accepted.push_back(allowed[random() % allowed.size()]);
      ASSERT_TRUE(matcher->accept(accepted.back()));
    }
  }
}

// Tokens as vocabularies have them: words, punctuation, parts of characters.
static std::vector<std::string> mixed_tokens() {
  std::mt19937 random(3);
  static const std::string kPieces[] = {"a", "b", "the", "Z", "7", "42", " ", ",", "-", "\"", "\\", "\\n", "u00", "\n", "\x01", "\xc3\xa9", "\xc3", "\xa9", "\xe4\xb8\xad", "\xe4\xb8", "\xf0\x9f\x98\x80", "\xf0", "\x80", "\xff", "<", "/x>", "{", "}", ":"};
  std::set<std::string> out;
  for (int b = 0; b < 256; b++) out.insert(std::string(1, static_cast<char>(b)));
  while (out.size() < 1500) {
    std::string token;
    for (size_t n = 1 + random() % 4; n > 0; n--) token += kPieces[random() % std::size(kPieces)];
    out.insert(token);
  }
  return {out.begin(), out.end()};
}

TEST(GrammarMatcher, masks_of_text_agree_with_trying) {
  const ListTokenizer tokenizer(mixed_tokens());
  const auto trie = TokenTrie::make(tokenizer, std::array{tokenizer.end()});
  using Make = Result<Node> (*)(GrammarBuilder&);
  const Make kinds[] = {
      [](GrammarBuilder& b) { return b.json_string_of(""); },
      [](GrammarBuilder& b) { return b.json_string_of("^.{0,12}$"); },
      [](GrammarBuilder& b) { return b.json_string_of("^[a-zé]{3,9}(,[^,]{2,5}){0,6}$"); },
      [](GrammarBuilder& b) { return b.regex("the|中", false); },
      [](GrammarBuilder& b) { return b.regex("^([a-z ]{1,20}[0-9]{0,10}){2,20}$", false); },
      [](GrammarBuilder& b) -> Result<Node> { return b.sequence(std::array{b.until("</x>"), b.literal("</x>")}); },
      [](GrammarBuilder& b) -> Result<Node> { return b.repeat(b.bytes(~ByteSet()), 0, 6); },
      [](GrammarBuilder& b) -> Result<Node> {  // bytes that are no characters, around text
        ByteSet bad;
        bad.set(0xc3).set(0xff).set('a');
        return b.sequence(std::array{b.bytes(bad), b.repeat(b.characters(std::array{Range{0, 0x10ffff}}), 0, -1), b.bytes(bad)});
      },
      [](GrammarBuilder& b) -> Result<Node> {  // lists of strings in lists
        const Node value = b.declare(), text = *b.json_string_of("^[^0-9]{0,30}$");
        const Node rest = b.repeat(b.sequence(std::array{b.literal(","), value}), 0, 20);
        b.define(value, b.choice(std::array{text, b.sequence(std::array{b.literal("{"), value, rest, b.literal("}")})}));
        return value;
      }};
  for (const Make make : kinds) {
    GrammarBuilder builder;
    const auto node = make(builder);
    ASSERT_TRUE(node) << node.error().message;
    const auto grammar = std::move(builder).build(*node);
    ASSERT_TRUE(grammar) << grammar.error().message;
    for (unsigned seed = 0; seed < 12; seed++) {
      std::mt19937 random(seed);
      const auto matcher = GrammarMatcher::make(*grammar, trie);
      for (int step = 0; step < 12; step++) {
        const auto mask = matcher->mask();
        const std::vector<uint64_t> bits(mask.begin(), mask.end());
        std::vector<TokenId> allowed;
        for (TokenId id = 0; id < tokenizer.size(); id++) {
          const bool can = matcher->accept(id);
          if (can) matcher->rewind(1);
          if (can && id != tokenizer.end()) allowed.push_back(id);
          ASSERT_EQ(bits[size_t(id) / 64] >> (id % 64) & 1, uint64_t(can)) << "grammar " << &make - kinds << " seed " << seed << " step " << step << " token " << testing::PrintToString(std::string(tokenizer.bytes(id, true)));
        }
        if (allowed.empty()) break;
        ASSERT_TRUE(matcher->accept(allowed[random() % allowed.size()]));
      }
    }
  }
}

// Compiles, walks some steps and asks for masks, within the time of a hostile request.
static double seconds_of(GrammarBuilder builder, Node root, const std::string& text) {
  static const ListTokenizer tokenizer(mixed_tokens());
  static const auto trie = TokenTrie::make(tokenizer, std::array{tokenizer.end()});
  const std::clock_t begin = std::clock();  // of this process: machines that run tests are busy
  if (const auto grammar = std::move(builder).build(root)) {
    const auto matcher = GrammarMatcher::make(*grammar, trie);
    for (size_t at = 0; at < text.size() && matcher->accept_bytes(text.substr(at, 1)); at++)
      if (at % 50 == 0) matcher->mask(), matcher->forced(), matcher->must_end();
  }
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(GrammarMatcher, hostile_grammars_end_soon) {
  const std::string letters = std::string(500, 'a');
  const auto check = [&](const char* what, Node (*make)(GrammarBuilder&)) {
    GrammarBuilder builder;
    const Node root = make(builder);
    EXPECT_LT(seconds_of(std::move(builder), root, letters), 5) << what;
  };
  check("a sentence of itself twice", [](GrammarBuilder& b) {
    const Node s = b.declare();
    b.define(s, b.choice(std::array{b.sequence(std::array{s, s}), b.sequence(std::array{s, s, s}), b.literal("a"), b.empty()}));
    return s;
  });
  check("many brackets that are the same", [](GrammarBuilder& b) {
    const Node s = b.declare();
    b.define(s, b.choice(std::array{b.sequence(std::array{b.literal("a"), s, b.literal("b")}), b.sequence(std::array{b.literal("a"), s, b.literal("c")}), b.sequence(std::array{b.literal("a"), s, s}), b.literal("x")}));
    return s;
  });
  check("cycles of empty rules", [](GrammarBuilder& b) {
    std::vector<Node> rules;
    for (int i = 0; i < 200; i++) rules.push_back(b.declare());
    for (size_t i = 0; i < rules.size(); i++) b.define(rules[i], b.choice(std::array{rules[(i + 1) % 200], rules[(i * 7 + 3) % 200], b.repeat(rules[(i + 5) % 200], 0, -1), b.literal("a")}));
    return rules[0];
  });
  check("counts of counts", [](GrammarBuilder& b) {
    Node n = b.optional(b.literal("a"));
    for (int i = 0; i < 12; i++) n = b.repeat(n, 0, 1000);
    return n;
  });
  check("a count far behind a letter anywhere", [](GrammarBuilder& b) { return *b.regex("^(a|b)*a(a|b){5000}$", false); });
  check("a thousand options", [](GrammarBuilder& b) {
    std::vector<Node> parts;
    for (int i = 0; i < 1000; i++) parts.push_back(b.optional(b.literal("a")));
    return b.sequence(parts);
  });
  check("deep nesting", [](GrammarBuilder& b) {
    Node n = b.literal("a");
    for (int i = 0; i < 100'000; i++) n = b.optional(b.sequence(std::array{n, b.literal("b")}));
    return n;
  });
  check("counted recursion", [](GrammarBuilder& b) {
    const Node s = b.declare();
    b.define(s, b.choice(std::array{b.repeat(s, 1, 100), b.sequence(std::array{s, b.literal("a"), s}), b.literal("a")}));
    return s;
  });
}

TEST(GrammarMatcher, large_counts_are_counted_exactly) {
  GrammarBuilder builder;
  const Node root = *builder.json_string_of("^[ab]{20,10000}$");
  const auto grammar = std::move(builder).build(root);
  ASSERT_TRUE(grammar);
  const ListTokenizer tokenizer(kLetters);
  const auto matcher = GrammarMatcher::make(*grammar, TokenTrie::make(tokenizer, std::array{tokenizer.end()}));
  ASSERT_TRUE(matcher->accept_bytes("\"" + std::string(19, 'a')));
  EXPECT_FALSE(matcher->accept_bytes("\""));
  ASSERT_TRUE(matcher->accept_bytes("a"));
  ASSERT_TRUE(matcher->accept_bytes("\""));
  EXPECT_TRUE(matcher->must_end());
  matcher->rewind(1);
  ASSERT_TRUE(matcher->accept_bytes(std::string(9980, 'b')));
  EXPECT_FALSE(matcher->accept_bytes("a"));
  EXPECT_EQ(matcher->forced(), "\"");
  EXPECT_EQ(matcher->bytes_accepted(), 10'001u);
}
