// detect: what a detector is, and the list of them. A new one is a file here and a line in list.cpp.
#pragma once
#include <memory>
#include <string_view>
#include <vector>
#include "privacy/labels.h"
#include "privacy/scan.h"
#include "privacy/view.h"

// One view being read, with what all detectors share.
struct Page {
  std::string_view text;
  ViewKind kind;
  const Labels& labels;
};

// A span of a page. Scores: privacy.md 2.2.
struct Hit {
  PrivacyClass cls;
  std::string_view kind;         // lives as long as the program
  size_t begin, end;             // bytes of the page
  float score;
  bool validated = false;        // a check digit or a structure was verified: wins over what was not
  bool internal = false;
  bool statement = false;        // of health: counts only beside a person
};

class Detector {
 public:
  virtual ~Detector() = default;
  virtual std::string_view name() const = 0;
  virtual char tier() const { return 'a'; }       // of all its hits, unless `tiers` of the kind says otherwise
  // Linear in the text; never throws; never logs. Reads folded views and decoded ones; numerals and squeezed views hold candidates of digits alone.
  virtual void find(const Page& page, std::vector<Hit>& out) const = 0;
  virtual bool reads(ViewKind kind) const { return kind != ViewKind::numerals && kind != ViewKind::squeezed && kind != ViewKind::reversed; }
};
using Detectors = std::vector<std::unique_ptr<Detector>>;

// Families, each of many small files; they add their words to `book` and themselves to `out`.
void add_number_detectors(LabelBook& book, Detectors& out);      // detect/numbers/: cards, bank accounts, government ids, crypto addresses
void add_credential_detectors(LabelBook& book, Detectors& out);  // detect/secrets/: keys, tokens, passwords, seed phrases
void add_contact_detectors(LabelBook& book, Detectors& out);     // detect/contact/: e-mail, phone, IP, MAC, URL, handles, plates, positions
void add_prose_detectors(LabelBook& book, Detectors& out);       // detect/prose/: people, addresses, dates of birth, health, organisations, places, amounts
Detectors all_detectors(LabelBook& book);

// ---- characters, by class and not by \b ----
bool is_word_byte(unsigned char c);                              // ASCII letter or digit, or "_"
bool at_word_start(std::string_view text, size_t at);            // no Latin letter or digit of any script ends just before; Han before is a start
bool at_word_end(std::string_view text, size_t at);
float entropy(std::string_view text);                            // bits per byte
