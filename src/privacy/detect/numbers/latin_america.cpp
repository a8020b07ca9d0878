// latin america: identifiers of Brazil and Mexico.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

Verdict cpf(std::string_view n) {
  if (all_same(n)) return Verdict::impossible;
  return verdict(two_mod_11(n, {10, 9, 8, 7, 6, 5, 4, 3, 2}, {11, 10, 9, 8, 7, 6, 5, 4, 3, 2}));
}

Verdict cnpj(std::string_view id) {
  if (all_same(id)) return Verdict::impossible;
  return verdict(two_mod_11(id, {5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2}, {6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2}));
}

// The alphabet has Ñ between N and O.
Verdict curp(std::string_view id) {
  constexpr std::string_view states = "ASBCBSCCCSCHCLCMDFDGGTGRHGJCMCMNMSNTNLOCPLQTQRSPSLSRTCTLTSVZYNZSNE";
  if (!one_of(id.substr(10, 1), "HMX") || !is_yymmdd(id.substr(4, 6)) || !one_of(id.substr(11, 2), states)) return Verdict::failed;
  int sum = 0;
  for (size_t i = 0; i < 17; ++i) sum += static_cast<int>(18 - i) * (value_of(id[i]) + (id[i] > 'N' ? 1 : 0));
  return verdict((10 - sum % 10) % 10 == digit_at(id, 17));
}

}  // namespace

std::vector<IdRule> latin_america_rules() {
  return {
      {.kind = "br_cpf", .shape = "9{11}", .written = "3.3.3-2|3.3.3/2", .check = cpf, .grouped = sure, .labels = "cpf|cadastro de pessoas físicas|cadastro de pessoas fisicas|contribuinte|個人納稅號"},
      {.kind = "br_cnpj", .tier = 'c', .shape = "*{12}9{2}", .written = "2.3.3/4-2", .check = cnpj, .grouped = fair, .labelled = company, .labels = "cnpj|cadastro nacional da pessoa jurídica"},
      {.kind = "mx_curp", .shape = "A{4}9{6}A{6}*9", .check = curp, .bare = sure, .labels = "curp|clave única de registro de población|clave unica|population registry code"},
  };
}

}  // namespace numbers
