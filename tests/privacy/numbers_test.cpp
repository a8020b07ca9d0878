// numbers: every identifier is found labelled and in its usual grouping, refused when its check fails, and forgiven a slip after a label.
#include <gtest/gtest.h>
#include "privacy/detect/numbers/id_rule.h"
#include "privacy/detect/numbers/shape.h"
#include "privacy/numbers_generated.h"

using namespace number_tests;

namespace {

// The best verdict of the rules of a kind.
bool passes(std::string_view kind, const std::string& compact) {
  static const std::vector<numbers::IdRule> rules = numbers::all_id_rules();
  uint64_t digits = 0, letters = 0;
  for (size_t i = 0; i < compact.size(); ++i) (compact[i] <= '9' ? digits : letters) |= uint64_t{1} << i;
  for (const numbers::IdRule& rule : rules) {
    if (rule.kind != kind || !compact.starts_with(rule.prefix)) continue;
    for (const numbers::Shape& shape : numbers::shapes_of(rule.shape)) {
      if (shape.length == compact.size() && shape.fits(digits, letters) && rule.check(std::string_view(compact).substr(rule.prefix.size())) == numbers::Verdict::passed) return true;
    }
  }
  return false;
}

// As people type them in prose: one finding, of the class, over exactly the number.
void expect_found(const std::string& text, const std::string& value, std::string_view kind, float least) {
  const std::vector<Finding> findings = find_numbers(text);
  const Finding* found = finding_of(findings, text, value);
  ASSERT_NE(found, nullptr) << kind << ": " << text;
  EXPECT_GE(found->score, least - 0.001f) << kind << ": " << text;
}

TEST(Numbers, AreFoundAfterALabelOfTwoLanguages) {
  Rng rng(1);
  for (const GeneratedId& id : generated_ids()) {
    for (int i = 0; i < 20; ++i) {
      const std::string value = id.make(rng);
      expect_found("Her " + std::string(id.label) + " is " + value + ", she says.", value, id.kind, 0.8f);
      expect_found(std::string(id.local_label) + "：" + value + "。", value, id.kind, 0.8f);
    }
  }
}

TEST(Numbers, AreFoundInTheirUsualGrouping) {
  Rng rng(2);
  for (const GeneratedId& id : generated_ids()) {
    for (int i = 0; i < 20; ++i) {
      const std::string value = id.make(rng), written = grouped(value, id.form.empty() ? "40" : id.form);
      if (id.alone > 0) expect_found("It was " + written + " yesterday", written, id.kind, id.alone);
      expect_found(std::string(id.label) + ": " + written, written, id.kind, 0.8f);
      expect_found(written + "為我的" + std::string(id.local_label), written, id.kind, 0.6f);
    }
  }
}

TEST(Numbers, WeakChecksDoNotMakeABareNumberAFinding) {
  Rng rng(3);
  for (const GeneratedId& id : generated_ids()) {
    if (id.alone > 0) continue;
    for (int i = 0; i < 20; ++i) {
      const std::string text = "It was " + id.make(rng) + " yesterday";
      for (const Finding& f : find_numbers(text)) EXPECT_FALSE(f.kind == id.kind && f.score >= 0.5f) << id.kind << ": " << text;
    }
  }
}

TEST(Numbers, EveryWrongDigitIsSeenWhereTheSchemeSeesIt) {
  Rng rng(4);
  for (const GeneratedId& id : generated_ids()) {
    if (!id.all_errors) continue;
    for (int i = 0; i < 10; ++i) {
      const std::string value = id.make(rng);
      ASSERT_TRUE(passes(id.kind, value)) << id.kind << ' ' << value;
      for (size_t at = 0; at < value.size(); ++at) {
        if (value[at] > '9') continue;
        for (char c = '0'; c <= '9'; ++c) {
          std::string wrong = value;
          wrong[at] = c;
          EXPECT_EQ(passes(id.kind, wrong), c == value[at]) << id.kind << ' ' << value << ' ' << wrong;
        }
      }
    }
  }
}

TEST(Numbers, ASlipAfterALabelIsStillPrivateAndScoresLess) {
  Rng rng(5);
  for (const GeneratedId& id : generated_ids()) {
    if (!id.all_errors) continue;
    const std::string value = id.make(rng);
    std::string wrong = value;
    wrong[value.size() - 3] = wrong[value.size() - 3] == '7' ? '8' : '7';
    if (value[value.size() - 3] > '9') continue;
    const std::string text = std::string(id.label) + ": " + wrong;
    const float score = score_of(text, wrong);
    EXPECT_GE(score, 0.6f) << text;
    EXPECT_LE(score, 0.85f) << text;
  }
}

TEST(Numbers, AGeneralLabelIsEnoughForACheckThatPasses) {
  for (const std::string label : {"ID number: ", "身分證：", "身份证号码是", "身分証番号は ", "신분증번호 "}) {
    EXPECT_GE(score_of(label + "9434765919", "9434765919"), 0.8f) << label;
    EXPECT_LT(score_of(label + "9434765918", "9434765918", "uk_nhs"), 0.5f) << label;
  }
}

TEST(Numbers, PublishedSamples) {
  const auto found = [](const std::string& value, std::string_view kind, std::string_view label = "") {
    EXPECT_GE(score_of(std::string(label) + value, value, kind), 0.5f) << kind << ' ' << value;
  };
  found("A123456789", "tw_national_id");
  found("A800000014", "tw_resident_id");
  found("F231407653", "tw_national_id");
  found("A123456(3)", "hk_id");
  found("AB987654(3)", "hk_id");
  found("G123456(A)", "hk_id");
  found("A 123456 (3)", "hk_id");
  found("943 476 5919", "uk_nhs");
  found("MORGA657054SM9IJ", "uk_driving_licence");
  found("15070649C103", "de_pension");
  found("1EG4-TE5-MK73", "us_mbi");
  found("RSSMRA85T10A562S", "it_codice_fiscale");
  found("131052-308T", "fi_hetu");
  found("X-1234567-L", "es_nie");
  found("M1234567K", "sg_nric");
  found("US0378331005", "isin", "ISIN ");
  found("1HGCM82633A004352", "vin", "VIN: ");
  found("11222333000181", "br_cnpj", "CNPJ ");
}

TEST(Numbers, VatNumbersNeedTheirLabelAndScoreLow) {
  for (const std::string value : {"ATU13585627", "BE0428759497", "DE136695976", "DK13585628", "EL094259216", "FI20774740", "FR40303265045", "IT00743110157", "LU15027442", "PL8567346215",
                                  "PT501964843", "SE123456789701", "SI50223054", "SK2022749619", "GB980780684", "HU12892312", "IE6433435F", "NL004495445B01", "ESB58378431", "HR33392005961",
                                  "EE100931558", "MT11679112", "LT119511515", "LV40003521600", "CY10259033P", "CZ25123891", "RO18547290", "BG175074752"}) {
    EXPECT_EQ(score_of("from " + value + " today", value), 0) << value;
    const float score = score_of("VAT number " + value, value);
    EXPECT_GE(score, 0.6f) << value;
    EXPECT_LE(score, 0.7f) << value;
  }
}

TEST(Numbers, DocumentedSamplesAreExemptAndTheirNeighboursAreNot) {  // F3
  for (const std::string value : {"078-05-1120", "219-09-9999", "457-55-5462"}) EXPECT_EQ(score_of("SSN " + value, value), 0) << value;
  EXPECT_EQ(score_of("NINO QQ123456C", "QQ123456C"), 0);
  for (char c = '0'; c <= '9'; ++c) {
    const std::string advertised = std::string("987-65-432") + c;
    EXPECT_GE(score_of("SSN " + advertised, advertised), 0.5f);
    EXPECT_EQ(score_of("from " + advertised, advertised, "us_ssn"), 0);
    const std::string neighbour = std::string("078-05-112") + c;
    EXPECT_EQ(score_of(neighbour, neighbour) >= 0.5f, c != '0');
  }
}

TEST(Numbers, ImpossibleSocialSecurityNumbers) {
  for (const std::string value : {"000-12-3456", "666-12-3456", "912-12-3456", "123-00-4567", "123-45-0000"}) {
    EXPECT_EQ(score_of("from " + value, value, "us_ssn"), 0) << value;
    EXPECT_GE(score_of("SSN " + value, value, "us_ssn"), 0.5f) << value;
  }
}

TEST(Numbers, SeparatorsMustAgree) {
  EXPECT_GE(score_of("536-90-4399", "536-90-4399"), 0.5f);
  for (const std::string text : {"536-90.4399", "536 90-4399", "4000-0076 5432.1097"}) EXPECT_TRUE(find_numbers(text).empty()) << text;
}

}  // namespace
