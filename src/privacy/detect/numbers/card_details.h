// card details: what stands beside a card number: its expiry date, and the tracks of its magnetic stripe; bank codes (BIC).
#pragma once
#include <span>
#include "privacy/detect/detect.h"

namespace numbers {

// Months and years within 80 bytes of a card among `hits`, the finds of one page.
void add_expiry_dates(const Page& page, std::vector<Hit>& hits, size_t first);

// "%B4000…^NAME^…?" and ";4000…=…?": whoever has them can write a card.
class TrackDetector final : public Detector {
 public:
  std::string_view name() const override { return "card_track"; }
  void find(const Page& page, std::vector<Hit>& out) const override;
};

// Four letters, a country, two to five more: many words look so, a label decides.
class BicDetector final : public Detector {
 public:
  explicit BicDetector(LabelBook& book);
  std::string_view name() const override { return "bic"; }
  char tier() const override { return 'b'; }
  void find(const Page& page, std::vector<Hit>& out) const override;

 private:
  LabelSet words_;
};

}  // namespace numbers
