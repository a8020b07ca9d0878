// restore: placeholders in an answer become what they stand for, in one pass, while the answer streams.
#pragma once
#include <string>
#include <string_view>
#include "privacy/clean.h"
#include "privacy/restore_url.h"

struct RestoreCounts { int restored = 0, unresolved = 0, url_blocked = 0; };

// One lane of one choice: its text, its reasoning, or the arguments of one tool call. Holds back only what could be the beginning of a
// placeholder (or of the host it stands in) and parts of a character; concatenated pieces equal the restored whole however the stream is cut.
// The ledger and the rules outlive it.
class Restorer {
 public:
  // arguments: a JSON text; values are escaped for the string they stand in. A text that begins like an object or a list of JSON is treated
  // alike, but for what stands outside strings.
  enum class Lane : uint8_t { text, arguments };
  Restorer(const Ledger& ledger, const Policy::Restore& rules, Lane lane);
  std::string add(std::string_view piece);               // whole UTF-8 or parts of characters
  std::string finish();                                  // what was held back, a cut placeholder left as it is
  const RestoreCounts& counts() const { return counts_; }

 private:
  struct Unit { size_t length; char32_t code_point; };   // a character, or an escape of JSON; length 0: it has not wholly arrived
  enum class Found : uint8_t { none, wait, taken };
  void run(bool last, std::string& out);
  Found placeholder_here(bool last, std::string& out);
  Found host_behind(size_t at, bool last) const;         // taken: what stands at `at` is the beginning of a host's name
  Found settle(std::string_view placeholder, std::string_view value, bool last, std::string& out);
  Unit unit_at(size_t at) const;
  void leave(size_t bytes, std::string& out);
  void pass(const Unit& unit, std::string& out);
  void put(std::string_view value, bool in_url, std::string& out);
  void look_at_form(char32_t code_point);
  void end_word();
  const Ledger* ledger_;
  const Policy::Restore* rules_;
  Lane lane_;
  RestoreCounts counts_;
  std::string held_;
  size_t at_ = 0;                                        // of held_: done before
  enum class Form : uint8_t { unknown, object, list, plain, json } form_;  // object, list: its bracket was read
  bool in_string_ = false;                               // of JSON
  char32_t before_ = 0;                                  // the last character
  std::string word_;                                     // letters, digits and "_" just passed: what is unresolved is counted from them
  UrlContext url_;
};
// A whole text at once; also the name of a tool, in the lane of text.
std::string restore_whole(const Ledger& ledger, const Policy::Restore& rules, Restorer::Lane lane, std::string_view text, RestoreCounts& counts);
