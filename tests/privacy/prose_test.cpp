// privacy: people, addresses, dates of birth and statements of health in prose, forms and tables; what is none of them; the tagger's record.
#include <gtest/gtest.h>
#include <chrono>
#include <random>
#include "core/json.h"
#include "privacy/detect/detect.h"
#include "privacy/detect/prose/model.h"

namespace {

using Strings = std::vector<std::string>;

// The detectors of this family alone, on a text that is folded already.
struct Prose {
  LabelBook book;
  Detectors detectors;
  Prose() {
    add_prose_detectors(book, detectors);
    book.build();
  }
  std::vector<Hit> find(std::string_view text) const {
    const Labels labels(book, text);
    std::vector<Hit> out;
    for (const auto& detector : detectors) detector->find(Page{text, ViewKind::folded, labels}, out);
    return out;
  }
};
const Prose& prose() {
  static const Prose all;
  return all;
}

Strings found(std::string_view text, PrivacyClass cls, float least = 0.5f) {
  Strings out;
  for (const Hit& hit : prose().find(text)) {
    if (hit.cls == cls && hit.score >= least) out.emplace_back(text.substr(hit.begin, hit.end - hit.begin));
  }
  return out;
}
Strings people(std::string_view text, float least = 0.5f) { return found(text, PrivacyClass::person, least); }
Strings addresses(std::string_view text) { return found(text, PrivacyClass::address); }
Strings births(std::string_view text) { return found(text, PrivacyClass::dob); }

TEST(Prose, PeopleOfTheExamples) {
  EXPECT_EQ(people("Please email Jane Roe at jane.roe@example.org about the invoice.").front(), "Jane Roe");
  EXPECT_EQ(people("Patient Jane Roe was diagnosed with hepatitis C"), Strings{"Jane Roe"});
  EXPECT_EQ(people("What are symptoms of hepatitis C?"), Strings{});
}

TEST(Prose, HealthIsAStatement) {
  size_t statements = 0;
  for (const Hit& hit : prose().find("Patient Jane Roe was diagnosed with hepatitis C and takes metformin")) {
    if (hit.cls != PrivacyClass::health) continue;
    EXPECT_TRUE(hit.statement);
    statements += hit.score >= 0.8f;
  }
  EXPECT_EQ(statements, 2u);
  EXPECT_EQ(found("患者確診糖尿病，服用胰島素", PrivacyClass::health, 0.8f), Strings{"糖尿病"});
  EXPECT_TRUE(found("She has had two heart attacks and a heart attack again", PrivacyClass::health, 0.8f).size() >= 1);
}

TEST(Prose, InitialsSuffixesParticles) {
  EXPECT_EQ(people("Samuel L. Jackson met Robert Downey jr. yesterday."), (Strings{"Samuel L. Jackson", "Robert Downey jr."}));
  EXPECT_EQ(people("Dr. van der Berg called."), Strings{"van der Berg"});
  EXPECT_EQ(people("I spoke to Siobhan O'Connor-McBride about it."), Strings{"Siobhan O'Connor-McBride"});
  EXPECT_EQ(people("Mr. Martin Luther King III was there.").front(), "Martin Luther King III");
}

TEST(Prose, LowerCaseAfterAnIntroducer) {
  EXPECT_EQ(people("my name is john smith and i need help"), Strings{"john smith"});
  EXPECT_EQ(people("my name is not important"), Strings{});
}

TEST(Prose, TablesColumnsAndDialogues) {
  EXPECT_EQ(people("| Name | City |\n|---|---|\n| Jane Roe | Berlin |\n| Marcus Webb | Leeds |"), (Strings{"Jane Roe", "Marcus Webb"}));
  EXPECT_EQ(people("id,name,email\n17,Priya Raman,p@example.org\n18,Tom Becker,t@example.org"), (Strings{"Priya Raman", "Tom Becker"}));
  EXPECT_EQ(people("{\"first_name\": \"Priya\", \"last_name\": \"Raman\"}"), (Strings{"Priya", "Raman"}));
  EXPECT_EQ(people("Customer: Jane Roe\nOrder: 12"), Strings{"Jane Roe"});
}

TEST(Prose, NamesRecur) {
  EXPECT_EQ(people("Jane Roe signed. Later Roe left and Jane stayed."), (Strings{"Jane Roe", "Roe", "Jane"}));
}

TEST(Prose, ChinesePeople) {
  EXPECT_EQ(people("姓名：王小明"), Strings{"王小明"});
  EXPECT_EQ(people("我叫陳大文，今天來辦卡"), Strings{"陳大文"});
  EXPECT_EQ(people("患者李娜，主诉头痛"), Strings{"李娜"});
  EXPECT_EQ(people("請歐陽娜娜小姐到櫃台"), Strings{"歐陽娜娜"});
  EXPECT_EQ(people("王○明沒有來"), Strings{"王○明"});
  EXPECT_EQ(people("林經理說明天再談"), Strings{"林"});
  EXPECT_EQ(people("收件人：張雅婷 電話 0912345678"), Strings{"張雅婷"});
}

TEST(Prose, OrdinaryChineseIsNoName) {
  for (const char* text : {"我很高興，黃金價格在周末馬上就漲了", "這樣比較方便", "張開嘴巴", "白天金融市場很熱鬧", "应该可以马上解决", "方法如下：安装之后重新启动", "老師傅都知道", "任何人都可以參加", "程序运行失败，请连续重试"})
    EXPECT_EQ(people(text), Strings{}) << text;
}

TEST(Prose, EnglishAddresses) {
  EXPECT_EQ(addresses("He lives at 221B Baker Street, London NW1 6XE."), Strings{"221B Baker Street, London NW1 6XE"});
  EXPECT_EQ(addresses("Ship to 1600 Pennsylvania Avenue NW, Washington, DC 20500 please"), Strings{"1600 Pennsylvania Avenue NW, Washington, DC 20500"});
  EXPECT_EQ(addresses("PO Box 123, Austin, TX 78701"), Strings{"PO Box 123, Austin, TX 78701"});
  EXPECT_EQ(addresses("Flat 3, 12 High Street, Leeds"), Strings{"Flat 3, 12 High Street, Leeds"});
  EXPECT_EQ(addresses("42 King Street W, Toronto, ON M5H 1A1"), Strings{"42 King Street W, Toronto, ON M5H 1A1"});
  EXPECT_EQ(addresses("Hauptstraße 12, 10115 Berlin"), Strings{"Hauptstraße 12, 10115 Berlin"});
  EXPECT_EQ(addresses("12 rue de la Paix, 75002 Paris, France"), Strings{"12 rue de la Paix, 75002 Paris, France"});
  EXPECT_EQ(addresses("i live at 42 maple street"), Strings{"42 maple street"});
}

TEST(Prose, EscapedLineBreaks) {
  EXPECT_EQ(people(R"({"text":"Regards,\nJane Roe\nSales"})"), Strings{"Jane Roe"});
  EXPECT_EQ(addresses(R"(Unit 2050 Box 4190\nAPO AE 09123)").size(), 1u);
}

TEST(Prose, ChineseAddresses) {
  EXPECT_EQ(addresses("住在台北市信義區市府路45號10樓"), Strings{"台北市信義區市府路45號10樓"});
  EXPECT_EQ(addresses("請寄到新北市板橋區文化路一段188巷5弄3號2樓之1，謝謝"), Strings{"新北市板橋區文化路一段188巷5弄3號2樓之1"});
  EXPECT_EQ(addresses("地址：上海市浦东新区世纪大道100号5栋1单元302室"), Strings{"上海市浦东新区世纪大道100号5栋1单元302室"});
  EXPECT_EQ(addresses("三號出口在二樓"), Strings{});
}

TEST(Prose, DatesOfBirth) {
  for (const auto& [text, date] : std::vector<std::pair<std::string, std::string>>{
           {"DOB: 1990-03-05, admitted 2024-01-02", "1990-03-05"}, {"date of birth 05/03/1990", "05/03/1990"}, {"She was born on 5th March 1990 in Leeds", "5th March 1990"},
           {"born March 5, 1990", "March 5, 1990"}, {"生日：1990年3月5日", "1990年3月5日"}, {"生日：民國79年3月5日", "民國79年3月5日"}, {"出生日期 民國79.03.05", "民國79.03.05"},
           {"生年月日 昭和55年3月5日", "昭和55年3月5日"}, {"平成2年3月5日 出生", "平成2年3月5日"}, {"Geburtsdatum: 5.3.1990", "5.3.1990"}})
    EXPECT_EQ(births(text), Strings{date}) << text;
  EXPECT_EQ(births("The release is planned for 2024-05-06."), Strings{});
  EXPECT_EQ(found("The release is planned for 2024-05-06.", PrivacyClass::date), Strings{"2024-05-06"});
  EXPECT_EQ(births("born 1990-13-45"), Strings{});
}

TEST(Prose, Amounts) {
  EXPECT_EQ(found("It costs $1,234.50 or 500 euros, 約3萬元", PrivacyClass::amount), (Strings{"$1,234.50", "500 euros", "3萬元"}));
}

TEST(Prose, TextWithoutPeople) {
  for (const char* text : {
           "The API returned 404 in May 2024, see RFC 2616 and the Python docs.", "Frequently Asked Questions About Installing Windows", "I use Ruby on Rails with Postgres and Redis on Monday.",
           "std::vector<TensorInfo> tensors = reader.Read(GgufFile{path});", "raise TypeError(\"expected 4 items in state\")", "commit 81f7db0c\n    Fix the Windows build\n",
           "2024-05-06T10:00:00Z INFO Scheduler started in 12 ms", "\"integrity\": \"sha512-abcDEF==\", \"resolved\": \"https://registry.example/x.tgz\"", "import numpy as np\nfrom pathlib import Path",
           "Permission is hereby granted, free of charge, to any person obtaining a copy", "Turn left at the light and take 2 tablets per day.", "We watched Star Wars and The Lion King on Friday."}) {
    EXPECT_EQ(people(text), Strings{}) << text;
    EXPECT_EQ(addresses(text), Strings{}) << text;
  }
}

// Names and frames that stand in none of the training files.
TEST(Prose, HeldApartSentences) {
  const Strings english = {"Theodora Vanterpool", "Lachlan Ferriby", "Nkechi Ubani", "Anneliese Grünwald", "Rohit Bhattacharjee", "Beatriz Quintanilla", "Hyun-woo Gwak", "Yusra Belhaj", "Piotr Zawadzki", "Marguerite Delacourt"};
  const Strings frames = {"On the way home I ran into % near the bakery.", "The refund was issued to % last night.", "Could somebody ask % for the spare key?", "% still has not answered my letter.", "- approve leave for % (two days)",
                          "Tenant: %", "%, who moved here in spring, paints doors."};
  const Strings chinese = {"沈嘉慧", "魏子軒", "钟丽华", "范思远", "江雅文", "邱俊傑"};
  const Strings han_frames = {"昨天%打電話來問進度。", "這份報告由%負責。", "學員姓名：%", "我跟%約好了吃飯", "| % | 87 |"};
  const auto share = [](const Strings& names, const Strings& all) {
    size_t hits = 0;
    for (const std::string& name : names) {
      for (std::string text : all) {
        text.replace(text.find('%'), 1, name);
        for (const std::string& one : people(text)) hits += one == name;
      }
    }
    return static_cast<double>(hits) / static_cast<double>(names.size() * all.size());
  };
  EXPECT_GE(share(english, frames), 0.9);
  EXPECT_GE(share(chinese, han_frames), 0.8);
}

TEST(Prose, HitsLieInsideAnyBytes) {
  std::mt19937 random(7);
  const std::string alphabet = "aZ 1.,:\n'-#$\xe7\x8e\x8b\xe5\xb0\x8f\xff\x80";
  for (int i = 0; i < 3000; ++i) {
    std::string text(random() % 60, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    for (const Hit& hit : prose().find(text)) {
      ASSERT_LT(hit.begin, hit.end);
      ASSERT_LE(hit.end, text.size());
    }
  }
}

TEST(Prose, LinearInHostileText) {
  for (const std::string piece : {"Jane ", "王小", "1 ", "12 Main St, ", "A.", "號", "Dear ", "二", "Name: ", "O'"}) {
    std::string text;
    while (text.size() < 200'000) text += piece;
    const auto start = std::chrono::steady_clock::now();
    prose().find(text);
    EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 2.0) << piece;
  }
}

TEST(Prose, ModelRecordsItsMaking) {
  const auto document = JsonDocument::parse("the record of prose.bin", prose_model().header);
  ASSERT_TRUE(document) << prose_model().header;
  const JsonView header = document->root();
  const auto sources = find(header, "data");
  ASSERT_TRUE(sources && sources->is_array());
  EXPECT_GE(sources->get_array().size(), 5u);
  for (const JsonView source : sources->get_array()) EXPECT_FALSE(find_string(source, "licence").value_or("").empty());
  EXPECT_EQ(find_string(header, "scripts_sha256").value_or("").size(), 64u);
  for (const char* tagger : {"latin", "han"}) {
    const auto scores = find(header, "scores");
    ASSERT_TRUE(scores && find(*scores, tagger)) << tagger;
    EXPECT_LT(find_double(*find(*scores, tagger), "token_error").value_or(1), 0.08) << tagger;
  }
  EXPECT_LE(prose_model().latin_weights.size() + prose_model().han_weights.size(), size_t{2} << 20);
}

}  // namespace
