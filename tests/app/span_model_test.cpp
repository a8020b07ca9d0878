// span_model: labels as classes; the tiny token classifier as a model tier, and checkpoints that are none.
#include "app/span_model.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include "core/mapped_file.h"

namespace {

namespace fs = std::filesystem;

TEST(SpanModel, LabelsInAnySpelling) {
  using enum PrivacyClass;
  const std::pair<const char*, PrivacyClass> rows[] = {
      {"PER", person},   {"person", person},  {"GIVENNAME1", person}, {"Given_Name", person}, {"private_person", person}, {"SURNAME", person}, {"LOC", place},      {"GPE", place},
      {"Street", address}, {"ORG", org},      {"MAIL", email},        {"E-Mail", email},      {"phone number", phone},    {"TEL", phone},      {"IBAN", iban},      {"ACCOUNT_NUM", bank},
      {"credit_card", card}, {"SSN", gov_id}, {"PASSPORT", gov_id},   {"ID", gov_id},         {"PASSWORD", secret},       {"api_key", secret}, {"DOB", dob},        {"DATE", date},
      {"IPV6", ip},      {"URL", url},        {"USERNAME", handle}};
  for (const auto& [label, cls] : rows) EXPECT_EQ(class_of_label(label), cls) << label;
  for (const char* label : {"", "O", "LABEL_1", "MISC", "PERS ON NAME X", "PE", "1", "ON", "\xE4\xBA\xBAPER"}) EXPECT_EQ(class_of_label(label), std::nullopt) << label;
}

TEST(SpanModel, NoneIsConfigured) {
  const auto none = open_span_model({});
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, nullptr);
}

TEST(SpanModel, WhatIsNoTokenClassifierIsRefused) {
  const fs::path models = fs::path(CALLA_SOURCE_DIR) / "tests" / "golden" / "models";
  for (const fs::path& path : {models / "llama-Q6_K.gguf", models / "no-such-file.gguf", models}) {
    const auto opened = open_span_model({path.string(), "c.toml:7: privacy.model"});
    ASSERT_FALSE(opened) << path;
    EXPECT_TRUE(opened.error().message.starts_with("c.toml:7: privacy.model: ")) << opened.error().message;
  }
}

class TinyTier : public testing::Test {
 protected:
  void SetUp() override {
    const char* stated = std::getenv("CALLA_SHARED");
    folder_ = (stated ? fs::path(stated) : fs::path(CALLA_SOURCE_DIR) / ".." / "shared") / "oracles" / "data" / "qwen3_bidirectional_tokcls";
    if (!fs::exists(folder_ / "model.safetensors")) GTEST_SKIP() << "NOTICE: no reference checkpoint: set CALLA_SHARED to the folder that has oracles/data";
  }
  fs::path folder_;
};

TEST_F(TinyTier, MarksTheTextAndJoinsTheScanner) {
  const auto model = open_span_model({folder_.string(), ""});
  ASSERT_TRUE(model) << model.error().message;
  std::string text;
  for (int i = 0; i < 8; i++) text += "Straße 你好 🙂 the captain's list said 129. ";
  const auto spans = (*model)->spans(text);
  ASSERT_TRUE(spans);
  ASSERT_FALSE(spans->empty());  // its weights are random, and mark something of every longer text
  const auto at_border = [&](size_t at) { return at == text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80; };
  for (const SpanModel::Span& span : *spans) {
    EXPECT_LT(span.begin, span.end);
    EXPECT_LE(span.end, text.size());
    EXPECT_TRUE(at_border(span.begin) && at_border(span.end));
    EXPECT_TRUE(span.cls == PrivacyClass::person || span.cls == PrivacyClass::place || span.cls == PrivacyClass::email);
    EXPECT_TRUE(span.score > 0.6f && span.score <= 0.901f) << span.score;
  }
  const auto with = Scanner::make({}, *model), without = Scanner::make({});
  ASSERT_TRUE(with && without);
  const auto of_the_model = [&](const Scanner& scanner) { return std::ranges::count(scanner.scan(text).findings, std::string("model"), &Finding::detector); };
  EXPECT_GT(of_the_model(**with), 0);
  EXPECT_EQ(of_the_model(**without), 0);
}

TEST_F(TinyTier, AnUnknownLabelIsNamed) {
  std::string pattern = (fs::temp_directory_path() / "calla-tier-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const fs::path copy = pattern;
  for (const auto& entry : fs::directory_iterator(folder_))
    if (entry.path().filename() != "config.json") fs::create_symlink(fs::absolute(entry.path()), copy / entry.path().filename());
  std::string config = *read_file((folder_ / "config.json").string(), size_t{1} << 20);
  for (const std::string from : {"B-MAIL", "I-MAIL"}) config.replace(config.find('"' + from), 1 + from.size(), '"' + from.substr(0, 2) + "SHOESIZE");
  std::FILE* out = std::fopen((copy / "config.json").c_str(), "wb");
  ASSERT_NE(out, nullptr);
  std::fwrite(config.data(), 1, config.size(), out);
  std::fclose(out);
  const auto opened = open_span_model({copy.string(), "c.toml:7: privacy.model"});
  fs::remove_all(copy);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("SHOESIZE"), std::string::npos) << opened.error().message;
}

}  // namespace
