// prose: what rules and the tagger propose, in tokens, before it becomes hits.
#pragma once
#include <string_view>
#include <vector>
#include "privacy/detect/prose/tokens.h"
#include "privacy/scan.h"

struct NamedSpan {
  PrivacyClass cls;
  std::string_view kind;
  size_t first, last;  // tokens, [first, last)
  float score;
};
using NamedSpans = std::vector<NamedSpan>;

// Rules; each appends what it finds, in order of `first`.
void find_addresses(std::string_view text, const Tokens& tokens, NamedSpans& out);
void find_han_addresses(std::string_view text, const Tokens& tokens, NamedSpans& out);
void find_people(std::string_view text, const Tokens& tokens, NamedSpans& out);
void find_han_people(std::string_view text, const Tokens& tokens, NamedSpans& out);
void find_organisations(std::string_view text, const Tokens& tokens, NamedSpans& out);

// The score of a tagged span after a look at its words; 0: not believed.
float plausible_score(std::string_view text, const Tokens& tokens, const NamedSpan& span);
