// africa and the middle east: identifiers of South Africa, Israel and Turkey.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

// Birth, sex, citizenship 0 to 2, a digit of the office, Luhn.
Verdict south_africa(std::string_view n) { return verdict(is_yymmdd(n.substr(0, 6)) && n[10] <= '2' && luhn(n)); }

// Milliseconds since 1970 begin with a 1.
Verdict south_africa_unlike_time(std::string_view n) { return n[0] != '1' ? south_africa(n) : Verdict::impossible; }

Verdict israel(std::string_view n) { return all_same(n) ? Verdict::impossible : verdict(luhn(n)); }

Verdict turkey(std::string_view n) {
  if (n[0] == '0') return Verdict::failed;
  const int odd = weighted(n, {1, 0, 1, 0, 1, 0, 1, 0, 1}), even_places = weighted(n, {0, 1, 0, 1, 0, 1, 0, 1});
  const int tenth = ((7 * odd - even_places) % 10 + 10) % 10;
  return verdict(tenth == digit_at(n, 9) && (odd + even_places + tenth) % 10 == digit_at(n, 10));
}

}  // namespace

std::vector<IdRule> africa_middle_east_rules() {
  return {
      {.kind = "za_id", .shape = "9{13}", .check = south_africa_unlike_time, .bare = fair},
      {.kind = "za_id", .shape = "9{13}", .written = "6 4 2 1|6 4 3|6-4-2-1|6 4 1 1 1", .check = south_africa, .grouped = sure,
       .labels = "sa id|rsa id|id no|id number|identity number|south african id|id-nommer|identiteitsnommer|南非身份证|南非身分證"},
      {.kind = "il_id", .shape = "9{9}", .written = "8-1|1-7-1", .check = israel, .grouped = faint,
       .labels = "תעודת זהות|ת.ז|ת\"ז|מספר זהות|teudat zehut|israeli id|israel id|id no|id number|以色列身份证|以色列身分證"},
      {.kind = "tr_tckn", .shape = "9{11}", .check = turkey,
       .labels = "tckn|tc kimlik|t.c. kimlik|tc kimlik no|t.c. kimlik no|kimlik|kimlik no|kimlik numarası|tc no|turkish id|national id|土耳其身份证|土耳其身分證"},
  };
}

}  // namespace numbers
