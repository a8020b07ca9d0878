// number_plan: which numbers exist in which region.
#include <algorithm>
#include "core/core.h"
#include "privacy/detect/contact/phones.h"

namespace contact {
namespace {

std::unique_ptr<RE2> compiled(std::string_view pattern) {
  if (pattern.empty()) return nullptr;
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(1 << 20);
  auto out = std::make_unique<RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  CHECK(out->ok());
  return out;
}

}  // namespace

NumberPlan::NumberPlan() {
  for (const PhoneRegion& region : phone_regions()) patterns_.push_back({compiled(region.mobile), compiled(region.fixed)});
}

NumberKind NumberPlan::under(size_t index, std::string_view number) const {
  const PhoneRegion& region = phone_regions()[index];
  if (number.size() < 4 || number.size() > 17 || !(region.lengths >> number.size() & 1)) return NumberKind::none;
  const unsigned pair = static_cast<unsigned>(number[0] - '0') * 10 + static_cast<unsigned>(number[1] - '0');
  if (!(region.begins[pair / 64] >> (pair % 64) & 1)) return NumberKind::none;
  const re2::StringPiece piece(number.data(), number.size());
  if (patterns_[index].mobile && RE2::FullMatch(piece, *patterns_[index].mobile)) return NumberKind::mobile;
  return patterns_[index].fixed && RE2::FullMatch(piece, *patterns_[index].fixed) ? NumberKind::fixed : NumberKind::none;
}

NumberKind NumberPlan::international(std::string_view digits, bool& known) const {
  known = false;
  unsigned code = 0;
  for (size_t length = 1; length <= 3 && length + 4 <= digits.size(); ++length) {
    code = code * 10 + static_cast<unsigned>(digits[length - 1] - '0');
    if (!std::binary_search(calling_codes().begin(), calling_codes().end(), code)) continue;
    NumberKind best = NumberKind::none;
    for (size_t i = 0; i < phone_regions().size() && best == NumberKind::none; ++i) {
      const PhoneRegion& region = phone_regions()[i];
      if (region.code != code) continue;
      known = true;
      std::string_view number = digits.substr(length);
      best = under(i, number);
      // "+44 (0)20 …": a trunk prefix that is not dialled from abroad.
      if (best == NumberKind::none && !region.trunk.empty() && number.starts_with(region.trunk)) best = under(i, number.substr(region.trunk.size()));
    }
    if (!known && digits.size() >= 8 && digits.size() <= 15) return NumberKind::fixed;
    return best;
  }
  return NumberKind::none;
}

NumberKind NumberPlan::within(std::string_view name, std::string_view number) const {
  for (size_t i = 0; i < phone_regions().size(); ++i) {
    if (phone_regions()[i].name == name) return under(i, number);
  }
  return NumberKind::none;
}

NumberKind NumberPlan::national(std::string_view digits, bool& trunk, std::string_view& name) const {
  NumberKind best = NumberKind::none;
  for (size_t i = 0; i < phone_regions().size(); ++i) {
    const PhoneRegion& region = phone_regions()[i];
    const bool prefixed = !region.trunk.empty() && digits.starts_with(region.trunk);
    if (prefixed) {
      if (const NumberKind kind = under(i, digits.substr(region.trunk.size())); kind != NumberKind::none) {
        trunk = true;
        name = region.name;
        return kind;
      }
    }
    if (best == NumberKind::none && digits[0] != '0') {
      if (const NumberKind kind = under(i, digits); kind != NumberKind::none) best = kind, name = region.name;
    }
  }
  trunk = false;
  return best;
}

}  // namespace contact
