// gate_inspect: every text of a request through the scanner, and what the findings mean together.
#pragma once
#include <string>
#include <vector>
#include "privacy/clean.h"
#include "privacy/scan.h"

inline constexpr const char* recurrence_detector = "vault";  // of values known from earlier in the conversation

struct Inspection {
  Walk walk;
  std::vector<FieldFinding> findings;  // of one field side by side; they may overlap where a value recurs
  int64_t us = 0;
};
// Fails where the request has a shape that is not known: the message names the field in front of ": ". `vault`: values known from earlier in the
// conversation; may be null. What cannot be scanned within the limits is of class unscanned.
Result<Inspection> inspect(const ChatRequest& request, const Scanner& scanner, const Vault* vault, const Policy& policy);
