// oceania: identifiers of Australia.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

Verdict tfn(std::string_view n) {
  if (all_same(n)) return Verdict::impossible;
  const int sum = weighted(n, {1, 4, 3, 7, 5, 8, 6, 9}) + (n.size() == 9 ? 10 * digit_at(n, 8) : 0);
  return verdict(sum % 11 == 0);
}

Verdict medicare(std::string_view n) { return verdict(n[0] >= '2' && n[0] <= '6' && weighted(n, {1, 3, 7, 9, 1, 3, 7, 9}) % 10 == digit_at(n, 8)); }

Verdict abn(std::string_view n) {
  if (n[0] == '0') return Verdict::failed;
  return verdict((weighted(n, {10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19}) - 10) % 89 == 0);
}

}  // namespace

std::vector<IdRule> oceania_rules() {
  return {
      {.kind = "au_tfn", .shape = "9{8,9}", .written = "3~3~3|3~3~2", .check = tfn, .labels = "tfn|tax file|tax file no|tax file number|澳洲稅號|澳洲税号|澳大利亚税号"},
      {.kind = "au_medicare", .shape = "9{10,11}", .written = "4~5~1|4 5 1-1|4 5 1/1|4 5 1 1", .check = medicare, .grouped = likely,
       .labels = "medicare|medicare no|medicare number|medicare card|澳洲醫療卡|澳洲医保卡"},
      {.kind = "au_abn", .tier = 'c', .shape = "9{11}", .written = "2 3 3 3|2-3-3-3", .check = abn, .labelled = company, .labels = "abn|australian business number|澳洲商業號碼|澳洲商业号码"},
  };
}

}  // namespace numbers
