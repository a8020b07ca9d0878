// iban: international bank account numbers of the registry's countries.
#include <algorithm>
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

// Countries by the length of their numbers; index 0 is 15 (privacy.md 2.3, the registry's 97 entries and France's territories).
constexpr std::string_view countries[] = {
    "NO", "BE", "", "AXDKFIFOGLNLSD", "MKSI", "ATBAEEKZLTLUMNXK", "CHHRLILV", "BGBHCRDEGBGEIEMERSVA", "AEGIILIQOMSOTL", "ADCZESMDPKROSASESKTNVG", "LYPTST", "ISTR",
    "FRGRITMCMRSMGFGPMQRETFPFYTNCBLMFPMWF", "ALAZBYCYDOGTHULBNIPLSV", "BREGPSQAUA", "JOKWMUYE", "MTSC", "LC", "RU"};
constexpr size_t shortest = 15;

bool sums_up(std::string_view text) {
  char turned[64];
  std::ranges::copy(text.substr(4), turned);
  std::ranges::copy(text.substr(0, 4), turned + text.size() - 4);
  return text.find_first_not_of('0', 4) != std::string_view::npos && mod_97({turned, text.size()}) == 1;
}

Verdict iban(std::string_view text) { return one_of(text.substr(0, 2), countries[text.size() - shortest]) ? verdict(sums_up(text)) : Verdict::impossible; }

// Registered lengths change, and people invent numbers: the check alone, if the country has IBANs at all.
Verdict iban_of_any_length(std::string_view text) {
  const bool known = std::ranges::any_of(countries, [&](std::string_view list) { return one_of(text.substr(0, 2), list); });
  return known && sums_up(text) ? Verdict::passed : Verdict::impossible;
}

constexpr std::string_view words =
    "iban|iban no|iban number|account|bank account|國際銀行帳號|国际银行账号|帳號|账号|口座番号|계좌번호|konto|kontonummer|bankverbindung|compte|rib|cuenta|conta|conto|rekening|rekeningnummer|"
    "konta";

}  // namespace

std::vector<IdRule> iban_rules() {
  constexpr std::string_view shape = "A{2}9{2}*{11,29}";
  return {
      {.kind = "iban", .tier = 'a', .cls = PrivacyClass::iban, .shape = shape, .loose = 4, .check = iban, .bare = sure, .grouped = sure, .labels = words},
      {.kind = "iban", .tier = 'a', .cls = PrivacyClass::iban, .shape = shape, .loose = 4, .check = iban_of_any_length, .grouped = fair, .labels = words},
  };
}

}  // namespace numbers
