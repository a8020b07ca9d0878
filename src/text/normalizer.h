// normalizer: the text-to-text steps of a tokenizer that run before pre-tokenisation.
#pragma once
#include <string>
#include <variant>
#include <vector>
#include "text/regex.h"
#include "text/unicode.h"

struct ReplaceStep {
  std::string literal;  // empty: use `pattern`
  Regex pattern;
  std::string content;
  std::string apply(std::string_view text) const;
  double growth() const;  // how many times longer a text may become, at least 1
};
struct PrependStep { std::string prefix; };
struct LowercaseStep {};
struct StripStep { bool left = true, right = true; };

using NormalizerStep = std::variant<NormalForm, ReplaceStep, PrependStep, LowercaseStep, StripStep>;

class Normalizer {
 public:
  template <class Step> void add(Step step) { steps_.emplace_back(std::in_place_type<Step>, std::move(step)); }
  bool empty() const { return steps_.empty(); }
  double growth() const;  // of all replacements together
  std::string apply(std::string text) const;  // valid UTF-8 in and out

 private:
  std::vector<NormalizerStep> steps_;
};
