// north america: identifiers of the United States and Canada.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

// Documented samples, each exactly; 987-65-432x of advertisements is no number ever issued, yet someone's after a label.
Verdict ssn(std::string_view n) {
  if (n == "078051120" || n == "219099999" || n == "457555462" || all_same(n)) return Verdict::impossible;
  const bool area = n[0] != '9' && !n.starts_with("000") && !n.starts_with("666");
  return area && n.substr(3, 2) != "00" && n.substr(5) != "0000" ? Verdict::unchecked : Verdict::failed;
}

// Groups 50-65, 70-88, 90-92 and 94-99 are issued.
Verdict itin(std::string_view n) {
  const int group = number_of(n.substr(3, 2));
  const bool issued = (group >= 50 && group <= 65) || (group >= 70 && group != 89 && group != 93);
  return n[0] != '9' ? Verdict::impossible : issued ? Verdict::unchecked : Verdict::failed;
}

Verdict ein(std::string_view n) {
  const bool campus = !one_of(n.substr(0, 2), "0007080917181928294969707879899697");
  return campus ? Verdict::unchecked : Verdict::failed;
}

Verdict npi(std::string_view n) {
  char whole[15] = {'8', '0', '8', '4', '0'};
  n.copy(whole + 5, 10);
  return verdict((n[0] == '1' || n[0] == '2') && luhn({whole, 15}));
}

Verdict mbi(std::string_view id) {
  if (id.find_first_of("SLOIBZ") != std::string_view::npos || id[0] == '0') return Verdict::impossible;
  return Verdict::unchecked;
}

// 0 and 8 are not issued.
Verdict sin(std::string_view n) { return verdict(n[0] != '0' && n[0] != '8' && luhn(n)); }

constexpr std::string_view ssn_words =
    "ssn|social security|social security no|social security number|social|soc sec|ss#|社會安全號碼|社會安全碼|社会安全号码|社会安全号|社会保障番号|사회보장번호|"
    "número de seguro social|seguro social";

}  // namespace

std::vector<IdRule> north_america_rules() {
  return {
      {.kind = "us_ssn", .tier = 'a', .shape = "9{9}", .written = "3-2-4", .check = ssn, .grouped = likely, .labels = ssn_words},
      {.kind = "us_ssn", .tier = 'a', .shape = "9{9}", .written = "3~2~4", .check = ssn, .grouped = even, .labels = ssn_words},
      {.kind = "us_itin", .shape = "9{9}", .written = "3-2-4", .check = itin, .grouped = fair,
       .labels = "itin|taxpayer id|taxpayer identification|individual taxpayer identification number|tax id|納稅人識別號|纳税人识别号|número de identificación del contribuyente"},
      {.kind = "us_ein", .tier = 'c', .shape = "9{9}", .written = "2-7", .check = ein, .labelled = company, .labels = "ein|fein|employer identification number|employer id|federal tax id|雇主識別號|雇主识别号"},
      {.kind = "us_npi", .shape = "9{10}", .check = npi, .labels = "npi|national provider identifier|provider number|provider id|identificador nacional del proveedor"},
      {.kind = "us_mbi", .shape = "9A*9A*9A{2}9{2}", .written = "4-3-4", .check = mbi, .bare = fair, .grouped = strong,
       .labels = "mbi|medicare|medicare no|medicare number|medicare beneficiary identifier|número de medicare"},
      {.kind = "ca_sin", .shape = "9{9}", .written = "3-3-3|3 3 3", .check = sin, .labels = "sin|sin number|social insurance|social insurance number|nas|numéro d'assurance sociale|assurance sociale"},
  };
}

}  // namespace numbers
