// things: numbers of devices, cars, securities and legal entities; only a label makes them findings.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

// Fourteen digits are without the check digit, sixteen with a software version in its place.
Verdict imei(std::string_view n) {
  if (all_same(n)) return Verdict::impossible;
  return n.size() == 15 ? verdict(luhn(n)) : Verdict::unchecked;
}

Verdict isin(std::string_view id) { return verdict(luhn_of_letters(id)); }
Verdict lei(std::string_view id) { return verdict(mod_97(id) == 1); }

// The check stands in the ninth place; it binds in North America and China, elsewhere the place is free.
Verdict vin(std::string_view id) {
  if (id.find_first_of("IOQ") != std::string_view::npos) return Verdict::impossible;
  static constexpr int weights[] = {8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2};
  constexpr std::string_view letters = "12345678012345070923456789";  // of A to Z
  int sum = 0;
  for (size_t i = 0; i < 17; ++i) sum += weights[i] * (id[i] <= '9' ? digit_at(id, i) : letters[static_cast<size_t>(id[i] - 'A')] - '0');
  return "0123456789X"[sum % 11] == id[8] ? Verdict::passed : Verdict::unchecked;
}

}  // namespace

std::vector<IdRule> thing_rules() {
  return {
      {.kind = "imei", .tier = 'a', .cls = PrivacyClass::mac, .shape = "9{14,16}", .written = "2-6-6-1|2-6-6|2-6-6-2|2 6 6 1|6-2-6-1", .check = imei, .grouped = fair,
       .labels = "imei|imei no|imei number|imeisv|手機序號|手机序列号|設備識別碼|设备识别码|端末識別番号|단말기식별번호"},
      {.kind = "isin", .tier = 'c', .cls = PrivacyClass::org, .shape = "A{2}*{9}9", .check = isin, .labelled = company, .labels = "isin|isin no|isin code|wkn|國際證券識別碼|国际证券识别码"},
      {.kind = "lei", .tier = 'c', .cls = PrivacyClass::org, .shape = "*{18}9{2}", .check = lei, .labelled = company, .labels = "lei|lei code|legal entity identifier|法人識別碼|法人机构识别编码"},
      {.kind = "vin", .tier = 'c', .cls = PrivacyClass::handle, .shape = "*{17}", .check = vin, .labelled = company,
       .labels = "vin|vehicle identification|vehicle identification number|chassis no|chassis number|車身號碼|车架号|车辆识别代号|車台番号|차대번호|fahrgestellnummer|fin"},
  };
}

}  // namespace numbers
