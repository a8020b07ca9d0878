// explain: from measured speeds and the machine's own words to what limits them and what would help.
#pragma once
#include "core/core.h"

struct SpeedFacts {
  double decode_share = 0, prefill_share = 0;           // of the read bandwidth, of the multipliers; 0: not measured
  double read_bytes_per_s = 0, macs_per_s = 0;
  std::string unit;                                     // what is multiplied: "int8", or "half" on a GPU
  double bits_per_weight = 0, bytes_per_token = 0;      // weights that one decoded token reads
  double state_share = 0;                               // of the bytes that a token reads at the deepest context
  int depth = 0;                                        // that context
  int threads = 1, physical_cores = 1, numa_nodes = 1;
  std::string isa, best_isa, huge_pages;
  bool exact = false;
  bool gpu() const { return unit == "half"; }
  double foreign_share = 0;
  size_t swapped_bytes = 0;
};

struct Explanation { std::string bottleneck, suggestion, disturbance; };  // disturbance: "" when the figures can be trusted
Explanation explain(const SpeedFacts& facts);
constexpr double kDisturbingShare = 0.06;  // of all cores, taken by others
