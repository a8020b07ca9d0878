// cards: payment cards by brand, their expiry dates and security codes after a label.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

constexpr std::string_view card_words =
    "card|card no|card number|card num|cardnumber|credit card|debit card|bank card|payment card|credit card number|pan|visa|mastercard|amex|american express|unionpay|discover|jcb|"
    "diners|maestro|卡號|卡号|信用卡|信用卡號|信用卡号|銀行卡|银行卡|銀行卡號|银行卡号|金融卡|簽帳卡|借记卡|储蓄卡|銀聯|银联|カード番号|クレジットカード|カード|카드번호|카드|"
    "신용카드|kreditkarte|kartennummer|karte|carte bancaire|carte de crédit|numéro de carte|carte|tarjeta|tarjeta de crédito|número de tarjeta|cartão|cartão de crédito|carta di credito|"
    "numero carta|numer karty|карта|номер карты|บัตรเครดิต";

int first(std::string_view digits, size_t count) { return number_of(digits.substr(0, count)); }
bool within(int number, int least, int most) { return least <= number && number <= most; }

bool is_visa(std::string_view n) { return n[0] == '4'; }
bool is_mastercard(std::string_view n) { return within(first(n, 2), 51, 55) || within(first(n, 4), 2221, 2720); }
bool is_amex(std::string_view n) { return first(n, 2) == 34 || first(n, 2) == 37; }
bool is_discover(std::string_view n) { return first(n, 4) == 6011 || within(first(n, 3), 644, 649) || first(n, 2) == 65; }
bool is_unionpay(std::string_view n) { return first(n, 2) == 62 || first(n, 2) == 81; }
bool is_jcb(std::string_view n) { return within(first(n, 4), 3528, 3589); }
bool is_diners(std::string_view n) { return within(first(n, 3), 300, 305) || first(n, 4) == 3095 || one_of(n.substr(0, 2), "363839"); }
bool is_maestro(std::string_view n) { return first(n, 2) == 50 || within(first(n, 2), 56, 58) || n[0] == '6'; }
bool is_mir(std::string_view n) { return within(first(n, 4), 2200, 2204); }
bool is_rupay(std::string_view n) { return one_of(n.substr(0, 2), "60658182") || first(n, 3) == 508; }
bool is_any(std::string_view) { return true; }

// A number of another brand, or one digit over and over, is not a card of this brand at all.
template <bool (*is_brand)(std::string_view)> Verdict card(std::string_view n) {
  if (!is_brand(n) || all_same(n)) return Verdict::impossible;
  return verdict(luhn(n));
}

IdRule brand(std::string_view kind, std::string_view shape, std::string_view written, Check check, float bare, float grouped = sure) {
  return {.kind = kind, .tier = 'a', .cls = PrivacyClass::card, .shape = shape, .written = written, .loose = 3, .check = check, .bare = bare, .grouped = grouped,
          .labels = card_words};
}

Verdict expiry(std::string_view n) { return within(first(n, 2), 1, 12) ? Verdict::unchecked : Verdict::impossible; }

}  // namespace

std::vector<IdRule> card_rules() {
  constexpr std::string_view fours = "4~4~4~4";
  return {
      brand("visa", "9{16}", fours, card<is_visa>, strong),
      brand("visa", "9{13}|9{19}", "4~3~3~3|4~4~5|4~4~4~4~3", card<is_visa>, no, likely),  // 13: milliseconds, 19: identifiers of 64 bits
      brand("mastercard", "9{16}", fours, card<is_mastercard>, strong),
      brand("amex", "9{15}", "4~6~5", card<is_amex>, strong),
      brand("discover", "9{16}", fours, card<is_discover>, strong),
      brand("discover", "9{17,19}", "4~4~4~4~3", card<is_discover>, no, likely),
      brand("unionpay", "9{16,19}", "4~4~4~4|4~4~4~4~3|6~13", card<is_unionpay>, strong),
      brand("jcb", "9{16}", fours, card<is_jcb>, strong),
      brand("jcb", "9{17,19}", "4~4~4~4~3", card<is_jcb>, no, likely),
      brand("diners", "9{14}", "4~6~4", card<is_diners>, likely),
      brand("diners", "9{15,19}", fours, card<is_diners>, no, likely),
      brand("mir", "9{16}", fours, card<is_mir>, strong),
      brand("rupay", "9{16}", fours, card<is_rupay>, fair),
      brand("maestro", "9{12,19}", fours, card<is_maestro>, no, likely),
      brand("card", "9{12,19}", fours, card<is_any>, no, no),
      {.kind = "card_expiry", .tier = 'a', .cls = PrivacyClass::card, .shape = "9{4}|9{6}", .written = "2/2|2-2|2/4|2-4", .check = expiry, .introduced = true,
       .labels = "valid thru|valid through|good thru|expiry date|expiration date|exp date|card expiry|card expires|有效期|有效期限|有效期至|到期日|有効期限|유효기간|gültig bis|"
                 "date d'expiration|fecha de caducidad|fecha de vencimiento|validade|scadenza"},
      {.kind = "card_cvv", .tier = 'a', .cls = PrivacyClass::card, .shape = "9{3,4}", .introduced = true,
       .labels = "cvv|cvc|cvv2|cvc2|csc|card security code|card verification|card verification value|安全碼|安全码|檢查碼|校验码|驗證末三碼|セキュリティコード|보안코드|prüfziffer|"
                 "kartenprüfnummer|cryptogramme|código de seguridad|código de segurança|codice di sicurezza"},
      {.kind = "pin_block", .tier = 'a', .cls = PrivacyClass::secret, .shape = "*{16}", .introduced = true, .labels = "pin block|pinblock"},
  };
}

}  // namespace numbers
