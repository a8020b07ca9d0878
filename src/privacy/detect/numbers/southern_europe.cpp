// southern europe: identifiers of Spain and Italy.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

bool dni_letter(int number, char letter) { return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == letter; }

Verdict dni(std::string_view id) { return verdict(dni_letter(number_of(id.substr(0, 8)), id[8])); }

Verdict nie(std::string_view id) {
  if (id[0] < 'X') return Verdict::impossible;
  return verdict(dni_letter((id[0] - 'X') * 10000000 + number_of(id.substr(1, 7)), id[8]));
}

// Surname, first name, year, letter of the month, day (+40 for women), municipality, check letter. Where two people would share one, digits are
// replaced by letters.
Verdict codice_fiscale(std::string_view id) {
  constexpr std::string_view replacing = "LMNPQRSTUV";
  const auto digit = [&](size_t at) { return id[at] <= '9' ? digit_at(id, at) : static_cast<int>(replacing.find(id[at])); };
  for (const size_t at : {6, 7, 9, 10, 12, 13, 14}) {
    if (digit(at) < 0) return Verdict::impossible;
  }
  const int day = digit(9) * 10 + digit(10);
  if (!one_of(id.substr(8, 1), "ABCDEHLMPRST") || day < 1 || day > 71 || (day > 31 && day < 41)) return Verdict::failed;
  static constexpr int odd[] = {1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23};  // of A to Z; 0 to 9 as A to J
  int sum = 0;
  for (size_t at = 0; at < 15; ++at) {
    const int value = id[at] <= '9' ? digit_at(id, at) : id[at] - 'A';
    sum += at % 2 == 0 ? odd[value] : value;
  }
  return verdict('A' + sum % 26 == id[15]);
}

}  // namespace

std::vector<IdRule> southern_europe_rules() {
  return {
      {.kind = "es_dni", .shape = "9{8}A", .written = "8-1|8 1|2.3.3-1|2.3.3 1|2 3 3 1", .check = dni, .bare = fair, .grouped = strong,
       .labels = "dni|nif|documento nacional de identidad|número de identificación fiscal|spanish id|national id|西班牙身份证|西班牙身分證"},
      {.kind = "es_nie", .shape = "A9{7}A", .written = "1-7-1|1 7 1|1-7 1|1.7.1", .check = nie, .bare = likely, .grouped = strong,
       .labels = "nie|número de identidad de extranjero|numero de identidad de extranjero|nif|spanish foreigner id|西班牙居留证"},
      {.kind = "it_codice_fiscale", .shape = "A{6}*{2}A*{2}A*{3}A", .written = "6~5~5|3~3~5~5|3~3~2~1~2~4~1|6~2~3~5", .check = codice_fiscale, .bare = sure, .grouped = sure,
       .labels = "codice fiscale|cod. fiscale|cod fisc|c.f.|cf|italian tax code|tax code|fiscal code|義大利稅號|意大利税号"},
  };
}

}  // namespace numbers
