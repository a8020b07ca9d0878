// passports: numbers of travel documents, which have no check digit outside the machine-readable zone: a label decides.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {

std::vector<IdRule> passport_rules() {
  constexpr std::string_view words =
      "passport|passport no|passport num|passport number|passport id|travel document|護照|護照號碼|護照號|护照|护照号|护照号码|パスポート|パスポート番号|旅券番号|旅券|여권|여권번호|reisepass|"
      "reisepassnummer|passnummer|passeport|numéro de passeport|pasaporte|número de pasaporte|passaporte|passaporto|numero passaporto|paspoort|паспорт|पासपोर्ट|паспорта";
  const auto passport = [&](std::string_view kind, std::string_view shape) {
    return IdRule{.kind = kind, .shape = shape, .check = [](std::string_view id) { return all_same(id) ? Verdict::impossible : Verdict::unchecked; }, .introduced = true, .labels = words};
  };
  return {
      passport("passport", "9{9}"),         // United States, United Kingdom, Taiwan
      passport("passport", "A9{8}"),        // United States since 2021, Korea, China
      passport("passport", "A{2}9{7}"),     // Japan, Italy, the Netherlands
      passport("passport", "A9{7}"),        // India
      passport("passport", "A{2}9{6,7}A"),  // Singapore (K1234567X has one letter less)
      passport("passport", "A9{7}A|9{2}A{2}9{5}|9{8}"),
  };
}

}  // namespace numbers
