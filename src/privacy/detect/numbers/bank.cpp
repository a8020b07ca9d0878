// bank: accounts that are not IBANs, and routing numbers. Most have no check: a label must stand right before them.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

Verdict aba(std::string_view n) {
  const int district = number_of(n.substr(0, 2));
  const bool exists = district <= 12 || (district >= 21 && district <= 32) || (district >= 61 && district <= 72) || district == 80;
  return verdict(exists && !all_same(n) && weighted(n, {3, 7, 1, 3, 7, 1, 3, 7, 1}) % 10 == 0);
}

Verdict account(std::string_view n) { return all_same(n) ? Verdict::impossible : Verdict::unchecked; }

}  // namespace

std::vector<IdRule> bank_rules() {
  return {
      {.kind = "us_routing", .tier = 'a', .cls = PrivacyClass::bank, .shape = "9{9}", .check = aba,
       .labels = "routing|routing no|routing number|routing transit number|rtn|aba|aba no|aba number|transit number|wire routing|匯款路線號碼|路由號碼|路由号码|ルーティング番号"},
      {.kind = "uk_account", .tier = 'a', .cls = PrivacyClass::bank, .shape = "9{14}", .written = "2-2-2 8|2-2-2-8|2.2.2 8", .check = account, .grouped = even,
       .labels = "sort code|sort code and account|account|account number|bank details|bacs"},
      {.kind = "uk_sort_code", .tier = 'a', .cls = PrivacyClass::bank, .shape = "9{6}", .written = "2~2~2", .introduced = true, .labels = "sort code|sortcode|sort-code|bank sort code"},
      {.kind = "tw_bank_account", .tier = 'a', .cls = PrivacyClass::bank, .shape = "9{13,19}", .written = "3-10|3-11|3-12|3-13|3-14|3-15|3-16|3 10|3 11|3 12|3 13|3 14|3 15|3 16",
       .check = account, .labels = "帳號|匯款帳號|銀行帳號|銀行代碼|匯款|轉帳|銀行|郵局|bank code|account|account no"},
      {.kind = "bank_account", .tier = 'a', .cls = PrivacyClass::bank, .shape = "9{6,17}", .check = account, .introduced = true,
       .labels = "account|account no|account num|account number|acct|acct no|acct number|a/c|a/c no|bank account|bank account number|checking account|savings account|checking|savings|"
                 "帳號|帳戶|帳戶號碼|銀行帳號|匯款帳號|账号|账户|银行账号|银行账户|賬號|賬戶|口座番号|口座|계좌번호|계좌|kontonummer|konto|konto-nr|numéro de compte|compte bancaire|"
                 "número de cuenta|cuenta bancaria|cuenta|número da conta|conta|conto corrente|numero di conto|rekeningnummer|numer konta|номер счета|เลขที่บัญชี|số tài khoản|"
                 "nomor rekening|nombor akaun"},
  };
}

}  // namespace numbers
