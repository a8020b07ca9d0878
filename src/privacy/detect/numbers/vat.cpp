// vat: value-added tax numbers of the European Union and Britain. They belong to firms: a label makes them findings, and their scores are low.
#include "privacy/detect/numbers/check_digits.h"
#include "privacy/detect/numbers/id_rule.h"

namespace numbers {
namespace {

bool austria(std::string_view id) { return id[0] == 'U' && ((6 - luhn_sum(id.substr(1, 7))) % 10 + 10) % 10 == digit_at(id, 8); }

bool belgium(std::string_view n) { return n[0] <= '1' && (number_of(n.substr(0, 8)) + number_of(n.substr(8))) % 97 == 0; }

// Nine digits are a firm's; ten a citizen's, a foreigner's or another's.
bool bulgaria(std::string_view n) {
  if (n.size() == 9) {
    int rest = weighted(n, {1, 2, 3, 4, 5, 6, 7, 8}) % 11;
    if (rest == 10) rest = weighted(n, {3, 4, 5, 6, 7, 8, 9, 10}) % 11 % 10;
    return rest == digit_at(n, 8);
  }
  const int check = digit_at(n, 9);
  return weighted(n, {2, 4, 8, 5, 10, 9, 7, 3, 6}) % 11 % 10 == check || weighted(n, {21, 19, 17, 13, 11, 9, 7, 3, 1}) % 10 == check ||
         (11 - weighted(n, {4, 3, 2, 7, 6, 5, 4, 3, 2}) % 11) % 11 == check;
}

bool cyprus(std::string_view id) {
  static constexpr int odd[] = {1, 0, 5, 7, 9, 13, 15, 17, 19, 21};
  int sum = 0;
  for (size_t i = 0; i < 8; ++i) sum += i % 2 == 0 ? odd[digit_at(id, i)] : digit_at(id, i);
  return !id.starts_with("12") && 'A' + sum % 26 == id[8];
}

// Eight digits are a firm's, nine that begin with 6 a person's without a birth number, else nine (no check) or ten are a birth number.
bool czechia(std::string_view n) {
  if (n.size() == 8) {
    const int rest = (11 - weighted(n, {8, 7, 6, 5, 4, 3, 2}) % 11) % 11;
    return n[0] != '9' && (rest == 0 ? 1 : rest) % 10 == digit_at(n, 7);
  }
  if (n.size() == 9 && n[0] == '6') return (18 - (10 - weighted(n.substr(1), {8, 7, 6, 5, 4, 3, 2}) % 11) % 11) % 10 == digit_at(n, 8);
  const int month = number_of(n.substr(2, 2)) % 50 % 20, day = number_of(n.substr(4, 2));
  const bool date = month >= 1 && month <= 12 && day >= 1 && day <= 31;
  return date && (n.size() == 9 || number_of(n.substr(0, 9)) % 11 % 10 == digit_at(n, 9));
}

bool germany(std::string_view n) { return n[0] != '0' && iso_11_10(n); }
bool denmark(std::string_view n) { return n[0] != '0' && weighted(n, {2, 7, 6, 5, 4, 3, 2, 1}) % 11 == 0; }
bool estonia(std::string_view n) { return weighted(n, {3, 7, 1, 3, 7, 1, 3, 7, 1}) % 10 == 0; }
bool greece(std::string_view n) { return weighted(n, {256, 128, 64, 32, 16, 8, 4, 2}) % 11 % 10 == digit_at(n, 8); }

// People's numbers are those of DNI and NIE; firms begin with a letter of their form and end in a digit or the letter that stands for it.
bool spain(std::string_view id) {
  constexpr std::string_view people = "TRWAGMYFPDXBNJZSQVHLCKE";
  const char last = id[8];
  if (id[0] <= '9') return people[static_cast<size_t>(number_of(id.substr(0, 8)) % 23)] == last;
  const int middle = number_of(id.substr(1, 7));
  if (id[0] >= 'X') return people[static_cast<size_t>(((id[0] - 'X') * 10000000 + middle) % 23)] == last;
  if (id[0] >= 'K' && id[0] <= 'M') return people[static_cast<size_t>(middle % 23)] == last;
  if (id[0] == 'I' || id[0] == 'O' || id[0] == 'T') return false;
  const std::string_view digits = id.substr(1, 7);
  int sum = 0;
  for (size_t i = 0; i < 7; ++i) sum += i % 2 == 0 ? digit_sum(2 * digit_at(digits, i)) : digit_at(digits, i);
  const int check = (10 - sum % 10) % 10;
  return last <= '9' ? last - '0' == check : "JABCDEFGHI"[check] == last;
}

bool finland(std::string_view n) { return weighted(n, {7, 9, 10, 5, 8, 4, 2, 1}) % 11 == 0; }
bool france(std::string_view n) {
  const std::string_view siren = n.substr(2);
  return (12 + 3 * (number_of(siren) % 97)) % 97 == number_of(n.substr(0, 2)) && luhn(siren);
}
bool croatia(std::string_view n) { return iso_11_10(n); }
bool hungary(std::string_view n) { return weighted(n, {9, 7, 3, 1, 9, 7, 3, 1}) % 10 == 0; }

// A letter in the second place is the old form; a second letter at the end counts nine times.
bool ireland(std::string_view id) {
  int sum = 0;
  if (id[1] > '9') {
    if (id.size() != 8) return false;
    sum = weighted(id.substr(2), {7, 6, 5, 4, 3}) + 2 * digit_at(id, 0);
  } else {
    if (id.size() == 9 && id[8] <= '9') return false;
    sum = weighted(id, {8, 7, 6, 5, 4, 3, 2}) + (id.size() == 9 && id[8] != 'W' ? 9 * (id[8] - 'A' + 1) : 0);
  }
  return "WABCDEFGHIJKLMNOPQRSTUV"[sum % 23] == id[7];
}

bool italy(std::string_view n) {
  const int office = number_of(n.substr(7, 3));
  return number_of(n.substr(0, 7)) != 0 && ((office >= 1 && office <= 100) || office == 120 || office == 121 || office == 888 || office == 999) && luhn(n);
}

bool lithuania(std::string_view n) {
  const auto sum = [&](size_t shift) {
    int out = 0;
    for (size_t i = 0; i + 1 < n.size(); ++i) out += static_cast<int>(1 + (i + shift) % 9) * digit_at(n, i);
    return out % 11;
  };
  if ((n.size() != 9 && n.size() != 12) || n[n.size() - 2] != '1') return false;
  const int first = sum(0);
  return (first == 10 ? sum(2) % 10 : first) == n.back() - '0';
}

bool luxembourg(std::string_view n) { return number_of(n.substr(0, 6)) % 89 == number_of(n.substr(6)); }

// From 4 on a firm's, else a person's, which begins with the birth.
bool latvia(std::string_view n) {
  if (n[0] > '3') return weighted(n, {9, 1, 4, 8, 3, 10, 2, 5, 7, 6, 1}) % 11 == 3;
  return (n.starts_with("32") || is_ddmmyy(n.substr(0, 6))) && (1 + weighted(n, {10, 5, 8, 4, 2, 1, 6, 3, 7, 9})) % 11 % 10 == digit_at(n, 10);
}

bool malta(std::string_view n) { return n[0] != '0' && weighted(n, {3, 4, 6, 7, 8, 9, 10, 1}) % 37 == 0; }

// Sole traders since 2020: mod 97 over the whole, country included.
bool netherlands(std::string_view id) {
  if (id[9] != 'B') return false;
  if ((weighted(id, {9, 8, 7, 6, 5, 4, 3, 2}) - digit_at(id, 8)) % 11 == 0) return true;
  char whole[14] = {'N', 'L'};
  id.copy(whole + 2, 12);
  return mod_97({whole, 14}) == 1;
}

bool poland(std::string_view n) { return weighted(n, {6, 5, 7, 2, 3, 4, 5, 6, 7}) % 11 == digit_at(n, 9); }
bool portugal(std::string_view n) { return n[0] != '0' && (11 - weighted(n, {9, 8, 7, 6, 5, 4, 3, 2}) % 11) % 11 % 10 == digit_at(n, 8); }

// The weights stand at the right; the number is as if filled with zeros.
bool romania(std::string_view n) {
  static constexpr int weights[] = {7, 5, 3, 2, 1, 7, 5, 3, 2};
  int sum = 0;
  for (size_t i = 0; i + 1 < n.size(); ++i) sum += weights[9 - (n.size() - 1) + i] * digit_at(n, i);
  return n[0] != '0' && 10 * sum % 11 % 10 == n.back() - '0';
}

bool sweden(std::string_view n) { return n.ends_with("01") && luhn(n.substr(0, 10)); }
bool slovenia(std::string_view n) {
  const int check = 11 - weighted(n, {8, 7, 6, 5, 4, 3, 2}) % 11;
  return n[0] != '0' && check != 11 && check % 10 == digit_at(n, 7);
}
bool slovakia(std::string_view n) { return n[0] != '0' && one_of(n.substr(2, 1), "234789") && long_number_of(n) % 11 == 0; }

// Twelve digits are a branch's; numbers below 100 000 000 know only the old check.
bool britain(std::string_view n) {
  const int rest = weighted(n, {8, 7, 6, 5, 4, 3, 2, 10, 1}) % 97;
  return rest == 0 || (n[0] != '0' && (rest == 42 || rest == 55));
}

using Test = bool (*)(std::string_view);
template <Test test> Verdict checked(std::string_view id) { return all_same(id) ? Verdict::impossible : verdict(test(id)); }

struct Country {
  std::string_view kind, prefix, shape;  // `shape` with the prefix, which is its first four characters
  Check check;
  std::string_view written = {};
};
constexpr Country countries[] = {
    {"vat_at", "AT", "A{2}A9{8}", checked<austria>, "3~8"},
    {"vat_be", "BE", "A{2}9{10}", checked<belgium>, "2 4.3.3|6.3.3|4.3.3"},
    {"vat_bg", "BG", "A{2}9{9,10}", checked<bulgaria>},
    {"vat_cy", "CY", "A{2}9{8}A", checked<cyprus>},
    {"vat_cz", "CZ", "A{2}9{8,10}", checked<czechia>},
    {"vat_de", "DE", "A{2}9{9}", checked<germany>},
    {"vat_dk", "DK", "A{2}9{8}", checked<denmark>},
    {"vat_ee", "EE", "A{2}9{9}", checked<estonia>},
    {"vat_el", "EL", "A{2}9{9}", checked<greece>},
    {"vat_el", "GR", "A{2}9{9}", checked<greece>},
    {"vat_es", "ES", "A{2}*9{7}*", checked<spain>, "2 1-7-1|1-7-1|2 1-8|1-8"},
    {"vat_fi", "FI", "A{2}9{8}", checked<finland>, "7-1|2 7-1|9-1"},
    {"vat_fr", "FR", "A{2}9{11}", checked<france>},
    {"vat_hr", "HR", "A{2}9{11}", checked<croatia>},
    {"vat_hu", "HU", "A{2}9{8}", checked<hungary>},
    {"vat_ie", "IE", "A{2}9*9{5}A", checked<ireland>},
    {"vat_ie", "IE", "A{2}9{7}A{2}", checked<ireland>},
    {"vat_it", "IT", "A{2}9{11}", checked<italy>},
    {"vat_lt", "LT", "A{2}9{9,12}", checked<lithuania>},
    {"vat_lu", "LU", "A{2}9{8}", checked<luxembourg>},
    {"vat_lv", "LV", "A{2}9{11}", checked<latvia>},
    {"vat_mt", "MT", "A{2}9{8}", checked<malta>},
    {"vat_nl", "NL", "A{2}9{9}A9{2}", checked<netherlands>, "2.4.2.2.3.2|6.2.2.3.2"},
    {"vat_pl", "PL", "A{2}9{10}", checked<poland>, "3-3-2-2|3-2-2-3|2 3-3-2-2|2 3-2-2-3"},
    {"vat_pt", "PT", "A{2}9{9}", checked<portugal>},
    {"vat_ro", "RO", "A{2}9{6,10}", checked<romania>},
    {"vat_se", "SE", "A{2}9{12}", checked<sweden>, "6-4-2|8-4-2|2 6-4-2|2 10 2"},
    {"vat_si", "SI", "A{2}9{8}", checked<slovenia>},
    {"vat_sk", "SK", "A{2}9{10}", checked<slovakia>},
    {"vat_gb", "GB", "A{2}9{9}", checked<britain>},
    {"vat_gb", "GB", "A{2}9{12}", checked<britain>},
    {"vat_xi", "XI", "A{2}9{9}", checked<britain>},
};

constexpr std::string_view words =
    "vat|vat no|vat id|vat number|vat reg|vat reg no|vat registration|vat registration number|tax id|ust-id|ust-idnr|ust-id-nr|ustid|uid-nummer|umsatzsteuer-id|"
    "umsatzsteuer-identifikationsnummer|umsatzsteueridentifikationsnummer|tva|n° tva|no tva|numéro de tva|partita iva|p.iva|p. iva|piva|iva|btw|btw-nummer|btw-nr|nip|numer nip|nif|nipc|cif|"
    "moms|momsnr|momsnummer|alv|alv-numero|dič|dic|ič dph|oib|pvm|pvm kodas|pvn|áfa|adószám|afm|αφμ|α.φ.μ.|φπα|ддс|зддс|cui|cod fiscal|id za ddv|kmkr|增值稅|增值税|增值稅號|增值税号|税号|稅號";

}  // namespace

std::vector<IdRule> vat_rules() {
  std::vector<IdRule> out;
  constexpr size_t prefix_shape = 4;  // "A{2}"
  for (const Country& country : countries) {
    IdRule rule{.kind = country.kind, .tier = 'c', .shape = country.shape, .written = country.written, .check = country.check, .labelled = company, .labels = words,
                .prefix = country.prefix};
    out.push_back(rule);
    rule.shape.remove_prefix(prefix_shape);
    rule.prefix = {};
    rule.introduced = true;
    out.push_back(rule);
  }
  return out;
}

}  // namespace numbers
