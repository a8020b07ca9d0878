// generated numbers: valid identifiers whose check digits are computed here, by other code than the detectors'.
#pragma once
#include <functional>
#include "privacy/number_scan.h"

namespace number_tests {

struct GeneratedId {
  std::string_view kind;
  std::function<std::string(Rng&)> make;
  std::string_view label, local_label;  // English, and the country's own language
  std::string_view form;                // a usual grouping, "" if there is none
  float alone;                          // least score without a label in that grouping, or bare if there is none; 0: must not reach 0.5 when bare
  bool all_errors = true;               // the scheme detects every single wrong digit
};
const std::vector<GeneratedId>& generated_ids();

}  // namespace number_tests
