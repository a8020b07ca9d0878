// restore: placeholders in an answer become what they stand for, in one pass, while the answer streams.
#pragma once
#include <string>
#include <string_view>
#include "privacy/clean.h"

struct RestoreCounts { int restored = 0, unresolved = 0, url_blocked = 0; };

// One lane of one choice: its text, its reasoning, or the arguments of one tool call. Holds back only what could be the beginning of a
// placeholder (or of the URL it stands in); concatenated pieces equal the restored whole however the stream is cut.
class Restorer {
 public:
  enum class Lane : uint8_t { text, arguments };         // arguments: a JSON text; values are escaped for the string they stand in
  Restorer(const Ledger& ledger, const Policy::Restore& rules, Lane lane);
  std::string add(std::string_view piece);               // whole UTF-8 or parts of characters
  std::string finish();                                  // what was held back, a cut placeholder left as it is
  const RestoreCounts& counts() const { return counts_; }

 private:
  const Ledger& ledger_;
  const Policy::Restore& rules_;
  const Lane lane_;
  RestoreCounts counts_;
  std::string held_;
};
std::string restore_whole(const Ledger& ledger, const Policy::Restore& rules, Restorer::Lane lane, std::string_view text, RestoreCounts& counts);
