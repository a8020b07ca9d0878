// prose: English words that mean something to the rules and the tagger: titles, months, streets, what introduces a name.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

enum WordClass : uint32_t {
  title_word = 1u << 0,       // Mr, Dr: a name follows
  name_suffix = 1u << 1,      // Jr, III
  particle = 1u << 2,         // van, de, bin: inside a name
  month_word = 1u << 3,
  weekday_word = 1u << 4,
  street_word = 1u << 5,      // Street, Ave: ends the name of a street
  street_prefix = 1u << 6,    // rue, calle: begins one
  unit_word = 1u << 7,        // Apt, Suite
  direction_word = 1u << 8,
  company_suffix = 1u << 9,   // Ltd, GmbH
  organisation_word = 1u << 10,  // University, Bank
  greeting_word = 1u << 11,   // Dear, Hi: a name may follow
  label_word = 1u << 12,      // name, customer: of a form, "Name: Jane Roe"
  introducer_word = 1u << 13, // named, patient: a name follows
  relation_word = 1u << 14,   // wife, colleague, boss
  speech_word = 1u << 15,     // said, wrote
  country_word = 1u << 16,
  nationality_word = 1u << 17,
  state_code = 1u << 18,      // NY, ON; only in capitals
  region_word = 1u << 19,     // Texas, Ontario, Bavaria
  condition_word = 1u << 20,  // diabetes
  care_word = 1u << 21,       // diagnosed, therapy, prescribed: health only with another word
  medicine_word = 1u << 22,
  preposition_word = 1u << 23,
  currency_word = 1u << 24,
  address_label = 1u << 25,   // address, ship to
  closing_word = 1u << 26,    // Regards, Sincerely
  job_word = 1u << 27,        // engineer, CEO
  verb_of_contact = 1u << 28, // call, email, meet, ask, tell
  code_word = 1u << 29,       // import, def, commit
};

// Hash table of all of them; immutable.
class RuleWords {
 public:
  RuleWords();
  uint32_t classes(uint32_t hash) const;

 private:
  void add(uint32_t classes, std::string_view words);
  struct Slot { uint32_t hash = 0, classes = 0; };
  std::vector<Slot> slots_;
};
const RuleWords& rule_words();
