// labels: whole words, near and far, and what may stand between a label and its value.
#include "privacy/labels.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include "privacy/aho_corasick.h"
#include "privacy/detect/detect.h"

namespace {

struct Book {
  LabelBook book;
  LabelSet card = book.add({"card no", "card number", "card", "卡號"});
  LabelSet licence = book.add({"lic", "license", "contraseña"});
  Book() { book.build(); }
};
const Book& known() {
  static const Book book;
  return book;
}

struct Text {
  std::string text;
  Labels labels;
  explicit Text(std::string t) : text(std::move(t)), labels(known().book, text) {}
  bool near(LabelSet set, std::string_view value) const { return labels.near(set, text.find(value), text.find(value) + value.size()); }
  bool introduces(LabelSet set, std::string_view value) const { return labels.introduces(set, text.find(value)); }
};

TEST(Labels, WholeWordsOnly) {  // F1
  EXPECT_TRUE(Text("Lic. A1234").near(known().licence, "A1234"));
  for (const char* text : {"public A1234", "policy A1234", "lice A1234", "xLicY3A1234", "licé A1234", "slic2 A1234"}) EXPECT_FALSE(Text(text).near(known().licence, "A1234")) << text;
  EXPECT_TRUE(Text("CONTRASEÑA A1234").near(known().licence, "A1234"));
}

TEST(Labels, HanAnywhere) {  // F5
  EXPECT_TRUE(Text("我的卡號4000").near(known().card, "4000"));
  EXPECT_TRUE(Text("4000 是我的卡號").near(known().card, "4000"));
}

TEST(Labels, SpacesUnderscoresAndCode) {
  for (const char* text : {"card   number 77", "CARD_NO: 77", "card-number=77", "cardNumber: 77", "creditCard: 77"}) EXPECT_TRUE(Text(text).introduces(known().card, "77")) << text;
  EXPECT_TRUE(Text("card1 77").near(known().card, "77"));
}

TEST(Labels, DistanceInCodePoints) {
  EXPECT_TRUE(Text("card" + std::string(40, '.') + "77").near(known().card, "77"));
  EXPECT_FALSE(Text("card" + std::string(41, '.') + "77").near(known().card, "77"));
  std::string han;
  for (int i = 0; i < 40; ++i) han += "字";
  EXPECT_TRUE(Text("卡號" + han + "77").near(known().card, "77"));
  EXPECT_FALSE(Text("卡號" + han + "字77").near(known().card, "77"));
  EXPECT_TRUE(Text("77" + std::string(15, '.') + "卡號").near(known().card, "77"));
  EXPECT_FALSE(Text("77" + std::string(16, '.') + "卡號").near(known().card, "77"));
}

TEST(Labels, Introductions) {
  for (const char* text : {"card no.: 77", "my card is 77", "Card Number = \"77\"", "卡號是77", "卡號：77", "卡號為 77"}) EXPECT_TRUE(Text(text).introduces(known().card, "77")) << text;
  for (const char* text : {"card expired, call 77", "card 5 77", "卡號不見了77"}) EXPECT_FALSE(Text(text).introduces(known().card, "77")) << text;
}

TEST(Labels, EqualListsAreOneSet) {
  LabelBook book;
  EXPECT_EQ(book.add({"a", "b"}), book.add({"b", "a", "a"}));
  EXPECT_NE(book.add({"a", "b"}), book.add({"a"}));
}

TEST(AhoCorasick, FindsWhatASearchFinds) {
  std::mt19937 random(3);
  const auto letters = [&](size_t n) {
    std::string out;
    while (out.size() < n) out.push_back(static_cast<char>('a' + random() % 3));
    return out;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> words;
    AhoCorasick automaton;
    for (size_t i = 0; i < 1 + random() % 30; ++i) {
      words.push_back(letters(1 + random() % 6));
      automaton.add(words.back(), static_cast<uint32_t>(i));
    }
    automaton.build();
    const std::string text = letters(random() % 80);
    std::vector<std::pair<uint32_t, size_t>> found, expected;
    automaton.scan(text, [&](uint32_t id, size_t end) { found.push_back({id, end}); });
    for (uint32_t i = 0; i < words.size(); ++i) {
      for (size_t at = text.find(words[i]); at != std::string::npos; at = text.find(words[i], at + 1)) expected.push_back({i, at + words[i].size()});
    }
    std::sort(found.begin(), found.end()), std::sort(expected.begin(), expected.end());
    EXPECT_EQ(found, expected);
  }
}

TEST(AhoCorasick, AnyBytes) {
  AhoCorasick automaton;
  const std::string zeros(3, '\0'), high = "\xff\xfe";
  automaton.add(zeros, 1), automaton.add(high, 2);
  automaton.build();
  std::vector<uint32_t> found;
  automaton.scan(std::string(4, '\0') + high, [&](uint32_t id, size_t) { found.push_back(id); });
  EXPECT_EQ(found, (std::vector<uint32_t>{1, 1, 2}));
}

TEST(Characters, BordersByClass) {
  EXPECT_TRUE(at_word_start("電話0912", 6));
  EXPECT_FALSE(at_word_start("Zoë0912", 4));
  EXPECT_FALSE(at_word_start("a1", 1));
  EXPECT_TRUE(at_word_end("0912號", 4));
  EXPECT_FALSE(at_word_end("0912é", 4));
  EXPECT_TRUE(at_word_start("a_1", 2));
  EXPECT_NEAR(entropy("hunter2hunter2"), 2.807f, 0.01f);
  EXPECT_EQ(entropy(""), 0);
}

}  // namespace
