// classes: names and groups of what can be sensitive.
#include <algorithm>
#include <array>
#include "privacy/scan.h"

namespace {

struct Row { std::string_view name, group; };
constexpr std::array<Row, n_privacy_classes> rows = {{
    {"secret", "secret"},   {"gov_id", "gov_id"},   {"card", "financial"},   {"iban", "financial"}, {"bank", "financial"}, {"crypto", "financial"},
    {"phone", "contact"},   {"email", "contact"},   {"address", "contact"},  {"handle", "contact"}, {"person", "person"},  {"dob", "person"},
    {"ip", "network"},      {"mac", "network"},     {"host", "network"},     {"health", "health"},  {"custom", "custom"},  {"opaque", "opaque"},
    {"unscanned", "unscanned"}, {"org", "low"},     {"place", "low"},        {"date", "low"},       {"url", "low"},        {"amount", "low"},
}};

}  // namespace

std::string_view name_of(PrivacyClass cls) { return rows[static_cast<size_t>(cls)].name; }
std::string_view group_of(PrivacyClass cls) { return rows[static_cast<size_t>(cls)].group; }

std::optional<PrivacyClass> class_named(std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  if (found == rows.end()) return std::nullopt;
  return static_cast<PrivacyClass>(found - rows.begin());
}

std::vector<PrivacyClass> classes_named(std::string_view class_or_group) {
  if (const auto cls = class_named(class_or_group)) return {*cls};
  std::vector<PrivacyClass> out;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].group == class_or_group) out.push_back(static_cast<PrivacyClass>(i));
  }
  return out;
}
