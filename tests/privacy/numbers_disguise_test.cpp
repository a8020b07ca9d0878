// numbers in disguise and beside one another: the examples of privacy.md 5.2, card details, travel documents, wallets, F2 and F9.
#include <gtest/gtest.h>
#include "privacy/detect/numbers/base58.h"
#include "privacy/detect/numbers/keccak.h"
#include "privacy/number_scan.h"

using namespace number_tests;

namespace {

void expect_hit(const std::string& text, const std::string& value, std::string_view kind, float least = 0.5f) { EXPECT_GE(score_of(text, value, kind), least) << kind << ": " << text; }

TEST(NumberExamples, ACardWithItsDetails) {  // 2
  const std::string text = "Card 4000 0076 5432 1097 exp 04/29 cvv 731";
  expect_hit(text, "4000 0076 5432 1097", "visa");
  expect_hit(text, "04/29", "card_expiry");
  expect_hit(text, "731", "card_cvv");
  EXPECT_EQ(find_numbers("exp 04/29, room 731").size(), 0u);
  expect_hit("安全碼 731，有效期 04/29", "731", "card_cvv");
  expect_hit("安全碼 731，有效期 04/29", "04/29", "card_expiry");
  EXPECT_EQ(score_of("4000 0076 5432 1097" + std::string(90, ' ') + "04/29", "04/29"), 0);
}

TEST(NumberExamples, FullWidthDigits) { expect_hit("４０００００７６５４３２１０９７ 是我的卡號", "４０００００７６５４３２１０９７", "visa", 0.9f); }  // 5

TEST(NumberExamples, TaiwanIdsAndASlip) {  // 13
  const std::string text = "身分證 F231407653，居留證 A800012345，誤植 F231407654";
  const float right = score_of(text, "F231407653", "tw_national_id"), slip = score_of(text, "F231407654", "tw_national_id");
  expect_hit(text, "A800012345", "tw_resident_id", 0.9f);
  EXPECT_GE(right, 0.9f);
  EXPECT_GE(slip, 0.5f);
  EXPECT_LT(slip, right);
}

TEST(NumberExamples, AnIbanEndsWhereItEnds) {  // 15
  expect_hit("IBAN DE79 0000 0000 0012 3456 7890 2 days from today", "DE79 0000 0000 0012 3456 7890", "iban");
  expect_hit("pay GB82 WEST 1234 5698 7654 32 by Friday", "GB82 WEST 1234 5698 7654 32", "iban", 0.9f);
  expect_hit("gb82west12345698765432", "gb82west12345698765432", "iban", 0.9f);
}

TEST(NumberDisguise, InvisibleCharactersOtherDigitsAndSeparators) {  // F9
  const std::string zero_width = "4000\xe2\x80\x8b" "0076\xe2\x80\x8b" "5432\xe2\x80\x8b" "1097";
  expect_hit("Card " + zero_width, zero_width, "visa");
  const std::string arabic = "٤٠٠٠٠٠٧٦٥٤٣٢١٠٩٧";
  expect_hit("card " + arabic, arabic, "visa");
  const std::string dashes = "4000‐0076–5432—1097";
  expect_hit("card " + dashes, dashes, "visa");
  const std::string wide = "５３６－９０－４３９９";
  expect_hit("SSN " + wide, wide, "us_ssn");
  const std::string apart = "5.3.6-9.0-4.3.9.9";
  expect_hit("my SSN is " + apart, apart, "us_ssn");
  EXPECT_EQ(find_numbers("values 5.3.6-9.0-4.3.9.9").size(), 0u);  // no check, no label
  const std::string numerals = "四零零零零零七六五四三二一零九七";
  expect_hit("卡號" + numerals, numerals, "visa");
}

TEST(NumberDisguise, OneDigitRunIsOneThing) {  // F2: card, account and telephone at once
  const std::vector<Finding> findings = find_numbers("account card phone 4000007654321097");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].cls, PrivacyClass::card);
}

TEST(NumberDisguise, TablesAndColumns) {  // F12
  expect_hit("| Jane | 536-90-4399 | NY |", "536-90-4399", "us_ssn");
  expect_hit("id,card,date\n1,4000007654321097,2024-01-01\n", "4000007654321097", "visa");
  expect_hit("{\"card_number\":\"4000007654321097\"}", "4000007654321097", "visa", 0.9f);
  expect_hit("ssn=536904399;", "536904399", "us_ssn", 0.8f);
}

TEST(Tracks, AreSecret) {
  const std::string one = "%B4000007654321097^DOE/JANE^29041010000000000?", two = ";4000007654321097=29041010000000000?";
  expect_hit("read " + one + " from", one, "card_track");
  expect_hit("read " + two, two, "card_track");
  EXPECT_EQ(find_numbers(two)[0].cls, PrivacyClass::secret);
}

// The specimen of ICAO 9303, part 4, and cards made of its fields.
const std::string td3 = "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F1204159ZE184226B<<<<<10";
const std::string td2 = "I<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<\nD231458907UTO7408122F1204159<<<<<<<6";
const std::string td1 = "I<UTOD231458907<<<<<<<<<<<<<<<\n7408122F1204159UTO<<<<<<<<<<<6\nERIKSSON<<ANNA<MARIA<<<<<<<<<<";

TEST(TravelDocuments, MachineReadableZones) {
  expect_hit("Passport:\n" + td3 + "\nthanks", td3, "mrz_td3", 0.95f);
  expect_hit(td2, td2, "mrz_td2", 0.95f);
  expect_hit(td1, td1, "mrz_td1", 0.95f);
  const std::string joined = td3.substr(0, 44) + td3.substr(45), second = td3.substr(45);
  expect_hit("x " + joined, joined, "mrz_td3", 0.95f);
  expect_hit("line: " + second, second, "mrz_td3", 0.95f);
}

TEST(TravelDocuments, EveryWrongDigitLowersTheScore) {
  for (const std::string& zone : {td3, td2, td1}) {
    for (size_t at = zone.find('\n') + 1; at < zone.size(); ++at) {
      if (zone[at] < '0' || zone[at] > '9') continue;
      std::string wrong = zone;
      wrong[at] = zone[at] == '9' ? '0' : static_cast<char>(zone[at] + 1);
      const float score = score_of(wrong, wrong);
      EXPECT_GE(score, 0.6f) << wrong;
      EXPECT_LT(score, 0.95f) << wrong;
    }
  }
}

TEST(Wallets, PublishedAddresses) {
  const auto found = [](const std::string& value, std::string_view kind) { EXPECT_GE(score_of("send it to " + value + " now", value, kind), 0.7f) << value; };
  found("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "bitcoin");
  found("3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", "bitcoin");
  found("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "bitcoin");
  found("BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4", "bitcoin");
  found("bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0", "bitcoin");
  for (const std::string address : {"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"}) {
    EXPECT_GE(score_of("to " + address, address, "ethereum"), 0.95f) << address;
  }
  found("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "ethereum");
}

TEST(Wallets, EveryWrongCharacterIsSeen) {
  const std::string legacy = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", segwit = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
  for (const std::string& address : {legacy, segwit}) {
    for (size_t at = 4; at < address.size(); ++at) {
      std::string wrong = address;
      wrong[at] = address[at] == 'q' ? 'p' : 'q';
      EXPECT_EQ(score_of("to " + wrong, wrong), 0) << wrong;
    }
  }
  EXPECT_EQ(find_numbers("0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed").size(), 0u);  // EIP-55
  EXPECT_EQ(find_numbers("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kV8f3t4").size(), 0u);  // two cases
}

TEST(Wallets, KeysAreSecret) {
  Rng rng(21);
  const std::string hex = random_of(rng, "0123456789abcdef", 64);
  const std::vector<Finding> labelled = find_numbers("private key: 0x" + hex);
  ASSERT_EQ(labelled.size(), 1u);
  EXPECT_EQ(labelled[0].cls, PrivacyClass::secret);
  EXPECT_EQ(find_numbers("sha256 " + hex).size(), 0u);
}

TEST(Wallets, SolanaNeedsItsLabel) {
  const std::string address(32, '1');  // 32 bytes of zero: the system program
  EXPECT_EQ(find_numbers("to " + address).size(), 0u);
  expect_hit("my solana wallet: " + address, address, "solana");
}

TEST(Wallets, KeccakOfKnownMessages) {
  const auto hex = [](std::string_view message) {
    std::string out;
    for (const uint8_t byte : numbers::keccak_256(message)) out += "0123456789abcdef"[byte >> 4], out += "0123456789abcdef"[byte & 15];
    return out;
  };
  EXPECT_EQ(hex(""), "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
  EXPECT_EQ(hex("abc"), "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45");
}

}  // namespace
