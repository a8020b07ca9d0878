// policy_cases: texts with what a policy is expected to do with them, so that a change of the policy can be tested.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "core/core.h"
#include "privacy/privacy.h"

struct PolicyCase {
  std::string where, name;                       // "cases.toml:3"
  std::string text, system, model, privacy;      // privacy: X-Calla-Privacy
  std::string action, route;                     // expected; "": any
  std::optional<std::vector<std::string>> classes;  // exactly these are found above their thresholds, in any order
};
// TOML with [[case]], or JSON lines with the same keys where the name ends in .jsonl. Errors are "FILE:LINE: KEY: message".
Result<std::vector<PolicyCase>> read_policy_cases(const std::string& path);
// What differs from what is expected; "": nothing.
std::string run_policy_case(Gate& gate, const PolicyCase& one);
