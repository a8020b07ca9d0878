// western europe: identifiers of Germany, France, Belgium, the Netherlands, Switzerland and, east of them, Poland.
#include <algorithm>
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

// Among the first ten digits one appears two or three times and no other more than once.
Verdict german_tax(std::string_view n) {
  int counts[10] = {};
  for (const char c : n.substr(0, 10)) ++counts[c - '0'];
  const auto repeated = std::ranges::count_if(counts, [](int count) { return count > 1; });
  return verdict(n[0] != '0' && repeated == 1 && *std::ranges::max_element(counts) <= 3 && iso_11_10(n));
}

// Office, birth, first letter of the name as two digits, serial.
Verdict german_pension(std::string_view id) {
  static constexpr int weights[] = {2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1};
  const int letter = id[8] - 'A' + 1;
  int digits[12];
  for (size_t i = 0; i < 8; ++i) digits[i] = digit_at(id, i);
  digits[8] = letter / 10, digits[9] = letter % 10, digits[10] = digit_at(id, 9), digits[11] = digit_at(id, 10);
  int sum = 0;
  for (size_t i = 0; i < 12; ++i) sum += digit_sum(digits[i] * weights[i]);
  const int day = number_of(id.substr(2, 2)), month = number_of(id.substr(4, 2));
  return verdict(month >= 1 && month <= 12 && day >= 1 && day <= 81 && sum % 10 == digit_at(id, 11));
}

// Serial of nine letters and digits that cannot be misread as words, and perhaps its check digit.
Verdict german_card(std::string_view id) {
  if (id.substr(0, 9).find_first_not_of("0123456789CFGHJKLMNPRTVWXYZ") != std::string_view::npos || id[0] <= '9') return Verdict::impossible;
  if (id.size() == 9) return Verdict::unchecked;
  return verdict(weighted(id, {7, 3, 1, 7, 3, 1, 7, 3, 1}) % 10 == digit_at(id, 9));
}

// Sex, year, month (from 20 when unknown), department (Corsica 2A, 2B), municipality, serial, key.
Verdict french_nir(std::string_view id) {
  const int month = number_of(id.substr(3, 2));
  if (id[0] == '0' || id[0] == '5' || id[0] == '6' || id[0] == '9' || month < 1 || (month > 12 && month < 20)) return Verdict::failed;
  char digits[13];
  id.copy(digits, 13);
  if (digits[6] > '9') {
    if (digits[5] != '2' || digits[6] > 'B') return Verdict::impossible;
    digits[5] = '1';
    digits[6] = digits[6] == 'A' ? '9' : '8';
  }
  return verdict(97 - mod_97({digits, 13}) == number_of(id.substr(13)));
}

// What random digits seldom are: complete, and with the sex of a resident.
Verdict plain_french_nir(std::string_view id) { return id[0] <= '2' && number_of(id.substr(3, 2)) <= 12 ? french_nir(id) : Verdict::impossible; }

Verdict dutch_bsn(std::string_view n) {
  if (all_same(n)) return Verdict::impossible;
  return verdict((weighted(n, {9, 8, 7, 6, 5, 4, 3, 2}) - digit_at(n, 8)) % 11 == 0);
}

// Months are 20 or 40 higher for people who are not residents; 00 when unknown.
Verdict belgian(std::string_view n) {
  const int month = number_of(n.substr(2, 2)) % 20, day = number_of(n.substr(4, 2)), key = number_of(n.substr(9));
  if (month > 12 || day > 31 || number_of(n.substr(2, 2)) > 52) return Verdict::failed;
  const long number = long_number_of(n.substr(0, 9));
  return verdict(97 - number % 97 == key || 97 - (2000000000 + number) % 97 == key);
}

// An EAN-13 that begins with the country 756.
Verdict swiss_ahv(std::string_view n) {
  if (!n.starts_with("756")) return Verdict::impossible;
  return verdict((10 - weighted(n, {1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3}) % 10) % 10 == digit_at(n, 12));
}

// The month tells the century: +80, +0, +20, +40, +60 from 1800 on.
Verdict pesel(std::string_view n) {
  static constexpr int centuries[] = {1900, 2000, 2100, 2200, 1800};
  const int month = number_of(n.substr(2, 2)), year = centuries[month / 20] + number_of(n.substr(0, 2));
  return verdict(is_date(year, month % 20, number_of(n.substr(4, 2))) && weighted(n, {1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1}) % 10 == 0);
}

}  // namespace

std::vector<IdRule> western_europe_rules() {
  return {
      {.kind = "de_tax_id", .shape = "9{11}", .written = "2~3~3~3", .check = german_tax, .grouped = fair,
       .labels = "idnr|steuer-id|steuerid|steuer-idnr|steueridentifikationsnummer|steuerliche identifikationsnummer|identifikationsnummer|steuernummer|german tax id|tax id|tin|德國稅號|德国税号"},
      {.kind = "de_pension", .shape = "9{8}A9{3}", .written = "2~6~1~3|2~6~1~2~1|8~1~3", .check = german_pension, .bare = strong, .grouped = sure,
       .labels = "rvnr|rentenversicherungsnummer|versicherungsnummer|sozialversicherungsnummer|sv-nummer|rv-nummer|pension insurance number|german social security"},
      {.kind = "de_id_card", .shape = "*{9}|*{9}9", .check = german_card, .introduced = true,
       .labels = "personalausweis|personalausweisnummer|ausweisnummer|ausweis-nr|perso|reisepass|reisepassnummer|passnummer|german id card|german passport|id card no|id card number"},
      {.kind = "fr_nir", .shape = "9{6}*9{8}", .check = plain_french_nir, .bare = likely},
      {.kind = "fr_nir", .shape = "9{6}*9{8}", .written = "1~2~2~2~3~3~2|1 2 2 2 3 3-2|13~2", .check = french_nir, .grouped = sure,
       .labels = "nir|insee|numéro insee|sécurité sociale|securite sociale|numéro de sécurité sociale|n° de sécurité sociale|numéro de sécu|carte vitale|french social security|法國社會安全號碼|法国社保号"},
      {.kind = "nl_bsn", .shape = "9{9}", .written = "3~3~3|4~2~3|4~3~2", .check = dutch_bsn, .labels = "bsn|burgerservicenummer|sofinummer|sofi-nummer|citizen service number|dutch id|荷蘭公民號碼|荷兰公民号码"},
      {.kind = "be_national", .shape = "9{11}", .written = "2.2.2-3.2|6-3-2|6 3 2|2 2 2 3 2|2-2-2-3-2|6-3.2", .check = belgian, .grouped = sure,
       .labels = "rijksregisternummer|rijksregister|insz|niss|numéro national|numéro de registre national|registre national|nationalregisternummer|belgian national number|national number|"
                 "national register number"},
      {.kind = "ch_ahv", .shape = "9{13}", .written = "3.4.4.2|3 4 4 2|3-4-4-2", .check = swiss_ahv, .bare = fair, .grouped = sure,
       .labels = "ahv|ahv-nr|ahv-nummer|avs|numéro avs|no avs|numero avs|oasi|svnr|sozialversicherungsnummer|swiss social security|瑞士社會保險號|瑞士社保号"},
      {.kind = "pl_pesel", .shape = "9{11}", .check = pesel, .labels = "pesel|numer pesel|nr pesel|polish id|national id|波蘭身分證|波兰身份证"},
  };
}

}  // namespace numbers
