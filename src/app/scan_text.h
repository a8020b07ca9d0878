// scan_text: one text scanned: what counts as found, where it stands in characters, and how it is shown.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "core/json_writer.h"
#include "privacy/policy.h"
#include "privacy/scan.h"

// A scanner and the scores from which its findings count.
class TextScanner {
 public:
  // Without a policy: everything with a score of 0.3 and more. `tiers`: "" as the policy says, or all.
  static Result<TextScanner> make(const std::optional<Policy>& policy, const std::string& tiers, std::shared_ptr<SpanModel> model = nullptr);
  ScanReport scan(std::string_view text) const;  // its statements are findings already where somebody is named beside them

 private:
  std::shared_ptr<const Scanner> scanner_;
  std::vector<float> least_;                     // by class
};
// {"id","findings","us"}: offsets in code points of the text.
Json report_json(const Json& id, std::string_view text, const ScanReport& report);
// "name:line:column: class/kind score" and the line with the span marked, for each finding. `columns`: of the terminal, 0 for any; `color`: ANSI.
std::string report_text(std::string_view name, std::string_view text, const ScanReport& report, int columns, bool color);
bool looks_binary(std::string_view text);
