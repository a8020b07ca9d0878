// list: the detectors of numbers, and the rules they read.
#include "privacy/detect/detect.h"
#include "privacy/detect/numbers/card_details.h"
#include "privacy/detect/numbers/id_detector.h"
#include "privacy/detect/numbers/id_rule.h"
#include "privacy/detect/numbers/mrz.h"
#include "privacy/detect/numbers/wallets.h"

namespace numbers {

std::vector<IdRule> all_id_rules() {
  std::vector<IdRule> out;
  for (const auto& rules : {card_rules, iban_rules, bank_rules, north_america_rules, latin_america_rules, britain_rules, china_rules, taiwan_rules, japan_korea_rules, south_asia_rules,
                            southeast_asia_rules, oceania_rules, africa_middle_east_rules, western_europe_rules, northern_europe_rules, southern_europe_rules, passport_rules, thing_rules,
                            vat_rules}) {
    for (const IdRule& rule : rules()) out.push_back(rule);
  }
  return out;
}

}  // namespace numbers

void add_number_detectors(LabelBook& book, Detectors& out) {
  using namespace numbers;
  for (const char tier : {'a', 'b', 'c'}) out.push_back(std::make_unique<IdDetector>(tier, all_id_rules(), book));
  out.push_back(std::make_unique<MrzDetector>());
  out.push_back(std::make_unique<WalletDetector>(book));
  out.push_back(std::make_unique<TrackDetector>());
  out.push_back(std::make_unique<BicDetector>(book));
}
