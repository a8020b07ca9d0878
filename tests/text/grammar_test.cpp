// grammar tests: the primitives, and the matcher against a slow reference that follows the nodes word by word.
#include <algorithm>
#include <gtest/gtest.h>

#include "text/grammar.h"
#include "text/grammar_reference.h"
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
