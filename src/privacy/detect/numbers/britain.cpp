// britain: identifiers of the United Kingdom.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

bool nino_prefix(std::string_view id) {
  return id.substr(0, 2).find_first_of("DFIQUV") == std::string_view::npos && id[1] != 'O' && !one_of(id.substr(0, 2), "BGGBKNNKNTTNZZ");
}

// QQ 12 34 56 C is the documented sample.
Verdict nino(std::string_view id) {
  if (id == "QQ123456C") return Verdict::impossible;
  return nino_prefix(id) && id[8] <= 'D' ? Verdict::unchecked : Verdict::failed;
}
Verdict nino_without_suffix(std::string_view id) { return id == "QQ123456" ? Verdict::impossible : nino_prefix(id) ? Verdict::unchecked : Verdict::failed; }

Verdict nhs(std::string_view n) {
  if (all_same(n)) return Verdict::impossible;
  const int check = 11 - weighted(n, {10, 9, 8, 7, 6, 5, 4, 3, 2}) % 11;
  return verdict(check % 11 == digit_at(n, 9) && check != 10);
}

// The check digit comes first.
Verdict utr(std::string_view n) { return verdict("21987654321"[weighted(n.substr(1), {6, 7, 8, 9, 10, 5, 4, 3, 2}) % 11] == n[0]); }

// Five letters of the surname padded with 9, the decade, month (+50 for women), day, year, initials padded with 9, and three of the office's.
Verdict driver(std::string_view id) {
  const size_t letters = id.substr(0, 5).find_first_of("0123456789");
  const std::string_view padding = letters == std::string_view::npos ? "" : id.substr(letters, 5 - letters);
  if (letters == 0 || padding.find_first_not_of('9') != std::string_view::npos) return Verdict::impossible;
  if ((id[11] <= '9' && id[11] != '9') || (id[12] <= '9' && id[12] != '9')) return Verdict::impossible;
  const int month = number_of(id.substr(6, 2)), day = number_of(id.substr(8, 2));
  return is_date(2000, month > 50 ? month - 50 : month, day) ? Verdict::unchecked : Verdict::failed;
}

constexpr std::string_view nino_words = "nino|ni no|ni number|national insurance|national insurance no|national insurance number|ni|英國國民保險號|国民保险号|国民保険番号|국민보험번호";

}  // namespace

std::vector<IdRule> britain_rules() {
  return {
      {.kind = "uk_nino", .tier = 'a', .shape = "A{2}9{6}A", .written = "2~2~2~2~1|2~6~1|8~1", .check = nino, .bare = fair, .grouped = strong, .labels = nino_words},
      {.kind = "uk_nino", .tier = 'a', .shape = "A{2}9{6}", .written = "2~2~2~2|2~6", .check = nino_without_suffix, .introduced = true, .labels = nino_words},
      {.kind = "uk_nhs", .tier = 'a', .shape = "9{10}", .written = "3~3~4", .check = nhs, .grouped = even,
       .labels = "nhs|nhs no|nhs num|nhs number|health service number|patient id|patient number|hospital number|國民保健號碼|国民保健号码|nhs番号"},
      {.kind = "uk_utr", .shape = "9{10}", .written = "5~5", .check = utr, .labels = "utr|unique taxpayer reference|taxpayer reference|tax reference|英國納稅編號|英国纳税编号"},
      {.kind = "uk_driving_licence", .shape = "*{5}9{6}*{2}*{3}", .written = "5~6~5|5~6~3~2", .check = driver, .bare = likely, .grouped = strong,
       .labels = "driving licence|driver's licence|driving license|licence no|licence number|dvla|駕照|驾照|駕駛執照|驾驶证"},
  };
}

}  // namespace numbers
