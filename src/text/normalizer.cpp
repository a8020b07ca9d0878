// normalizer: running the steps.
#include "text/normalizer.h"

#include <algorithm>

std::string ReplaceStep::apply(std::string_view text) const {
  std::string out;
  size_t from = 0;
  if (!literal.empty()) {
    for (size_t at; (at = text.find(literal, from)) != text.npos; from = at + literal.size()) out.append(text, from, at - from).append(content);
  } else {
    for (const TextRange match : pattern.matches(text)) {
      out.append(text, from, match.begin - from).append(content);
      from = match.end;
    }
  }
  return out.append(text.substr(from));
}

// A pattern may match between any two characters.
double ReplaceStep::growth() const {
  const double added = static_cast<double>(content.size());
  return literal.empty() ? added + 1 : std::max(1.0, added / static_cast<double>(literal.size()));
}

static std::string strip(std::string_view text, const StripStep& step) {
  size_t first = text.size(), last = 0;  // first and behind-the-last character that is not white space
  for (size_t at = 0; at < text.size();) {
    const Utf8Step c = utf8_step(text, at);
    if (!is_white_space(c.code_point)) first = std::min(first, at), last = at + c.length;
    at += c.length;
  }
  if (last == 0) return step.left || step.right ? std::string() : std::string(text);
  const size_t begin = step.left ? first : 0, end = step.right ? last : text.size();
  return std::string(text.substr(begin, end - begin));
}

namespace {
struct Apply {
  std::string& text;
  void operator()(NormalForm form) const { text = normalize(text, form); }
  void operator()(const ReplaceStep& step) const { text = step.apply(text); }
  void operator()(const PrependStep& step) const {
    if (!text.empty()) text.insert(0, step.prefix);
  }
  void operator()(const LowercaseStep&) const { text = lowercase(text); }
  void operator()(const StripStep& step) const { text = strip(text, step); }
};
}  // namespace

double Normalizer::growth() const {
  double product = 1;
  for (const NormalizerStep& step : steps_)
    if (const auto* replace = std::get_if<ReplaceStep>(&step)) product *= replace->growth();
  return product;
}

std::string Normalizer::apply(std::string text) const {
  static constexpr size_t kMaxBytes = 256 << 20;  // a chain of replacements must not grow without end
  for (const NormalizerStep& step : steps_)
    if (text.size() <= kMaxBytes) std::visit(Apply{text}, step);
  return text;
}
