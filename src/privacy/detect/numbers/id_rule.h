// id rule: one identifier as data: how it looks, how it is checked, how sure a hit is, and the words that announce it.
#pragma once
#include <span>
#include <string_view>
#include <vector>
#include "privacy/scan.h"

namespace numbers {

enum class Verdict : uint8_t {
  impossible,  // another thing, or a documented sample: no hit even after a label
  failed,      // a slip of the pen: a hit only after a label
  passed,
  unchecked,   // nothing to check beyond the shape
};
using Check = Verdict (*)(std::string_view compact);  // letters and digits alone, letters in upper case
inline Verdict verdict(bool ok) { return ok ? Verdict::passed : Verdict::failed; }

// Scores without a label. What random digits pass in 1 of 10 cases is `no` when bare: the default threshold of reports is 0.3, of the gate 0.5.
inline constexpr float sure = 0.95f;    // fewer than 1 in 1,000 strings of the shape pass
inline constexpr float strong = 0.85f;  // about 1 in 100, or 1 in 10 of a rare shape
inline constexpr float likely = 0.75f;  // a grouping that hardly anything else has
inline constexpr float fair = 0.6f;
inline constexpr float even = 0.5f;
inline constexpr float faint = 0.4f;
inline constexpr float company = 0.65f;  // after a label: numbers of firms, which are public
inline constexpr float no = 0;

struct IdRule {
  std::string_view kind;
  char tier = 'b';                                // privacy.md 2.9
  PrivacyClass cls = PrivacyClass::gov_id;
  std::string_view shape;                         // 9 digit, A letter, * either; {n} or {n,m} repeats; | between alternatives
  std::string_view written = {};                  // usual groupings: "3-2-4"; ~ for one separator throughout; | between alternatives
  uint8_t loose = 0;                              // every grouping by one separator is usual if its groups, but the last, are this long at least
  Check check = [](std::string_view) { return Verdict::unchecked; };
  float bare = no, grouped = no;                  // without a label: in one piece, and in a usual grouping
  float labelled = 0.95f;                         // near a label, when the check passes
  bool introduced = false;                        // a label counts only right before: what is short or has no check
  std::string_view labels = {};                   // between |, in lower case
  std::string_view prefix = {};                   // begins every one of them; the check sees what follows
};

// A line here, a function in the file of that name.
std::vector<IdRule> card_rules();
std::vector<IdRule> iban_rules();
std::vector<IdRule> bank_rules();
std::vector<IdRule> north_america_rules();
std::vector<IdRule> latin_america_rules();
std::vector<IdRule> britain_rules();
std::vector<IdRule> china_rules();
std::vector<IdRule> taiwan_rules();
std::vector<IdRule> japan_korea_rules();
std::vector<IdRule> south_asia_rules();
std::vector<IdRule> southeast_asia_rules();
std::vector<IdRule> oceania_rules();
std::vector<IdRule> africa_middle_east_rules();
std::vector<IdRule> western_europe_rules();
std::vector<IdRule> northern_europe_rules();
std::vector<IdRule> southern_europe_rules();
std::vector<IdRule> vat_rules();
std::vector<IdRule> passport_rules();
std::vector<IdRule> thing_rules();
std::vector<IdRule> all_id_rules();

}  // namespace numbers
