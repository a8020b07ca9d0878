// grammar regex tests: regular expressions as grammars find what PCRE2 finds, in texts and in JSON strings, and refuse what they cannot hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "text/grammar.h"
#include "text/list_tokenizer.h"

struct Pcre {
  explicit Pcre(const std::string& pattern) {
    int error = 0;
    size_t offset = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS, &error, &offset, nullptr);
    data = code ? pcre2_match_data_create_from_pattern(code, nullptr) : nullptr;
  }
  ~Pcre() { pcre2_match_data_free(data), pcre2_code_free(code); }
  bool finds(const std::string& text) const { return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0, data, nullptr) >= 0; }
  pcre2_code* code;
  pcre2_match_data* data;
};

static bool matches(const std::shared_ptr<const Grammar>& grammar, const std::string& text) {
  static const ListTokenizer tokenizer({"a"});
  static const auto trie = TokenTrie::make(tokenizer, std::array{tokenizer.end()});
  const auto matcher = GrammarMatcher::make(grammar, trie);
  return matcher->accept_bytes(text) && matcher->may_end();
}

static Result<std::shared_ptr<const Grammar>> compile(const std::string& pattern, bool json) {
  GrammarBuilder builder;
  TRY(const auto node, json ? builder.json_string_of(pattern) : builder.regex(pattern, false));
  return std::move(builder).build(node);
}

// As the JSON spelling that json_string_of accepts: escapes where they are needed.
static std::string json_of(const std::string& text, std::mt19937& random) {
  std::string out = "\"";
  for (const char c : text) {
    static constexpr std::string_view kShort = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
    const size_t i = kShort.find(c);
    char hex[8];
    if (i != std::string_view::npos && random() % 2) out += '\\', out += kLetters[i];
    else if (i != std::string_view::npos || static_cast<unsigned char>(c) < 0x20) std::snprintf(hex, sizeof hex, random() % 2 ? "\\u%04x" : "\\u%04X", static_cast<unsigned char>(c)), out += hex;
    else out += c;
  }
  return out + "\"";
}

static const char* kPatterns[] = {
    "a", "^a", "a$", "^a$", "^$", "^", "$", "", "ab|ba", "^(ab|ba)$", "^ab|ba$", "(^a|b)b", "b(a$|b)", "^(?:a|b$)", "(^|b)a($|b)", "a*", "^a*$", "^a+b?$", "^a{2}$", "^a{2,}b{0,2}$", "^(ab){1,3}$",
    "^a*?b+?a??$", "^(?<name>a|b)+$", "^[ab]{3}$", "^[^a]+$", "[^ab]", "^[a-c1-3]+$", "^[\\d-]+$", "^[-a]+$", "^[a\\-1]+$", "\\d", "^\\d{1,3}$", "^\\w+$", "\\W", "^\\S+$", "\\s", "^.{3}$", "^a.b$", "^.*b.*$",
    "^\\x61\\u0062$", "^\\u{61}", "^\\n$", "\\t|\\\"", "^[\\s\\S]{2}$", "^[^\"\\\\]*$", "\"", "\\\\", "^(a|ab)(c|bcd)?$", "^(a|b)*abb$", "(aa|aab)+b", "^(a{1,2}){2,3}$", "^(a*b*)*1$", "^(?:(?:a)|(?:b(?:1|c)))$",
    "^\\u00e9+$", "[\\u00e0-\\u00ff]", "^[^\\u00e9]$", "^\\p{L}+$", "^\\p{Lu}", "\\P{L}", "^\\p{Nd}+$", "^a{0,20}$", "^[ab]{2,30}$", "^([ab]{1,12}1){1,15}$", "{", "^{a}$", "a{,2}", "^]$", "[]", "^a{0}b$", "^(ab|a{9,12}|[ab1]{10,11})+c$"};

TEST(GrammarRegex, finds_what_pcre2_finds) {
  std::mt19937 random(7);
  static const std::string kPieces[] = {"a", "b", "c", "1", "2", "-", "ab", "aa", " ", "\n", "\t", "\"", "\\", "{", "}", "]", "\x01", "\xc3\xa9", "A", ",", "\xe4\xb8\xad"};
  for (const std::string pattern : kPatterns) {
    std::string for_pcre = pattern;
    if (const size_t at = for_pcre.find("\\u{61}"); at != std::string::npos) for_pcre.replace(at, 6, "a");
    if (for_pcre == "^{a}$") for_pcre = "^\\{a\\}$";
    const Pcre pcre(for_pcre);
    ASSERT_TRUE(pcre.code) << pattern;
    const auto plain = compile(pattern, false), json = compile(pattern, true);
    if (pattern == "[]") {
      EXPECT_FALSE(plain);
      continue;
    }
    ASSERT_TRUE(plain && json) << pattern << (plain ? "" : plain.error().message);
    for (int i = 0; i < 400; i++) {
      std::string text;
      const size_t kinds = i % 2 ? std::size(kPieces) : 4;
      for (size_t n = random() % (i % 5 ? 7 : 24); n > 0; n--) text += kPieces[random() % kinds];
      const bool found = pcre.finds(text);
      ASSERT_EQ(matches(*plain, text), found) << pattern << " in " << testing::PrintToString(text);
      ASSERT_EQ(matches(*json, json_of(text, random)), found) << pattern << " in " << json_of(text, random);
    }
  }
}

TEST(GrammarRegex, refuses_by_name) {
  for (const auto& [pattern, code, word] : std::vector<std::tuple<std::string, Code, std::string>>{
           {"a(?=b)", Code::unsupported, "look-ahead"}, {"(?!b)", Code::unsupported, "look-ahead"}, {"(?<=a)b", Code::unsupported, "look-behind"}, {"(?<!a)b", Code::unsupported, "look-behind"},
           {"\\bword", Code::unsupported, "word boundary"}, {"a\\B", Code::unsupported, "word boundary"}, {"(a)\\1", Code::unsupported, "backreference"}, {"(?<x>a)\\k<x>", Code::unsupported, "backreference"},
           {"a^b", Code::unsupported, "anchor"}, {"(a$)+b", Code::unsupported, "anchor"}, {"(^a)?b", Code::unsupported, "anchor"}, {"(?i)a", Code::unsupported, "flags"}, {"\\p{Script=Latin}", Code::unsupported, "property"},
           {"\\ud800", Code::unsupported, "surrogate"}, {"(a", Code::invalid_request, "group"}, {"a)", Code::invalid_request, "parenthesis"}, {"[a", Code::invalid_request, "class"}, {"*a", Code::invalid_request, "nothing to repeat"},
           {"a{3,2}", Code::invalid_request, "bounds"}, {"[b-a]", Code::invalid_request, "range"}, {"a**", Code::invalid_request, "quantifier"}, {"\\", Code::invalid_request, "backslash"}, {"\\xg0", Code::invalid_request, "\\x"},
           {"\\q", Code::invalid_request, "escape"}, {"a\xff", Code::invalid_request, "UTF-8"}, {std::string(70'000, 'a'), Code::too_large, "64 KiB"}, {std::string(500, '(') + std::string(500, ')'), Code::too_large, "nested"}}) {
    GrammarBuilder builder;
    const auto node = builder.regex(pattern, false);
    ASSERT_FALSE(node) << pattern;
    EXPECT_EQ(node.error().code, code) << pattern << ": " << node.error().message;
    EXPECT_THAT(node.error().message, testing::HasSubstr(word)) << pattern;
  }
}

TEST(GrammarRegex, anchored_is_the_whole_text) {
  GrammarBuilder builder;
  const auto node = builder.regex("a+|b", true);
  ASSERT_TRUE(node);
  const auto grammar = std::move(builder).build(*node);
  ASSERT_TRUE(grammar);
  for (const auto& [text, match] : {std::pair{"aa", true}, {"b", true}, {"ab", false}, {"", false}, {"xb", false}}) EXPECT_EQ(matches(*grammar, text), match) << text;
}
