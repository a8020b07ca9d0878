// terms: words and patterns of the user's own, given openly or as HMACs.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "core/core.h"
#include "privacy/scan.h"

class TermFinder {
 public:
  static Result<std::unique_ptr<const TermFinder>> make(std::vector<Term> terms);
  virtual ~TermFinder() = default;
  struct Hit { size_t begin, end; const Term* term; };          // bytes of the page
  // In a folded or decoded view. Nothing: patterns took longer than `until`.
  using Time = std::chrono::steady_clock::time_point;
  virtual std::optional<std::vector<Hit>> find(std::string_view page, Time until) const = 0;
};

// How a term and a text are compared, and what `terms_hmac` signs: folded, lower case, no accents, no spaces.
std::string folded_term(std::string_view text);
