// taiwan: identifiers of Taiwan.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

// A letter stands for two digits, given by the place where it was registered.
int place_of(char letter) {
  constexpr std::string_view by_number = "ABCDEFGHJKLMNPQRSTUVXYWZIO";  // 10, 11, 12 …
  return static_cast<int>(by_number.find(letter)) + 10;
}

// `second` is the first digit, or in old resident certificates the last digit of a letter's number.
Verdict checked(std::string_view id, int second) {
  const int place = place_of(id[0]);
  const int sum = place / 10 + place % 10 * 9 + second * 8 + weighted(id.substr(2), {7, 6, 5, 4, 3, 2, 1, 1});
  return verdict(sum % 10 == 0);
}

Verdict national(std::string_view id) { return one_of(id.substr(1, 1), "12") ? checked(id, digit_at(id, 1)) : Verdict::impossible; }
Verdict resident(std::string_view id) { return one_of(id.substr(1, 1), "89") ? checked(id, digit_at(id, 1)) : Verdict::impossible; }
Verdict old_resident(std::string_view id) { return id[1] <= 'D' ? checked(id, place_of(id[1]) % 10) : Verdict::impossible; }

// Since April 2023 a sum divisible by 5 is enough; before, by 10. A 7 in the seventh place may count as 1 or 0.
Verdict ubn(std::string_view n) {
  if (all_same(n)) return Verdict::impossible;
  static constexpr int weights[] = {1, 2, 1, 2, 1, 2, 4, 1};
  int sum = 0;
  for (size_t i = 0; i < 8; ++i) sum += digit_sum(weights[i] * digit_at(n, i));
  return verdict(sum % 5 == 0 || (n[6] == '7' && (sum + 1) % 5 == 0));
}

Verdict health_card(std::string_view n) { return n.starts_with("0000") ? Verdict::unchecked : Verdict::failed; }

constexpr std::string_view id_words =
    "身分證|身份證|身分證號|身分證字號|身份證字號|身份證號碼|身分證統一編號|國民身分證|統一證號|身份证|身份证号|证件号码|證件號碼|national id|id no|id number|id card|identity card|identity no|"
    "identification number|taiwan id|taiwanese id|roc id|身分証番号|台湾の身分証|대만 신분증";
constexpr std::string_view resident_words =
    "居留證|居留證號|居留證號碼|外僑居留證|統一證號|居留证|身分證|身份證|arc|arc no|alien resident certificate|resident certificate|ui no|ui number|residence permit|id no|id number|在留証|외국인거류증";
constexpr std::string_view usual = "1~9|1~3~3~3|1~4~5|1~5~4|4~3~3|2~3~5|2~4~4|2~8";

}  // namespace

std::vector<IdRule> taiwan_rules() {
  return {
      {.kind = "tw_national_id", .tier = 'a', .shape = "A9{9}", .written = usual, .check = national, .bare = strong, .grouped = strong, .labels = id_words},
      {.kind = "tw_resident_id", .tier = 'a', .shape = "A9{9}", .written = usual, .check = resident, .bare = strong, .grouped = strong, .labels = resident_words},
      {.kind = "tw_resident_id_old", .tier = 'a', .shape = "A{2}9{8}", .written = "2~8|2~4~4", .check = old_resident, .bare = strong, .grouped = strong, .labels = resident_words},
      {.kind = "tw_ubn", .tier = 'c', .shape = "9{8}", .check = ubn, .labelled = company, .labels = "統一編號|統編|公司統編|营利事业统一编号|營利事業統一編號|ubn|unified business number|tax id|gui number|vat"},
      {.kind = "tw_health_card", .shape = "9{12}", .written = "4~4~4", .check = health_card, .labels = "健保卡|健保卡號|健保卡號碼|健保卡卡號|nhi card|nhi card no|health insurance card|健保卡番号"},
  };
}

}  // namespace numbers
