// japan and korea: My Number, corporate numbers, resident registration numbers.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

Verdict my_number(std::string_view n) {
  if (all_same(n)) return Verdict::impossible;
  const int rest = weighted(n, {6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2}) % 11;
  return verdict((rest <= 1 ? 0 : 11 - rest) == digit_at(n, 11));
}

// The check digit comes first.
Verdict corporate(std::string_view n) { return verdict(9 - weighted(n.substr(1), {2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1}) % 9 == digit_at(n, 0)); }

// The seventh digit tells the century, the sex and whether a foreigner.
bool rrn_date(std::string_view n) {
  static constexpr int centuries[] = {1800, 1900, 1900, 2000, 2000, 1900, 1900, 2000, 2000, 1800};
  return is_date(centuries[digit_at(n, 6)] + number_of(n.substr(0, 2)), number_of(n.substr(2, 2)), number_of(n.substr(4, 2)));
}
Verdict rrn(std::string_view n) {
  const int sum = weighted(n, {2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5});
  return verdict(rrn_date(n) && (11 - sum % 11) % 10 == digit_at(n, 12));
}
// Milliseconds since 1970 begin with a 1.
Verdict rrn_unlike_time(std::string_view n) { return n[0] != '1' ? rrn(n) : Verdict::impossible; }
// Numbers issued since October 2020 end in random digits.
Verdict rrn_random(std::string_view n) { return rrn_date(n) ? Verdict::unchecked : Verdict::failed; }

constexpr std::string_view rrn_words =
    "주민등록번호|주민번호|주민등록|외국인등록번호|rrn|resident registration|resident registration no|resident registration number|alien registration|korean id|national id|住民登録番号|居民登錄號碼|"
    "居民登记号|韓國身分證";

}  // namespace

std::vector<IdRule> japan_korea_rules() {
  return {
      {.kind = "jp_my_number", .tier = 'a', .shape = "9{12}", .written = "4~4~4", .check = my_number, .grouped = even,
       .labels = "マイナンバー|個人番号|my number|mynumber|my number card|individual number|個人編號|个人编号|日本個人番號|日本个人号码|마이넘버|개인번호"},
      {.kind = "jp_corporate_number", .tier = 'c', .shape = "9{13}", .check = corporate, .labelled = company, .labels = "法人番号|corporate number|法人編號|法人编号|법인번호"},
      {.kind = "kr_rrn", .tier = 'a', .shape = "9{13}", .written = "6-7", .check = rrn, .grouped = sure, .labels = rrn_words},
      {.kind = "kr_rrn", .tier = 'a', .shape = "9{13}", .check = rrn_unlike_time, .bare = fair},
      {.kind = "kr_rrn", .tier = 'a', .shape = "9{13}", .written = "6-7", .check = rrn_random, .grouped = fair, .labels = rrn_words},
  };
}

}  // namespace numbers
