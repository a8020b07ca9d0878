// china: identifiers of mainland China, Hong Kong and Macau.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

bool is_region(std::string_view two) { return one_of(two, "1112131415212223313233343536374142434445465051525354616263646571818283"); }

Verdict resident(std::string_view id) {
  if (id[17] > '9' && id[17] != 'X') return Verdict::impossible;
  if (!is_region(id.substr(0, 2)) || !is_yyyymmdd(id.substr(6, 8))) return Verdict::failed;
  return verdict("10X98765432"[weighted(id, {7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2}) % 11] == id[17]);
}

// Before 1999: two digits of the year and no check.
Verdict old_resident(std::string_view n) { return is_region(n.substr(0, 2)) && is_yymmdd(n.substr(6, 6)) ? Verdict::unchecked : Verdict::failed; }

// Unified social credit code.
Verdict uscc(std::string_view id) {
  constexpr std::string_view alphabet = "0123456789ABCDEFGHJKLMNPQRTUWXY";
  int sum = 0, weight = 1;
  for (const char c : id.substr(0, 17)) {
    const size_t value = alphabet.find(c);
    if (value == std::string_view::npos) return Verdict::impossible;
    sum += static_cast<int>(value) * weight;
    weight = weight * 3 % 31;
  }
  return verdict(alphabet[static_cast<size_t>((31 - sum % 31) % 31)] == id[17]);
}

Verdict passport(std::string_view id) { return one_of(id.substr(0, 1), "EGDSP") ? Verdict::unchecked : Verdict::impossible; }
Verdict permit(std::string_view id) { return one_of(id.substr(0, 1), "CWHM") ? Verdict::unchecked : Verdict::impossible; }

// A missing first letter counts 36, as a blank.
Verdict hong_kong(std::string_view id) {
  const bool two = id.size() == 9;
  if (id.back() > 'A') return Verdict::impossible;
  const int sum = (two ? value_of(id[0]) : 36) * 9 + weighted(id.substr(two ? 1 : 0), {8, 7, 6, 5, 4, 3, 2});
  return verdict((11 - sum % 11) % 11 == value_of(id.back()));
}

Verdict macau(std::string_view id) { return one_of(id.substr(0, 1), "157") ? Verdict::unchecked : Verdict::failed; }

constexpr std::string_view resident_words =
    "身份证|身份证号|身份证号码|身份证件|身分證|身份證|身分證號|身分證字號|身份證號碼|证件号|证件号码|證件號碼|公民身份号码|居民身份证|居民身分證|resident id|id card|id no|id number|"
    "identity card|identity no|identity number|national id|chinese id|中国の身分証|身分証明書番号|신분증";
constexpr std::string_view hong_kong_words =
    "hkid|hkid no|hkid card|hong kong id|hong kong identity card|identity card|identity card no|id card|id no|id number|身份證|身份證號碼|身份證號|身分證|身份证|身份证号|香港身份證|"
    "香港身份证|香港永久性居民身份證";

}  // namespace

std::vector<IdRule> china_rules() {
  return {
      {.kind = "cn_resident_id", .tier = 'a', .shape = "9{17}*", .written = "6~8~4", .loose = 2, .check = resident, .bare = sure, .grouped = sure, .labels = resident_words},
      {.kind = "cn_resident_id_15", .tier = 'a', .shape = "9{15}", .written = "6~6~3", .check = old_resident, .labels = resident_words},
      {.kind = "cn_uscc", .tier = 'c', .shape = "*{18}", .check = uscc, .labelled = company,
       .labels = "uscc|unified social credit|unified social credit code|统一社会信用代码|統一社會信用代碼|社会信用代码|信用代码|纳税人识别号|税号|統一社会信用コード"},
      {.kind = "cn_passport", .shape = "A9{8}|A{2}9{7}", .check = passport, .labels = "passport|passport no|passport number|护照|护照号|护照号码|護照|護照號碼|护照編號|パスポート|旅券番号|여권번호"},
      {.kind = "cn_permit", .shape = "A9{8}|A9{10}", .check = permit,
       .labels = "通行证|通行證|港澳通行证|港澳居民来往内地通行证|回鄉證|回鄉卡|回乡证|台胞證|台胞证|home return permit|travel permit|mainland travel permit|exit-entry permit"},
      {.kind = "hk_id", .tier = 'a', .shape = "A9{6}*|A{2}9{6}*", .written = "7(1|8(1|1 6(1|2 6(1|1-6(1|2-6(1|1 3 3(1|2 3 3(1", .check = hong_kong, .grouped = 0.9f, .labels = hong_kong_words},
      {.kind = "hk_id", .tier = 'a', .shape = "A9{6}*|A{2}9{6}*", .written = "7-1|8-1|1~6~1|2~6~1", .check = hong_kong, .grouped = even, .labels = hong_kong_words},
      {.kind = "mo_bir", .shape = "9{8}", .written = "7(1|1 6(1|1/6/1", .check = macau, .grouped = faint,
       .labels = "bir|macau id|macao id|macau identity card|macau resident id|澳門身份證|澳门身份证|澳門居民身份證|身份證|身份证|bilhete de identidade|bilhete de identidade de residente"},
  };
}

}  // namespace numbers
