// southeast asia: identifiers of Singapore, Malaysia, Indonesia, Thailand and Vietnam.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

Verdict singapore(std::string_view id) {
  const char series = id[0];
  if (!one_of(id.substr(0, 1), "STFGM")) return Verdict::impossible;
  const int shift = series == 'T' || series == 'G' ? 4 : series == 'M' ? 3 : 0;
  const auto rest = static_cast<size_t>((shift + weighted(id.substr(1), {2, 7, 6, 5, 4, 3, 2})) % 11);
  if (series == 'S' || series == 'T') return verdict("JZIHGFEDCBA"[rest] == id[8]);
  if (series == 'M') return verdict("XWUTRQPNJLK"[rest] == id[8]);
  return verdict("XWUTRQPNMLK"[rest] == id[8]);
}

bool is_malaysian_place(int code) {
  return (code >= 1 && code <= 16) || (code >= 21 && code <= 68) || (code >= 71 && code <= 79 && code != 73) || (code >= 82 && code <= 93) || code >= 98;
}
Verdict malaysia(std::string_view n) { return is_yymmdd(n.substr(0, 6)) && is_malaysian_place(number_of(n.substr(6, 2))) ? Verdict::unchecked : Verdict::failed; }

// Province, district, birth (day + 40 for women), serial.
Verdict indonesia(std::string_view n) {
  constexpr std::string_view provinces = "111213141516171819213132333435365152536162636465717273747576818291929394959697";
  const int day = number_of(n.substr(6, 2)), month = number_of(n.substr(8, 2)), year = 2000 + number_of(n.substr(10, 2));
  const int born = day > 40 ? day - 40 : day;
  const bool date = is_date(year, month, born) || is_date(year - 100, month, born);
  return one_of(n.substr(0, 2), provinces) && date && n.substr(12) != "0000" ? Verdict::unchecked : Verdict::failed;
}

Verdict thailand(std::string_view n) {
  const int sum = weighted(n, {13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2});
  return verdict(one_of(n.substr(0, 1), "12345678") && (11 - sum % 11) % 10 == digit_at(n, 12));
}

// Province, century and sex, two digits of the year, serial.
Verdict vietnam(std::string_view n) {
  constexpr std::string_view provinces =
      "001002004006008010011012014015017019020022024025026027030031033034035036037038040042044045046048049051052054056058060062064066067068070072074075077079080082083084086087089091092"
      "093094095096";
  return one_of(n.substr(0, 3), provinces) && n[3] <= '3' ? Verdict::unchecked : Verdict::failed;
}

}  // namespace

std::vector<IdRule> southeast_asia_rules() {
  return {
      {.kind = "sg_nric", .shape = "A9{7}A", .written = "1~7~1", .check = singapore, .bare = likely, .grouped = strong,
       .labels = "nric|nric no|fin|fin no|singapore id|identity card|ic no|ic number|新加坡身份證|新加坡身份证|身份证号|身份證號碼|nombor kad pengenalan"},
      {.kind = "my_nric", .shape = "9{12}", .written = "6-2-4|6 2 4", .check = malaysia, .grouped = likely,
       .labels = "nric|mykad|ic|ic no|ic number|identity card|kad pengenalan|no kp|no. kad pengenalan|nombor kad pengenalan|馬來西亞身份證|马来西亚身份证|身份证|身份證"},
      {.kind = "id_nik", .shape = "9{16}", .written = "6~6~4|4~4~4~4", .check = indonesia, .labels = "nik|no nik|nomor induk kependudukan|ktp|no ktp|e-ktp|nomor ktp|indonesian id|national id|印尼身份證|印尼身份证"},
      {.kind = "th_pin", .shape = "9{13}", .written = "1-4-5-2-1|1 4 5 2 1", .check = thailand, .grouped = strong,
       .labels = "บัตรประชาชน|เลขบัตรประชาชน|เลขประจำตัวประชาชน|เลขประจำตัว|thai id|thai national id|national id|id card|citizen id|泰國身分證|泰国身份证"},
      {.kind = "vn_cccd", .shape = "9{12}", .written = "3~3~6|4~4~4", .check = vietnam, .labels = "cccd|căn cước|căn cước công dân|số căn cước|số cccd|cmnd|citizen id|vietnamese id|national id|越南身分證|越南身份证"},
  };
}

}  // namespace numbers
