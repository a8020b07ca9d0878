// detect_fixture: one family of detectors over a text, as the scanner shows it the folded view.
#pragma once
#include <gtest/gtest.h>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>
#include "privacy/detect/detect.h"

struct Found { PrivacyClass cls; std::string kind, value; float score; bool validated, internal; };

class Family {
 public:
  explicit Family(void (*add)(LabelBook&, Detectors&)) {
    add(book_, detectors_);
    book_.build();
  }
  std::vector<Found> find(std::string_view text, char tiers_to = 'b') const {
    const View view = folded(text);
    const Labels labels(book_, view.text);
    const Page page{view.text, ViewKind::folded, labels};
    std::vector<Found> out;
    for (const auto& detector : detectors_) {
      if (detector->tier() > tiers_to) continue;
      std::vector<Hit> hits;
      detector->find(page, hits);
      for (const Hit& hit : hits) {
        EXPECT_LE(hit.begin, hit.end);
        EXPECT_LE(hit.end, view.text.size());
        if (hit.score < 0.3F) continue;
        out.push_back({hit.cls, std::string(hit.kind), view.text.substr(hit.begin, hit.end - hit.begin), hit.score, hit.validated, hit.internal});
      }
    }
    return out;
  }
  // The value found whole under this class, with its best score; 0: not found.
  float score(std::string_view text, std::string_view value, PrivacyClass cls, std::string_view kind = "") const {
    float best = 0;
    for (const Found& found : find(text, 'c')) {
      if (found.cls == cls && found.value == value && (kind.empty() || found.kind == kind)) best = std::max(best, found.score);
    }
    return best;
  }
  bool silent(std::string_view text) const { return find(text).empty(); }

 private:
  LabelBook book_;
  Detectors detectors_;
};
