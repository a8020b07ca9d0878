// scanner: views, overlaps, limits and terms, with detectors made for the test.
#include "privacy/scanner.h"

#include <functional>
#include <gtest/gtest.h>
#include <openssl/hmac.h>
#include <stdexcept>
#include "privacy/overlap.h"
#include "privacy/terms.h"

namespace {

using Find = std::function<void(const Page&, std::vector<Hit>&)>;

class Fake final : public Detector {
 public:
  Fake(Find find, bool reads_all) : find_(std::move(find)), reads_all_(reads_all) {}
  std::string_view name() const override { return "fake"; }
  void find(const Page& page, std::vector<Hit>& out) const override { find_(page, out); }
  bool reads(ViewKind kind) const override { return reads_all_ || Detector::reads(kind); }

 private:
  Find find_;
  bool reads_all_;
};

std::shared_ptr<const Scanner> scanner_of(Find find, ScanOptions options = {}, bool reads_all = true, std::shared_ptr<SpanModel> model = nullptr) {
  Detectors detectors;
  detectors.push_back(std::make_unique<Fake>(std::move(find), reads_all));
  auto made = make_scanner(std::move(options), std::make_unique<LabelBook>(), std::move(detectors), std::move(model));
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? *made : nullptr;
}

// Finds every place of a word.
Find finds(std::string word, PrivacyClass cls = PrivacyClass::card, float score = 0.9f) {
  return [=](const Page& page, std::vector<Hit>& out) {
    for (size_t at = page.text.find(word); at != std::string_view::npos; at = page.text.find(word, at + 1)) out.push_back({cls, "kind", at, at + word.size(), score});
  };
}

struct Seen { std::string text, view; };
std::vector<Seen> seen(const Scanner& scanner, std::string_view text) {
  std::vector<Seen> out;
  for (const Finding& f : scanner.scan(text).findings) out.push_back({std::string(text.substr(f.begin, f.end - f.begin)), f.view});
  return out;
}
void expect_one(std::string_view text, std::string_view span, std::string_view view) {
  const auto all = seen(*scanner_of(finds("40000076")), text);
  ASSERT_EQ(all.size(), 1u) << text;
  EXPECT_EQ(all[0].text, span);
  EXPECT_EQ(all[0].view, view);
}

std::string base64(std::string_view bytes) {
  static constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int n = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c), n += 8;
    for (; n >= 6; n -= 6) out.push_back(alphabet[bits >> (n - 6) & 63]);
  }
  if (n > 0) out.push_back(alphabet[bits << (6 - n) & 63]);
  return out;
}

TEST(Scanner, EveryView) {
  expect_one("no 40000076 x", "40000076", "plain");
  expect_one("no ４０００００７６ x", "４０００００７６", "folded");
  expect_one("no 4000\u200b0076 x", "4000\u200b0076", "folded");
  expect_one("四零零零零零七六", "四零零零零零七六", "numerals");
  expect_one("call four oh oh oh oh oh seven six now", "four oh oh oh oh oh seven six", "numerals");
  expect_one("no 4.0.0.0-0.0-7.6 x", "4.0.0.0-0.0-7.6", "squeezed");
  expect_one("no %34%30000076 x", "%34%30000076", "percent");
  expect_one("no \\u0034\\u0030000076 x", "\\u0034\\u0030000076", "escapes");
  expect_one("no &#52;&#48;000076 x", "&#52;&#48;000076", "entities");
  expect_one("no =34=30000076 x", "=34=30000076", "quoted_printable");
  expect_one("no 3430303030303736 x", "3430303030303736", "hex");
}

TEST(Scanner, EncodedBlobsAreFoundWhole) {
  const std::string blob = base64("the number is 40000076, you know");
  expect_one("see " + blob + "= thanks", blob + "=", "base64");
  const std::string twice = base64("again " + blob);
  expect_one("see " + twice + " thanks", twice, "base64");
  const std::string escaped = base64("the number is %34%30000076");
  expect_one("see " + escaped + " thanks", escaped, "percent");
}

TEST(Scanner, MixedEscapes) {
  const auto all = seen(*scanner_of(finds("40000076")), "x %34&#48;\\u0030\\x300076 y");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].text, "%34&#48;\\u0030\\x300076");
}

TEST(Scanner, ReversedForThoseThatReadIt) {
  const std::string text = "x " + std::string("terces-40000076-a-fo-trats") + " y";
  EXPECT_EQ(seen(*scanner_of(finds("start-of-a-67000004")), text).size(), 1u);
  EXPECT_EQ(seen(*scanner_of(finds("start-of-a-67000004"), {}, false), text).size(), 0u);
}

TEST(Scanner, LabelsStayBesideWhatWasRewritten) {
  auto book = std::make_unique<LabelBook>();
  const LabelSet set = book->add({"card no"});
  Detectors detectors;
  detectors.push_back(std::make_unique<Fake>([set](const Page& page, std::vector<Hit>& out) {
    const size_t at = page.text.find("40000076");
    if (at != std::string_view::npos && page.labels.introduces(set, at)) out.push_back({PrivacyClass::card, "kind", at, at + 8, 0.9f});
  }, true));
  const auto scanner = make_scanner({}, std::move(book), std::move(detectors));
  ASSERT_TRUE(scanner);
  EXPECT_EQ(seen(**scanner, "card no: 四零零零零零七六").size(), 1u);
  EXPECT_EQ(seen(**scanner, "card no: " + base64("40000076, really")).size(), 1u);
  EXPECT_EQ(seen(**scanner, "x: " + base64("40000076, really")).size(), 0u);
}

// ---- limits (F10) ----
void expect_unscanned(const Scanner& scanner, std::string_view text) {
  const ScanReport report = scanner.scan(text);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].cls, PrivacyClass::unscanned);
  EXPECT_EQ(report.findings[0].begin, 0u);
  EXPECT_EQ(report.findings[0].end, text.size());
}

TEST(Limits, NothingIsPartial) {
  ScanOptions small;
  small.limits.max_bytes = 10;
  expect_unscanned(*scanner_of(finds("x"), small), "01234567890");
  EXPECT_TRUE(scanner_of(finds("x"), small)->scan("0123456789").findings.empty());
  EXPECT_TRUE(scanner_of(finds("x"), small)->scan("").findings.empty());
  expect_unscanned(*scanner_of(finds("x")), "a\xff");
  expect_unscanned(*scanner_of(finds("x")), "\xed\xa0\x80");
}

TEST(Limits, TimeIsUp) {
  ScanOptions options;
  options.limits.scan_ms = 0;
  expect_unscanned(*scanner_of(finds("x"), options), "abc");
}

TEST(Limits, Depth) {
  std::string text = "a harmless text of some length";
  for (int i = 0; i < 3; ++i) text = base64(text);
  EXPECT_TRUE(scanner_of(finds("nothing like it"))->scan(text).findings.empty());
  expect_unscanned(*scanner_of(finds("nothing like it")), base64(text));
}

TEST(Limits, AFailedDetectorIsNotNothing) {
  expect_unscanned(*scanner_of([](const Page&, std::vector<Hit>&) { throw std::runtime_error("bug"); }), "abc");
  expect_unscanned(*scanner_of([](const Page& page, std::vector<Hit>& out) { out.push_back({PrivacyClass::card, "kind", 0, page.text.size() + 1, 0.9f}); }), "abc");
}

TEST(Limits, OpaqueBlobs) {
  std::string bytes;
  uint32_t x = 7;
  for (int i = 0; i < 300; ++i) bytes.push_back(static_cast<char>((x = x * 1664525 + 1013904223) >> 24));
  const std::string text = "data " + base64(bytes) + " end";
  const ScanReport report = scanner_of(finds("nothing"))->scan(text);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].cls, PrivacyClass::opaque);
  EXPECT_EQ(report.findings[0].begin, 5u);
  EXPECT_EQ(report.findings[0].end, text.size() - 4);
  EXPECT_TRUE(scanner_of(finds("nothing"))->scan(base64(bytes.substr(0, 150))).findings.empty());
}

// ---- overlaps (F2) ----
Candidate candidate(PrivacyClass cls, size_t begin, size_t end, bool validated = false, float score = 0.8f) {
  Candidate c;
  c.finding.cls = cls, c.finding.begin = begin, c.finding.end = end, c.finding.score = score, c.validated = validated;
  return c;
}
std::string resolved(std::vector<Candidate> candidates, std::string_view text = "0123456789012345678901234567890123456789") {
  const auto all = resolve(text, std::move(candidates));
  std::string out;
  for (const Finding& f : all->findings) out += std::string(name_of(f.cls)) + "[" + std::to_string(f.begin) + "," + std::to_string(f.end) + ") ";
  return out;
}

TEST(Overlap, ValidatedThenLongerThenSpecific) {
  using enum PrivacyClass;
  EXPECT_EQ(resolved({candidate(phone, 0, 20), candidate(card, 2, 18, true), candidate(bank, 0, 17)}), "card[2,18) ");
  EXPECT_EQ(resolved({candidate(phone, 0, 10), candidate(bank, 0, 12)}), "bank[0,12) ");
  EXPECT_EQ(resolved({candidate(phone, 0, 16), candidate(card, 0, 16), candidate(bank, 0, 16)}), "card[0,16) ");
  EXPECT_EQ(resolved({candidate(url, 0, 40, true), candidate(email, 5, 10)}), "email[5,10) ");
  EXPECT_EQ(resolved({candidate(opaque, 0, 10), candidate(card, 12, 20)}), "opaque[0,10) card[12,20) ");
}

TEST(Overlap, WordsOfALoserStayCovered) {
  using enum PrivacyClass;
  EXPECT_EQ(resolved({candidate(secret, 0, 20), candidate(email, 5, 10, true)}), "secret[0,20) ");
  EXPECT_EQ(resolved({candidate(address, 0, 20), candidate(phone, 5, 10, true)}), "address[0,5) phone[5,10) address[10,20) ");
  EXPECT_EQ(resolved({candidate(custom, 9, 17), candidate(email, 0, 21, true)}, "jane@doe.nordstar.com"), "email[0,8) custom[9,17) ");
  EXPECT_EQ(resolved({candidate(secret, 0, 6, true), candidate(email, 0, 18, true)}, "s3cr3t@db.internal"), "secret[0,6) ");
}

TEST(Overlap, NeighboursOfOneClassAreOne) {
  using enum PrivacyClass;
  const std::string_view text = "Jane Roe, John Doe, 12 Main St, Springfield";
  EXPECT_EQ(resolved({candidate(person, 0, 4), candidate(person, 5, 8), candidate(person, 10, 18)}, text), "person[0,8) person[10,18) ");
  EXPECT_EQ(resolved({candidate(address, 20, 30), candidate(address, 32, 43)}, text), "address[20,43) ");
}

TEST(Overlap, HealthCountsBesideAPerson) {
  using enum PrivacyClass;
  Candidate statement = candidate(health, 10, 20);
  statement.statement = true;
  EXPECT_EQ(resolved({statement}), "");
  EXPECT_EQ(resolve("01234567890123456789", {statement})->statements.size(), 1u);
  EXPECT_EQ(resolved({statement, candidate(person, 0, 5)}), "person[0,5) health[10,20) ");
  EXPECT_EQ(resolved({statement, candidate(person, 12, 15)}), "health[10,12) person[12,15) health[15,20) ");
  EXPECT_EQ(resolved({statement, candidate(person, 0, 5), candidate(opaque, 5, 30)}), "person[0,5) health[5,30) ");
}

// ---- terms ----
std::vector<Seen> terms_in(Term term, std::string_view text) {
  ScanOptions options;
  options.terms.push_back(std::move(term));
  return seen(*scanner_of(finds("secretword"), options), text);
}

TEST(Terms, FoldedLikeEveryText) {
  const Term term{"nordstar", {"Nordstar"}, {}, "", {}, false};
  for (const std::string text : {"Nordstar", "NORDSTAR", "Ｎｏｒｄｓｔａｒ", "nоrdstаr", "Nord star", "N o r d s t a r", "Nord\u200bstar", "Nörd\u0301star", "Nordstar2", "nordstar_api", "NordstarClient"}) {
    const auto all = terms_in(term, "the " + text + ", yes");
    ASSERT_EQ(all.size(), 1u) << text;
  }
  EXPECT_EQ(terms_in(term, "about N o r d s t a r today")[0].text, "N o r d s t a r");
  for (const char* text : {"Nordstarling", "Nordstars", "unnordstar"}) EXPECT_TRUE(terms_in(term, text).empty()) << text;
  const std::string blob = base64("all about Nordstar here");
  EXPECT_EQ(terms_in(term, "x " + blob)[0].text, blob);
}

TEST(Terms, HanAnywhereAndShortOnesTogether) {
  EXPECT_EQ(terms_in({"t", {"北極星"}, {}, "", {}, false}, "關於北極星計畫").size(), 1u);
  EXPECT_TRUE(terms_in({"t", {"ant"}, {}, "", {}, false}, "an tall want").empty());
  EXPECT_EQ(terms_in({"t", {"ant"}, {}, "", {}, false}, "an Ant!").size(), 1u);
}

TEST(Terms, SignedOnes) {
  const std::string key = "key", word = folded_term("Project Nordstar");
  unsigned char mac[32];
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(word.data()), word.size(), mac, &size);
  std::string hex = std::to_string(word.size()) + ":";
  for (const unsigned char b : mac) (hex += "0123456789abcdef"[b >> 4]) += "0123456789abcdef"[b & 15];
  const Term term{"t", {}, {hex}, key, {}, false};
  EXPECT_EQ(terms_in(term, "see project NORDSTAR now").at(0).text, "project NORDSTAR");
  EXPECT_TRUE(terms_in(term, "see project Northstar now").empty());
}

TEST(Terms, PatternsAndAllowed) {
  EXPECT_EQ(terms_in({"t", {}, {}, "", {"PRJ-[0-9]{4}"}, false}, "a PRJ-1234 b")[0].text, "PRJ-1234");
  EXPECT_EQ(terms_in({"t", {"my secretword"}, {}, "", {}, true}, "not my secretword here").size(), 0u);
  EXPECT_EQ(terms_in({"t", {"my secretword"}, {}, "", {}, true}, "your secretword here").size(), 1u);
  ScanOptions options;
  options.terms.push_back({"t", {}, {}, "", {"("}, false});
  EXPECT_FALSE(make_scanner(options, std::make_unique<LabelBook>(), {}));
}

// ---- the model tier ----
class FakeModel final : public SpanModel {
 public:
  explicit FakeModel(Result<std::vector<Span>> answer) : answer_(std::move(answer)) {}
  Result<std::vector<Span>> spans(std::string_view) override { return answer_; }

 private:
  Result<std::vector<Span>> answer_;
};

TEST(Model, SpansJoinAndFailuresCount) {
  const std::vector<SpanModel::Span> spans = {{PrivacyClass::person, "name", 0, 8, 0.9f}};
  const ScanReport report = scanner_of(finds("x"), {}, true, std::make_shared<FakeModel>(spans))->scan("Jane Roe says");
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].detector, "model");
  expect_unscanned(*scanner_of(finds("x"), {}, true, std::make_shared<FakeModel>(Error{Code::internal, "failed"})), "Jane");
}

// The findings of a text in which `found` is a person to the rules and `spans` are what the model says.
std::vector<Finding> found_together(std::string_view text, const char* found, std::vector<SpanModel::Span> spans) {
  return scanner_of(finds(found, PrivacyClass::person), {}, false, std::make_shared<FakeModel>(std::move(spans)))->scan(text).findings;
}

TEST(Model, SpansStandOnCharacters) {
  const std::string text = "\u00e9 \u5f35\u4e09 \U0001F642 Bern";
  const auto found = found_together(text, "?", {{PrivacyClass::person, "per", 4, 8, 0.7f}, {PrivacyClass::place, "loc", text.size() - 4, text.size(), 0.8f}});  // the first begins and ends inside characters
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(text.substr(found[0].begin, found[0].end - found[0].begin), "\u5f35\u4e09");
  EXPECT_EQ(text.substr(found[1].begin), "Bern");
  EXPECT_FLOAT_EQ(found[1].score, 0.8f);
  EXPECT_EQ(found[1].view, "plain");
}

TEST(Model, OneNameFoundTwiceIsOneFinding) {
  const auto longer = found_together("by Jane Roe Smith.", "Jane Roe", {{PrivacyClass::person, "per", 3, 17, 0.7f}});
  ASSERT_EQ(longer.size(), 1u);
  EXPECT_EQ(std::pair(longer[0].begin, longer[0].end), std::pair(size_t{3}, size_t{17}));
  const auto shorter = found_together("by Jane Roe.", "Jane Roe", {{PrivacyClass::person, "per", 3, 7, 0.7f}});
  ASSERT_EQ(shorter.size(), 1u);
  EXPECT_EQ(shorter[0].end, 11u);
  EXPECT_EQ(shorter[0].detector, "fake");
  const auto crossed = found_together("\u738b\u5c0f\u660e\u8aaa", "\u738b\u5c0f", {{PrivacyClass::person, "per", 3, 9, 0.7f}});  // neither reaches around the other
  ASSERT_EQ(crossed.size(), 1u);
  EXPECT_EQ(std::pair(crossed[0].begin, crossed[0].end), std::pair(size_t{0}, size_t{9}));
}

TEST(Model, SpansOutsideTheTextAreAFailure) {
  const auto found = found_together("Jane", "?", {{PrivacyClass::person, "per", 0, 5, 0.7f}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cls, PrivacyClass::unscanned);
  EXPECT_EQ(found[0].kind, "no_model");
}

TEST(Model, WhatATermAllowsIsNoFinding) {
  ScanOptions options;
  options.terms.push_back({"ours", {"Jane Roe"}, {}, "", {}, true});
  const std::vector<SpanModel::Span> spans = {{PrivacyClass::person, "per", 0, 8, 0.9f}};
  EXPECT_TRUE(scanner_of(finds("x"), options, true, std::make_shared<FakeModel>(spans))->scan("Jane Roe says").findings.empty());
}

}  // namespace
