// mrz: the machine-readable zone of passports, visas and identity cards (ICAO 9303: TD1, TD2, TD3, MRV-A, MRV-B).
#pragma once
#include "privacy/detect/detect.h"

namespace numbers {

class MrzDetector final : public Detector {
 public:
  std::string_view name() const override { return "mrz"; }
  void find(const Page& page, std::vector<Hit>& out) const override;
};

}  // namespace numbers
