// number scan: a scanner of the number detectors alone, and numbers written in groups.
#pragma once
#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>
#include "privacy/detect/detect.h"
#include "privacy/scanner.h"

namespace number_tests {

inline const Scanner& number_scanner() {
  static const std::shared_ptr<const Scanner> scanner = [] {
    auto book = std::make_unique<LabelBook>();
    Detectors detectors;
    add_number_detectors(*book, detectors);
    auto made = make_scanner({}, std::move(book), std::move(detectors));
    return made ? *made : nullptr;
  }();
  return *scanner;
}

// What the detectors say of the folded text, overlaps and all.
inline std::vector<Hit> number_hits(std::string_view text) {
  struct Parts {
    LabelBook book;
    Detectors detectors;
    Parts() { add_number_detectors(book, detectors), book.build(); }
  };
  static const Parts parts;
  const View view = folded(text);
  const Labels labels(parts.book, view.text);
  std::vector<Hit> out;
  for (const auto& detector : parts.detectors) detector->find({view.text, view.kind, labels}, out);
  return out;
}

inline std::vector<Finding> find_numbers(std::string_view text) { return number_scanner().scan(text).findings; }

// The finding that covers exactly the first `value` of the text, if it has that kind ("" for any).
inline const Finding* finding_of(const std::vector<Finding>& findings, std::string_view text, std::string_view value, std::string_view kind = "") {
  const size_t begin = text.find(value);
  const auto same = [&](const Finding& f) { return f.begin == begin && f.end == begin + value.size() && (kind.empty() || f.kind == kind); };
  const auto found = std::find_if(findings.begin(), findings.end(), same);
  return found == findings.end() ? nullptr : &*found;
}
inline float score_of(std::string_view text, std::string_view value, std::string_view kind = "") {
  const std::vector<Finding> findings = find_numbers(text);
  const Finding* found = finding_of(findings, text, value, kind);
  return found == nullptr ? 0 : found->score;
}

// "123456789" as "3-2-4" is "123-45-6789"; what remains is the last group.
inline std::string grouped(std::string_view compact, std::string_view form) {
  std::string out;
  size_t at = 0;
  for (size_t i = 0; i < form.size();) {
    size_t length = 0;
    for (; i < form.size() && form[i] >= '0' && form[i] <= '9'; ++i) length = length * 10 + static_cast<size_t>(form[i] - '0');
    out += compact.substr(at, length);
    at += length;
    if (i < form.size()) out += form[i++];
  }
  return out;
}

using Rng = std::mt19937;
inline int random_below(Rng& rng, int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); }
inline std::string random_of(Rng& rng, std::string_view alphabet, size_t n) {
  std::string out;
  while (out.size() < n) out += alphabet[static_cast<size_t>(random_below(rng, static_cast<int>(alphabet.size())))];
  return out;
}
inline std::string random_digits(Rng& rng, size_t n) { return random_of(rng, "0123456789", n); }

}  // namespace number_tests
