// mask_spans: which bytes of a text are replaced: spans that stand free, none touching another.
#pragma once
#include <string_view>
#include <vector>
#include "privacy/scan.h"

struct MaskSpan {
  size_t begin, end;
  PrivacyClass cls;
  bool exact = false;        // stands for its very bytes: an encoded blob, a look-alike of a placeholder
  bool known = false;        // the vault has seen it: its class wins where spans become one
  bool look_alike = false;   // nothing private, but not a placeholder of ours
};

// Until neither neighbour is a letter or digit that a placeholder would run into, nor the span ends inside a run.
void grow(std::string_view text, MaskSpan& span);
// Grown, by begin; those that overlap or touch are one.
std::vector<MaskSpan> settled(std::string_view text, std::vector<MaskSpan> spans);
