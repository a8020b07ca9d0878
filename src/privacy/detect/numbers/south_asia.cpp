// south asia: identifiers of India.
#include <algorithm>
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

Verdict aadhaar(std::string_view n) { return verdict(n[0] > '1' && !std::equal(n.begin(), n.begin() + 6, n.rbegin()) && verhoeff(n)); }

// The fourth letter is the kind of holder.
Verdict pan(std::string_view id) { return one_of(id.substr(3, 1), "CPHFATBLJGK") && id.substr(5, 4) != "0000" ? Verdict::unchecked : Verdict::failed; }

// A state, a PAN, a count, Z, and a check to the base 36.
Verdict gstin(std::string_view id) {
  if (pan(id.substr(2, 10)) == Verdict::failed) return Verdict::failed;
  int sum = 0;
  for (size_t i = 0; i < 14; ++i) {
    const int product = value_of(id[i]) * (i % 2 == 0 ? 1 : 2);
    sum += product / 36 + product % 36;
  }
  return verdict((36 - sum % 36) % 36 == value_of(id[14]));
}

}  // namespace

std::vector<IdRule> south_asia_rules() {
  return {
      {.kind = "in_aadhaar", .tier = 'a', .shape = "9{12}", .written = "4~4~4", .check = aadhaar, .grouped = fair,
       .labels = "aadhaar|aadhar|adhaar|aadhaar no|aadhaar number|aadhaar card|uidai|uidai number|आधार|आधार संख्या|आधार नंबर|印度身分證|印度身份证"},
      {.kind = "in_pan", .shape = "A{5}9{4}A", .check = pan, .bare = even, .labels = "pan|pan no|pan number|pan card|permanent account number|income tax|पैन|पैन नंबर|पैन कार्ड|स्थायी खाता संख्या"},
      {.kind = "in_gstin", .tier = 'c', .shape = "9{2}A{5}9{4}A*A*", .check = gstin, .labelled = company, .labels = "gstin|gst|gst no|gst number|gstin no|जीएसटी|जीएसटीआईएन"},
  };
}

}  // namespace numbers
