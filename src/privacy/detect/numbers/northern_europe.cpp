// northern europe: identifiers of Sweden, Finland, Denmark and Norway; all begin with the birth.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

// Days are 60 higher in coordination numbers.
Verdict sweden(std::string_view n) {
  const std::string_view ten = n.substr(n.size() - 10);
  const int month = number_of(ten.substr(2, 2)), day = number_of(ten.substr(4, 2));
  const bool century = n.size() == 10 || one_of(n.substr(0, 2), "181920");
  return verdict(century && is_date(2000, month, day > 60 ? day - 60 : day) && luhn(ten));
}

// The sign of the century ("-" before 2000, "A" after) may stand as a letter.
Verdict finland(std::string_view id) {
  const bool signed_by_letter = id.size() == 11;
  if (signed_by_letter && !one_of(id.substr(6, 1), "ABCDEFUVWXY")) return Verdict::impossible;
  const std::string_view serial = id.substr(signed_by_letter ? 7 : 6, 3);
  if (!is_ddmmyy(id.substr(0, 6)) || number_of(serial) < 2) return Verdict::failed;
  const auto rest = static_cast<size_t>((number_of(id.substr(0, 6)) * 1000 + number_of(serial)) % 31);
  return verdict("0123456789ABCDEFHJKLMNPRSTUVWXY"[rest] == id.back());
}

// The check digit was given up in 2007.
Verdict denmark(std::string_view n) { return is_ddmmyy(n.substr(0, 6)) ? Verdict::unchecked : Verdict::failed; }

// Days are 40 higher in D numbers, months 40 in H numbers and 80 in tests.
Verdict norway(std::string_view n) {
  const int day = number_of(n.substr(0, 2)) % 40, month = number_of(n.substr(2, 2)) % 40;
  if (!is_date(2000, month, day)) return Verdict::failed;
  const int first = (11 - weighted(n, {3, 7, 6, 1, 8, 9, 4, 5, 2}) % 11) % 11, second = (11 - weighted(n, {5, 4, 3, 2, 7, 6, 5, 4, 3, 2}) % 11) % 11;
  return verdict(first == digit_at(n, 9) && second == digit_at(n, 10));
}

}  // namespace

std::vector<IdRule> northern_europe_rules() {
  return {
      {.kind = "se_personnummer", .shape = "9{10}|9{12}", .written = "6-4|8-4", .check = sweden, .grouped = likely,
       .labels = "personnummer|personnr|pnr|samordningsnummer|swedish id|swedish personal number|personal identity number|瑞典身分證|瑞典身份证"},
      {.kind = "fi_hetu", .shape = "9{9}*", .written = "6-4", .check = finland, .grouped = strong,
       .labels = "hetu|henkilötunnus|henkilotunnus|personbeteckning|finnish id|personal identity code|芬蘭身分證|芬兰身份证"},
      {.kind = "fi_hetu", .shape = "9{6}A9{3}*", .check = finland, .bare = strong, .labels = "hetu|henkilötunnus|henkilotunnus|personbeteckning|finnish id|personal identity code|芬蘭身分證|芬兰身份证"},
      {.kind = "dk_cpr", .shape = "9{10}", .written = "6-4|6 4", .check = denmark, .labels = "cpr|cpr-nr|cpr-nummer|cpr nr|cpr nummer|personnummer|danish id|丹麥身分證|丹麦身份证"},
      {.kind = "no_fnr", .shape = "9{11}", .written = "6 5|6-5", .check = norway, .bare = fair, .grouped = likely,
       .labels = "fødselsnummer|fodselsnummer|fnr|personnummer|d-nummer|norwegian id|national identity number|挪威身分證|挪威身份证"},
  };
}

}  // namespace numbers
