// examples: the detection part of privacy.md 5.2 with all detectors, and its negatives. Findings below 0.5 are reported and not acted upon.
#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include "privacy/scan.h"

namespace {

const Scanner& scanner() {
  static const auto made = [] {
    ScanOptions options;
    options.limits.scan_ms = 60'000;  // sanitizers are slow
    return Scanner::make(options);
  }();
  return **made;
}

// What would be acted upon: "class:text".
std::vector<std::string> found(std::string_view text) {
  std::vector<std::string> out;
  for (const Finding& f : scanner().scan(text).findings) {
    if (f.score >= 0.5f && group_of(f.cls) != "low") out.push_back(std::string(name_of(f.cls)) + ":" + std::string(text.substr(f.begin, f.end - f.begin)));
  }
  return out;
}
std::optional<Finding> first_of(PrivacyClass cls, std::string_view text) {
  for (const Finding& f : scanner().scan(text).findings) {
    if (f.cls == cls) return f;
  }
  return std::nullopt;
}
bool has(std::string_view text, std::string_view finding) {
  const auto all = found(text);
  return std::find(all.begin(), all.end(), finding) != all.end();
}
using Findings = std::vector<std::string>;

TEST(Examples, E1PersonAndEmail) {
  EXPECT_EQ(found("Please email Jane Roe at jane.roe@example.org about the invoice."), (Findings{"person:Jane Roe", "email:jane.roe@example.org"}));
}

TEST(Examples, E2CardWithItsExpiryAndCode) {
  const std::string_view text = "Card 4000 0076 5432 1097 exp 04/29 cvv 731";
  EXPECT_TRUE(has(text, "card:4000 0076 5432 1097"));
  std::string covered(text.size(), ' ');
  for (const Finding& f : scanner().scan(text).findings) {
    if (f.score >= 0.5f) covered.replace(f.begin, f.end - f.begin, f.end - f.begin, 'x');
  }
  EXPECT_EQ(covered.substr(text.find("04/29"), 5), "xxxxx");
  EXPECT_EQ(covered.substr(text.find("731"), 3), "xxx");
}

TEST(Examples, E4UnlabelledCards) {
  EXPECT_TRUE(has("Order 4000007654321097 shipped", "card:4000007654321097"));
  EXPECT_EQ(found("Order no. 4000007654321098 shipped"), Findings{});
}

TEST(Examples, E5FullWidth) {
  const std::string_view text = "４０００００７６５４３２１０９７ 是我的卡號";
  const auto card = first_of(PrivacyClass::card, text);
  ASSERT_TRUE(card);
  EXPECT_EQ(text.substr(card->begin, card->end - card->begin), "４０００００７６５４３２１０９７");
  EXPECT_EQ(card->view, "folded");
}

TEST(Examples, E13TaiwanIdentifiers) {
  const std::string_view text = "身分證 F231407653，居留證 A800012345，誤植 F231407654";
  std::vector<Finding> ids;
  for (const Finding& f : scanner().scan(text).findings) {
    if (f.cls == PrivacyClass::gov_id) ids.push_back(f);
  }
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(text.substr(ids[0].begin, ids[0].end - ids[0].begin), "F231407653");
  EXPECT_EQ(text.substr(ids[1].begin, ids[1].end - ids[1].begin), "A800012345");
  EXPECT_EQ(text.substr(ids[2].begin, ids[2].end - ids[2].begin), "F231407654");
  EXPECT_GE(ids[2].score, 0.5f);
  EXPECT_LT(ids[2].score, ids[0].score);
}

TEST(Examples, E15IbanEndsWhereItEnds) {
  EXPECT_EQ(found("IBAN DE79 0000 0000 0012 3456 7890 2 days from today"), (Findings{"iban:DE79 0000 0000 0012 3456 7890"}));
}

TEST(Examples, E18UuidAndVersion) { EXPECT_EQ(found("550e8400-e29b-41d4-a716-446655440000 and 1.2.3.4 in v1.2.3.4"), Findings{}); }

TEST(Examples, E19PasswordInProse) {
  EXPECT_EQ(found("my password is hunter2hunter2"), (Findings{"secret:hunter2hunter2"}));
  EXPECT_TRUE(has("密碼是 hunter2hunter2", "secret:hunter2hunter2"));
}

TEST(Examples, E24ConnectionString) {
  const std::string text = std::string("postgres://app:s3cr3t") + "@db.internal:5432/x";
  const auto secret = first_of(PrivacyClass::secret, text);
  ASSERT_TRUE(secret);
  EXPECT_LE(secret->begin, text.find("s3cr3t"));
  EXPECT_GE(secret->end, text.find("s3cr3t") + 6);
}

TEST(Examples, E27And28HealthCountsWithAPerson) {
  const std::string_view with = "Patient Jane Roe was diagnosed with hepatitis C";
  EXPECT_TRUE(first_of(PrivacyClass::person, with));
  EXPECT_TRUE(first_of(PrivacyClass::health, with));
  EXPECT_EQ(found("What are symptoms of hepatitis C?"), Findings{});
}

TEST(Examples, SameValueInOtherWriting) {
  for (const char* text : {"card 4\u200b000 0076 5432 1097", "card ٤٠٠٠ ٠٠٧٦ ٥٤٣٢ ١٠٩٧", "card 4000–0076–5432–1097", "卡號四零零零零零七六五四三二一零九七", "card %34000007654321097",
                           "card 4.0.0.0.0.0.7.6.5.4.3.2.1.0.9.7", "card four oh oh oh double oh seven six five four three two one oh nine seven", "card NDAwMDAwNzY1NDMyMTA5Nw==",
                           "card 34303030303037363534333231303937", "card &#52;000007654321097", "card \\u0034000007654321097", "card 4\u03010\u030100007654321097"}) {
    EXPECT_TRUE(first_of(PrivacyClass::card, text)) << text;
  }
}

TEST(Examples, Negatives) {
  for (const char* text : {
           "ISBN 978-3-16-148410-0", "ISBN-13: 978-0-306-40615-7", "at epoch 1756892345123 the job ran", "\"time\": 1756892345123,",
           "\"integrity\": \"sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==\",",
           "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "commit da39a3ee5e6b4b0d3255bfef95601890afd80709",
           "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the \"Software\"), to deal in the "
           "Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software.",
           "THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY.",
           "password = os.getenv(\"X\")", "api_key: <YOUR_API_KEY>", "token = \"${TOKEN}\"", "export PASSWORD=$1", "The public policy of the republic is public.",
           "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12", "git@github.com:owner/repo.git", "import x from \"@scope/pkg\"", "2026-11-30T17:21:05.123Z INFO worker-12 took 345ms"}) {
    EXPECT_EQ(found(text), Findings{}) << text;
  }
}

}  // namespace
