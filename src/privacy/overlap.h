// overlap: of candidates that claim the same bytes, which one is the finding.
#pragma once
#include <optional>
#include <string_view>
#include <vector>
#include "privacy/scan.h"

struct Candidate {
  Finding finding;
  bool validated = false;
  bool statement = false;  // of health
};
struct Resolved {
  std::vector<Finding> findings, statements;  // by begin; neither overlaps itself
};
// Validated before unvalidated, then longer, then the more specific class; custom terms before and the group "low" after all others. What a
// loser of a class that must not leave covers beside its winner stays covered. Nothing: it would take more than linear time.
std::optional<Resolved> resolve(std::string_view text, std::vector<Candidate> candidates);
