// generated numbers: check digits by the book, one function for each scheme.
#include "privacy/numbers_generated.h"

namespace number_tests {
namespace {

using Weights = std::vector<int>;

int value(char c) { return c >= 'A' ? c - 55 : c - 48; }
int dot(const std::string& text, const Weights& weights) {
  int sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) sum += weights[i] * value(text[i]);
  return sum;
}
std::string two(int n) { return {static_cast<char>('0' + n / 10), static_cast<char>('0' + n % 10)}; }
std::string digit(int n) { return std::to_string(n); }

// The whole number as long division would do it, letters as two digits.
int remainder(const std::string& text, int modulus) {
  std::string digits;
  for (const char c : text) digits += std::to_string(value(c));
  int rest = 0;
  for (const char c : digits) rest = (rest * 10 + c - '0') % modulus;
  return rest;
}

std::string with_luhn(std::string text) {
  int sum = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const int d = value(text[text.size() - 1 - i]) * (i % 2 == 0 ? 2 : 1);
    sum += d / 10 + d % 10;
  }
  return text + digit((10 - sum % 10) % 10);
}

// Draws until `check` gives a digit: some remainders have none.
std::string drawn(Rng& rng, const std::function<std::string(Rng&)>& body, const std::function<int(const std::string&)>& check) {
  for (;;) {
    const std::string text = body(rng);
    const int found = check(text);
    if (found >= 0 && found <= 9) return text + digit(found);
  }
}

std::string yymmdd(Rng& rng) { return two(random_below(rng, 100)) + two(1 + random_below(rng, 12)) + two(1 + random_below(rng, 28)); }
std::string ddmmyy(Rng& rng) { return two(1 + random_below(rng, 28)) + two(1 + random_below(rng, 12)) + two(random_below(rng, 100)); }
std::string yyyymmdd(Rng& rng) { return std::to_string(1930 + random_below(rng, 80)) + two(1 + random_below(rng, 12)) + two(1 + random_below(rng, 28)); }
std::string first_of(Rng& rng, std::string_view first, size_t rest) { return random_of(rng, first, 1) + random_digits(rng, rest); }

std::string resident(Rng& rng) {
  const std::string body = std::vector<std::string>{"110105", "440301", "310104", "513021"}[static_cast<size_t>(random_below(rng, 4))] + yyyymmdd(rng) + random_digits(rng, 3);
  int sum = 0;
  for (size_t i = 0; i < 17; ++i) {
    int weight = 1;
    for (size_t power = i; power < 17; ++power) weight = weight * 2 % 11;
    sum += weight * value(body[i]);
  }
  const int check = (12 - sum % 11) % 11;
  return body + (check == 10 ? "X" : digit(check));
}

std::string taiwanese(Rng& rng, std::string_view second) {
  const std::string body = random_of(rng, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", 1) + random_of(rng, second, 1) + random_digits(rng, 7);
  static const Weights by_letter = {10, 11, 12, 13, 14, 15, 16, 17, 34, 18, 19, 20, 21, 22, 35, 23, 24, 25, 26, 27, 28, 29, 32, 30, 31, 33};
  const int place = by_letter[static_cast<size_t>(body[0] - 'A')];
  int sum = place / 10 + 9 * (place % 10);
  for (size_t i = 1; i < 9; ++i) sum += static_cast<int>(9 - i) * (body[i] - '0');
  return body + digit((10 - sum % 10) % 10);
}

std::string hong_kong(Rng& rng) {
  const bool two_letters = random_below(rng, 2) == 0;
  const std::string body = random_of(rng, "ABCDEFGHKMPRWXYZ", two_letters ? 2 : 1) + random_digits(rng, 6);
  const int sum = dot(body, two_letters ? Weights{9, 8, 7, 6, 5, 4, 3, 2} : Weights{8, 7, 6, 5, 4, 3, 2}) + (two_letters ? 0 : 36 * 9);
  const int check = (11 - sum % 11) % 11;
  return body + (check == 10 ? "A" : digit(check)) ;
}

// The check digit that makes the dihedral product vanish, found by trying.
std::string aadhaar(Rng& rng) {
  static constexpr char d[] = "0123456789123406789523401789563401289567401239567859876043216598710432765982104387659321049876543210";
  static constexpr char p[] = "01234567891576283094580379614289160435279453126870428657390127938064157046913258";
  const std::string body = first_of(rng, "23456789", 10);
  for (int check = 0;; ++check) {
    const std::string whole = body + digit(check);
    int state = 0;
    for (size_t i = 0; i < 12; ++i) state = d[state * 10 + (p[(i % 8) * 10 + static_cast<size_t>(value(whole[11 - i]))] - '0')] - '0';
    if (state == 0) return whole;
  }
}

std::string two_checks(std::string body, Weights weights, int front) {
  for (int i = 0; i < 2; ++i) {
    const int rest = dot(body, weights) % 11;
    body += digit(rest < 2 ? 0 : 11 - rest);
    weights.insert(weights.begin(), front + i);
  }
  return body;
}

std::string iban(Rng& rng, const std::string& country, size_t length) {
  const std::string body = random_digits(rng, length - 4);
  return country + two(98 - remainder(body + country + "00", 97)) + body;
}

std::string turkish(Rng& rng) {
  std::string n = first_of(rng, "123456789", 8);
  int odd = 0, even = 0;
  for (size_t i = 0; i < 9; ++i) (i % 2 == 0 ? odd : even) += value(n[i]);
  n += digit((odd * 7 + even * 9) % 10);
  int all = 0;
  for (const char c : n) all += value(c);
  return n + digit(all % 10);
}

std::string codice_fiscale(Rng& rng) {
  const std::string body = random_of(rng, "BCDFGLMNPRST", 6) + random_digits(rng, 2) + random_of(rng, "ABCDEHLMPRST", 1) + two(1 + random_below(rng, 31)) + random_of(rng, "ABCDEFGHI", 1) + random_digits(rng, 3);
  static const Weights letters = {1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23};
  int sum = 0;
  for (size_t i = 0; i < 15; ++i) {
    const int plain = body[i] >= 'A' ? body[i] - 'A' : value(body[i]);
    sum += i % 2 == 0 ? letters[static_cast<size_t>(plain)] : plain;
  }
  return body + static_cast<char>('A' + sum % 26);
}

std::string curp(Rng& rng) {
  const std::string body = random_of(rng, "GHLMNRST", 1) + random_of(rng, "AEIOU", 1) + random_of(rng, "BCDFGHLM", 2) + yymmdd(rng) + random_of(rng, "HM", 1) + "DF" + random_of(rng, "BCDFGHJKLMNPQRST", 3) + "0";
  int sum = 0;
  for (size_t i = 0; i < 17; ++i) sum += static_cast<int>(18 - i) * static_cast<int>(std::string_view("0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ").find(body[i]));
  return body + digit((10 - sum % 10) % 10);
}

std::string nric(Rng& rng) {
  const std::string series = random_of(rng, "STFG", 1), n = random_digits(rng, 7);
  const auto rest = static_cast<size_t>((dot(n, {2, 7, 6, 5, 4, 3, 2}) + (series == "T" || series == "G" ? 4 : 0)) % 11);
  return series + n + (series == "S" || series == "T" ? "JZIHGFEDCBA"[rest] : "XWUTRQPNMLK"[rest]);
}

std::string hetu(Rng& rng) {
  const std::string date = ddmmyy(rng), serial = first_of(rng, "123456789", 2);
  return date + serial + "0123456789ABCDEFHJKLMNPRSTUVWXY"[static_cast<size_t>(remainder(date + serial, 31))];
}

std::string german_tax(Rng& rng) {
  std::string digits = "1234567890";
  std::shuffle(digits.begin(), digits.end(), rng);
  digits[9] = digits[2];
  if (digits[0] == '0') std::swap(digits[0], digits[1]);
  int product = 10;
  for (const char c : digits) {
    const int sum = (value(c) + product) % 10;
    product = 2 * (sum == 0 ? 10 : sum) % 11;
  }
  return digits + digit((11 - product) % 10);
}

std::string norwegian(Rng& rng) {
  for (;;) {
    std::string n = ddmmyy(rng) + random_digits(rng, 3);
    const int first = (11 - dot(n, {3, 7, 6, 1, 8, 9, 4, 5, 2}) % 11) % 11;
    if (first == 10) continue;
    n += digit(first);
    const int second = (11 - dot(n, {5, 4, 3, 2, 7, 6, 5, 4, 3, 2}) % 11) % 11;
    if (second != 10) return n + digit(second);
  }
}

std::function<std::string(Rng&)> card(std::string prefix, size_t length) {
  return [=](Rng& rng) { return with_luhn(prefix + random_digits(rng, length - 1 - prefix.size())); };
}

std::vector<GeneratedId> make_ids() {
  constexpr std::string_view fours = "4 4 4 4";
  const auto digits = [](size_t n) { return [n](Rng& rng) { return random_digits(rng, n); }; };
  return {
      {"visa", card("4", 16), "card number", "卡號", fours, 0.9f},
      {"visa", card("4", 19), "card", "银行卡号", "4 4 4 4 3", 0.6f},
      {"mastercard", card("53", 16), "credit card", "信用卡号", "4-4-4-4", 0.9f},
      {"mastercard", card("2315", 16), "credit card", "kreditkarte", fours, 0.9f},
      {"amex", card("37", 15), "amex", "カード番号", "4 6 5", 0.9f},
      {"discover", card("6011", 16), "card no", "卡号", fours, 0.9f},
      {"jcb", card("3530", 16), "card no", "クレジットカード", fours, 0.9f},
      {"unionpay", card("62", 19), "bank card", "银行卡", "6 13", 0.9f},
      {"diners", card("36", 14), "card", "信用卡", "4 6 4", 0.9f},
      {"mir", card("2202", 16), "card", "карта", fours, 0.9f},
      {"iban", [](Rng& rng) { return iban(rng, "DE", 22); }, "IBAN", "Bankverbindung", "4 4 4 4 4 2", 0.9f},
      {"iban", [](Rng& rng) { return iban(rng, "PL", 28); }, "iban", "konta", "4 4 4 4 4 4 4", 0.9f},
      {"iban", [](Rng& rng) { return iban(rng, "NO", 15); }, "iban", "konto", "4 4 4 3", 0.9f},
      {"us_routing", [&](Rng& rng) { return drawn(rng, [](Rng& r) { return "02" + random_digits(r, 6); }, [](const std::string& n) { return (10 - dot(n, {3, 7, 1, 3, 7, 1, 3, 7}) % 10) % 10; }); },
       "routing number", "路由号码", "", 0},
      {"us_ssn", [](Rng& rng) { return "5" + random_digits(rng, 2) + two(1 + random_below(rng, 99)) + first_of(rng, "123456789", 3); }, "SSN", "社會安全號碼", "3-2-4", 0.7f, false},
      {"us_npi", [](Rng& rng) { return with_luhn("80840" + first_of(rng, "12", 8)).substr(5); }, "NPI", "national provider identifier", "", 0},
      {"us_mbi", [](Rng& rng) { return "1EG4TE5MK" + random_digits(rng, 2); }, "medicare number", "MBI", "4-3-4", 0.8f, false},
      {"ca_sin", [](Rng& rng) { return with_luhn(first_of(rng, "1234567", 7)); }, "social insurance number", "numéro d'assurance sociale", "", 0},
      {"br_cpf", [](Rng& rng) { return two_checks(random_digits(rng, 9), {10, 9, 8, 7, 6, 5, 4, 3, 2}, 11); }, "CPF", "cadastro de pessoas físicas", "3.3.3-2", 0.9f, false},
      {"mx_curp", curp, "CURP", "clave única de registro de población", "", 0.9f, false},
      {"uk_nino", [](Rng& rng) { return "AB" + random_digits(rng, 6) + random_of(rng, "ABCD", 1); }, "national insurance number", "NI number", "2 2 2 2 1", 0.8f, false},
      {"uk_nhs", [](Rng& rng) { return drawn(rng, [](Rng& r) { return first_of(r, "456", 8); }, [](const std::string& n) { return (11 - dot(n, {10, 9, 8, 7, 6, 5, 4, 3, 2}) % 11) % 11; }); },
       "NHS number", "NHS no", "3 3 4", 0.5f},
      {"uk_utr", [](Rng& rng) {
         const std::string n = random_digits(rng, 9);
         return std::string("21987654321").substr(static_cast<size_t>(dot(n, {6, 7, 8, 9, 10, 5, 4, 3, 2}) % 11), 1) + n;
       }, "UTR", "unique taxpayer reference", "", 0, false},
      {"cn_resident_id", resident, "resident id", "身份证号码", "6 8 4", 0.9f},
      {"tw_national_id", [](Rng& rng) { return taiwanese(rng, "12"); }, "national ID", "身分證字號", "1 9", 0.8f, false},
      {"tw_resident_id", [](Rng& rng) { return taiwanese(rng, "89"); }, "ARC no", "居留證號", "1-9", 0.8f, false},
      {"hk_id", hong_kong, "HKID", "香港身份證", "", 0, false},
      {"jp_my_number", [](Rng& rng) {
         const std::string n = random_digits(rng, 11);
         const int rest = dot(n, {6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2}) % 11;
         return n + digit(rest <= 1 ? 0 : 11 - rest);
       }, "My Number", "マイナンバー", "4 4 4", 0.5f, false},
      {"kr_rrn", [](Rng& rng) {
         const std::string n = yymmdd(rng) + first_of(rng, "1234", 5);
         return n + digit((11 - dot(n, {2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5}) % 11) % 10);
       }, "resident registration number", "주민등록번호", "6-7", 0.9f, false},
      {"in_aadhaar", aadhaar, "Aadhaar", "आधार संख्या", "4 4 4", 0.6f},
      {"in_pan", [](Rng& rng) { return "ABCP" + random_of(rng, "EKLMR", 1) + first_of(rng, "123456789", 3) + random_of(rng, "FGHKL", 1); }, "PAN card", "पैन कार्ड", "", 0.5f, false},
      {"sg_nric", nric, "NRIC", "新加坡身份证", "", 0.7f},
      {"my_nric", [](Rng& rng) { return yymmdd(rng) + "14" + random_digits(rng, 4); }, "MyKad", "kad pengenalan", "6-2-4", 0.7f, false},
      {"th_pin", [](Rng& rng) {
         const std::string n = first_of(rng, "12345678", 11);
         return n + digit((11 - dot(n, {13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2}) % 11) % 10);
       }, "thai national id", "เลขประจำตัวประชาชน", "1-4-5-2-1", 0.8f, false},
      {"au_tfn", [](Rng& rng) { return drawn(rng, [](Rng& r) { return first_of(r, "123456789", 7); }, [](const std::string& n) { return dot(n, {1, 4, 3, 7, 5, 8, 6, 9}) % 11; }); }, "tax file number", "TFN", "", 0},
      {"au_medicare", [](Rng& rng) {
         const std::string n = first_of(rng, "23456", 7);
         return n + digit(dot(n, {1, 3, 7, 9, 1, 3, 7, 9}) % 10) + random_of(rng, "123456789", 1);
       }, "medicare card", "medicare no", "4 5 1", 0.7f, false},
      {"tr_tckn", turkish, "turkish id", "kimlik numarası", "", 0},
      {"za_id", [](Rng& rng) { return with_luhn(yymmdd(rng) + random_digits(rng, 4) + random_of(rng, "01", 1) + "8"); }, "id number", "identiteitsnommer", "6 4 2 1", 0.9f},
      {"il_id", [](Rng& rng) { return with_luhn(random_digits(rng, 8)); }, "israeli id", "תעודת זהות", "", 0},
      {"es_dni", [](Rng& rng) { const std::string n = random_digits(rng, 8); return n + "TRWAGMYFPDXBNJZSQVHLCKE"[static_cast<size_t>(remainder(n, 23))]; }, "DNI", "documento nacional de identidad", "8-1", 0.8f},
      {"fr_nir", [](Rng& rng) {
         const std::string n = random_of(rng, "12", 1) + two(random_below(rng, 100)) + two(1 + random_below(rng, 12)) + "75" + random_digits(rng, 6);
         return n + two(97 - remainder(n, 97));
       }, "INSEE", "numéro de sécurité sociale", "1 2 2 2 3 3 2", 0.9f},
      {"it_codice_fiscale", codice_fiscale, "italian tax code", "codice fiscale", "6 5 5", 0.9f},
      {"de_tax_id", german_tax, "german tax id", "steueridentifikationsnummer", "2 3 3 3", 0.6f},
      {"nl_bsn", [](Rng& rng) { return drawn(rng, [](Rng& r) { return first_of(r, "123456789", 7); }, [](const std::string& n) { return dot(n, {9, 8, 7, 6, 5, 4, 3, 2}) % 11; }); },
       "citizen service number", "burgerservicenummer", "", 0},
      {"be_national", [](Rng& rng) { const std::string n = yymmdd(rng) + random_digits(rng, 3); return n + two(97 - remainder(n, 97)); }, "national register number", "rijksregisternummer",
       "2.2.2-3.2", 0.9f, false},
      {"ch_ahv", [](Rng& rng) { const std::string n = "756" + random_digits(rng, 9); return n + digit((10 - dot(n, {1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3}) % 10) % 10); }, "swiss social security",
       "AHV-Nummer", "3.4.4.2", 0.9f},
      {"pl_pesel", [](Rng& rng) { const std::string n = yymmdd(rng) + random_digits(rng, 4); return n + digit((10 - dot(n, {1, 3, 7, 9, 1, 3, 7, 9, 1, 3}) % 10) % 10); }, "polish id", "numer PESEL", "", 0},
      {"se_personnummer", [](Rng& rng) { return with_luhn(yymmdd(rng) + random_digits(rng, 3)); }, "swedish id", "personnummer", "6-4", 0.7f},
      {"fi_hetu", hetu, "finnish id", "henkilötunnus", "6-4", 0.8f, false},
      {"no_fnr", norwegian, "norwegian id", "fødselsnummer", "6 5", 0.7f},
      {"imei", [](Rng& rng) { return with_luhn("35" + random_digits(rng, 12)); }, "IMEI", "手机序列号", "2-6-6-1", 0.6f},
      {"passport", digits(9), "passport no", "護照號碼", "", 0, false},
      {"bank_account", digits(10), "account number", "銀行帳號", "", 0, false},
  };
}

}  // namespace

const std::vector<GeneratedId>& generated_ids() {
  static const std::vector<GeneratedId> ids = make_ids();
  return ids;
}

}  // namespace number_tests
