// view: every row of privacy.md 2.1, and that spans find their way back to the original.
#include "privacy/view.h"

#include <gtest/gtest.h>
#include "privacy/view_derive.h"

namespace {

std::string fold(std::string_view text) { return folded(text).text; }

// What of the original is behind the view's `part`.
std::string behind(std::string_view original, const View& view, std::string_view part) {
  const size_t at = view.text.find(part);
  if (at == std::string::npos) return "<not in the view>";
  const View::Origin origin = view.origin(at, at + part.size());
  return std::string(original.substr(origin.begin, origin.end - origin.begin));
}

TEST(Folded, AsciiIsItself) {
  const View view = folded("plain text, 4000-0076");
  EXPECT_EQ(view.text, "plain text, 4000-0076");
  EXPECT_FALSE(view.changed(0, view.text.size()));
  EXPECT_EQ(view.origin(3, 8).begin, 3u);
  EXPECT_EQ(view.origin(3, 8).end, 8u);
}

TEST(Folded, FullWidthMathAndCircled) {
  EXPECT_EQ(fold("４０００－ａＢ＠．　x"), "4000-aB@. x");
  EXPECT_EQ(fold("𝟒𝟎𝟬𝟶 ①② ❶ ⑴ ⒈ ⓪ x²³"), "4000 12 1 1 1 0 x23");
  EXPECT_EQ(fold("ⅷ"), "viii");
  const std::string text = "號 ４０００ ⅷ 止";
  const View view = folded(text);
  EXPECT_EQ(behind(text, view, "4000"), "４０００");
  EXPECT_EQ(behind(text, view, "00"), "００");
  EXPECT_EQ(behind(text, view, "vi"), "ⅷ");
  EXPECT_EQ(behind(text, view, "止"), "止");
  EXPECT_TRUE(view.changed(view.text.find("4000"), view.text.find("4000") + 4));
  EXPECT_FALSE(view.changed(view.text.find("止"), view.text.find("止") + 3));
}

TEST(Folded, DigitsOfAllScripts) {
  EXPECT_EQ(fold("٠١٢٣٤٥٦٧٨٩"), "0123456789");
  EXPECT_EQ(fold("۰۱۲۳۴۵۶۷۸۹"), "0123456789");
  EXPECT_EQ(fold("०१२३४५६७८९"), "0123456789");
  EXPECT_EQ(fold("๐๑๒๓๔๕๖๗๘๙"), "0123456789");
}

TEST(Folded, Dashes) { EXPECT_EQ(fold("1‐2‑3‒4–5—6―7−8－9﹣0"), "1-2-3-4-5-6-7-8-9-0"); }

TEST(Folded, DotsOnlyInNumbersAndAddresses) {
  EXPECT_EQ(fold("127。0・0·1"), "127.0.0.1");
  EXPECT_EQ(fold("jane。roe@example。org"), "jane.roe@example.org");
  EXPECT_EQ(fold("jane･roe＠example｡org"), "jane.roe@example.org");
  EXPECT_EQ(fold("好的。再見。ABC"), "好的。再見。ABC");
  EXPECT_EQ(fold("約翰·史密斯"), "約翰·史密斯");
  EXPECT_EQ(fold("090ー1234ー5678 コーヒー"), "090-1234-5678 コーヒー");
}

TEST(Folded, InvisibleCharactersGo) {
  for (const std::string_view c : {"\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u180e", "\u202e", "\u2066", "\U000e0041", "\u034f", "\u3164"}) {
    const std::string text = "a 40" + std::string(c) + "00 b";
    const View view = folded(text);
    EXPECT_EQ(view.text, "a 4000 b");
    EXPECT_EQ(behind(text, view, "4000"), "40" + std::string(c) + "00");
    EXPECT_TRUE(view.changed(2, 6));
    EXPECT_FALSE(view.changed(2, 4));
  }
}

TEST(Folded, MarksAndSelectorsBelongToTheCharacterBefore) {
  const std::string text = "x4\u03010\ufe0f\u20e3e\u0301 y";
  const View view = folded(text);
  EXPECT_EQ(view.text, "x40e y");
  EXPECT_EQ(behind(text, view, "4"), "4\u0301");
  EXPECT_EQ(behind(text, view, "40"), "4\u03010\ufe0f\u20e3");
  EXPECT_EQ(behind(text, view, "e"), "e\u0301");
  EXPECT_EQ(behind(text, view, "x"), "x");
  EXPECT_EQ(fold("é"), "é");
  EXPECT_EQ(fold("नि"), "नि");  // marks of other scripts are letters to them
}

TEST(Folded, LookAlikesOnlyBesideLatin) {
  EXPECT_EQ(fold("pаsswоrd"), "password");
  EXPECT_EQ(fold("аpple Аpple ρaypal"), "apple Apple paypal");
  EXPECT_EQ(fold("Россия и Москва"), "Россия и Москва");
  EXPECT_EQ(fold("Ελλάδα"), "Ελλάδα");
  EXPECT_EQ(fold("аса@example.org"), "aca@example.org");
}

TEST(Folded, GrowthIsBounded) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "\ufdfa";  // 18 letters by NFKC
  EXPECT_LE(folded(text).text.size(), 4 * text.size());
}

TEST(Excerpts, KeepTheWordsAround) {
  const std::string page = std::string(500, 'x') + " card NUMBER in words " + std::string(500, 'y') + " id OTHER.";
  Rewrites rewrites;
  rewrites.add(page.find("NUMBER"), page.find("NUMBER") + 6, "1234");
  rewrites.add(page.find("OTHER"), page.find("OTHER") + 5, "5678");
  const View view = excerpts(page, ViewKind::numerals, rewrites);
  EXPECT_NE(view.text.find(" card 1234 in words "), std::string::npos);
  EXPECT_NE(view.text.find(" id 5678."), std::string::npos);
  EXPECT_LT(view.text.size(), page.size());
  EXPECT_EQ(behind(page, view, "1234"), "NUMBER");
  EXPECT_EQ(behind(page, view, "23"), "NUMBER");
  EXPECT_EQ(behind(page, view, "card 1234 in"), "card NUMBER in");
  EXPECT_EQ(behind(page, view, "5678"), "OTHER");
  const size_t card = view.text.find("card ");
  EXPECT_FALSE(view.changed(card, card + 5));
  EXPECT_TRUE(view.changed(card, card + 6));
}

std::string rewritten(const Rewrites& rewrites) {
  std::string out;
  for (const Rewrites::One& one : rewrites.all()) (out += rewrites.text(one)) += one.text_size > 1 ? " " : "";
  return out;
}

TEST(Numerals, Chinese) {
  EXPECT_EQ(rewritten(find_numerals("電話零九一二三四五六七八。")), "0912345678");
  EXPECT_EQ(rewritten(find_numerals("零壹贰叁肆伍陆柒捌玖")), "0123456789");
  EXPECT_EQ(rewritten(find_numerals("幺三洞、拐勾八、二五六〇")), "1307982560");
  EXPECT_EQ(rewritten(find_numerals("二〇二四年十一月")), "");
  EXPECT_EQ(rewritten(find_numerals("一二三四五六七")), "");
}

TEST(Numerals, SpelledOut) {
  EXPECT_EQ(rewritten(find_numerals("it is four one one one, one one one one ok")), "41111111");
  EXPECT_EQ(rewritten(find_numerals("Nine-One-Two double Oh triple six four")), "91200 666 4");
  EXPECT_EQ(rewritten(find_numerals("one two three four five six")), "");
  EXPECT_EQ(rewritten(find_numerals("one for the money, two for the show")), "");
}

TEST(DigitsApart, OneByOne) {
  EXPECT_EQ(rewritten(find_digits_apart("ssn 1.2.3-4.5-6.7.8.9 ok")), "123456789");
  EXPECT_EQ(rewritten(find_digits_apart("F 2 3 1 4 0 7 6 5 3")), "F231407653");
  EXPECT_EQ(rewritten(find_digits_apart("1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11")), "");
  EXPECT_EQ(rewritten(find_digits_apart("12.34.56.78.90")), "");
  EXPECT_EQ(rewritten(find_digits_apart("a 4 0 0 0 0 0 7 6 x")), "40000076");
}

TEST(Escapes, AllSpellings) {
  EXPECT_EQ(rewritten(find_escapes("%34%30 \\u0035 \\x36 \\u{37} &#56;&#x39; &commat;")), "40567" "89@");
  EXPECT_EQ(rewritten(find_escapes("%E5%BC%B5")), "張 ");
  EXPECT_EQ(rewritten(find_escapes("\\ud83d\\ude00")), "😀 ");
  EXPECT_EQ(rewritten(find_escapes("%02d 100% &unknown; \\user \\x")), "");
}

TEST(QuotedPrintable, NeedsMoreThanOneEscape) {
  EXPECT_EQ(rewritten(find_quoted_printable("=E5=BC=B5 =40")), "張 @");
  EXPECT_EQ(rewritten(find_quoted_printable("x=10")), "");
}

TEST(Blobs, Base64) {
  const Blobs blobs = find_blobs("a /usr/share/dict bWVldCBtZSBhdCBzaXg= and bWVldCBtZSBhdCBzaXg, not SomeLongIdentifierName", 1000);
  EXPECT_EQ(rewritten(blobs.base64), "meet me at six meet me at six ");
  EXPECT_TRUE(blobs.opaque.empty());
  EXPECT_EQ(rewritten(find_blobs("x bWVldCBtZSBhdCBz\n  aXggdGhpcyBldmVu\n  aW5n y", 1000).base64), "meet me at six this evening ");
  EXPECT_EQ(rewritten(find_blobs("NAAwADAAMAAwADAANwA2AA==", 1000).base64), "40000076 ");  // UTF-16
}

TEST(Blobs, Hex) {
  EXPECT_EQ(rewritten(find_blobs("6d65657420617420736978", 1000).hex), "meet at six ");
  EXPECT_EQ(rewritten(find_blobs("say 6d 65 65 74 20 61 74 20 73 69 78", 1000).hex), "meet at six ");
  EXPECT_EQ(rewritten(find_blobs("[0x6d, 0x65, 0x65, 0x74, 0x20, 0x61, 0x74, 0x21]", 1000).hex), "meet at! ");
  EXPECT_TRUE(find_blobs("da39a3ee5e6b4b0d3255bfef95601890afd80709", 1000).hex.empty());
}

}  // namespace
