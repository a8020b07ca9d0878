// gate_metrics: counters, and how they are written.
#include "privacy/gate_metrics.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

void GateMetrics::request(std::string_view route) {
  const auto found = std::find(routes.begin(), routes.end(), route);
  if (found != routes.end()) requests_[static_cast<size_t>(found - routes.begin())] += 1;
}

void GateMetrics::findings(std::span<const FieldFinding> findings, std::span<const Action> actions) {
  for (size_t i = 0; i < std::min(findings.size(), actions.size()); ++i) {
    findings_[static_cast<size_t>(findings[i].finding.cls)][static_cast<size_t>(actions[i])] += 1;
  }
}

void GateMetrics::scanned(int64_t us) {
  scan_count_ += 1;
  scan_us_ += static_cast<uint64_t>(std::max<int64_t>(us, 0));
  const auto bound = std::lower_bound(bounds_us.begin(), bounds_us.end(), us);
  if (bound != bounds_us.end()) scans_[static_cast<size_t>(bound - bounds_us.begin())] += 1;
}

void GateMetrics::restored(int restored, int unresolved) {
  restored_ += static_cast<uint64_t>(std::max(restored, 0));
  unresolved_ += static_cast<uint64_t>(std::max(unresolved, 0));
}

std::string GateMetrics::text() const {
  std::string out = "# TYPE calla_privacy_requests_total counter\n";
  const auto add = std::back_inserter(out);
  for (size_t i = 0; i < routes.size(); ++i) fmt::format_to(add, "calla_privacy_requests_total{{route=\"{}\"}} {}\n", routes[i], requests_[i].load());
  out += "# TYPE calla_privacy_findings_total counter\n";
  for (size_t cls = 0; cls < n_privacy_classes; ++cls) {
    for (size_t action = 0; action < n_actions; ++action) {
      const uint64_t count = findings_[cls][action].load();
      if (count == 0) continue;
      fmt::format_to(add, "calla_privacy_findings_total{{class=\"{}\",action=\"{}\"}} {}\n", name_of(static_cast<PrivacyClass>(cls)), name_of(static_cast<Action>(action)), count);
    }
  }
  out += "# TYPE calla_privacy_scan_seconds histogram\n";
  uint64_t below = 0;
  for (size_t i = 0; i < bounds_us.size(); ++i) {
    below += scans_[i].load();
    fmt::format_to(add, "calla_privacy_scan_seconds_bucket{{le=\"{:g}\"}} {}\n", static_cast<double>(bounds_us[i]) / 1e6, below);
  }
  const uint64_t count = scan_count_.load();
  fmt::format_to(add, "calla_privacy_scan_seconds_bucket{{le=\"+Inf\"}} {}\n", count);
  fmt::format_to(add, "calla_privacy_scan_seconds_sum {:.6f}\ncalla_privacy_scan_seconds_count {}\n", static_cast<double>(scan_us_.load()) / 1e6, count);
  fmt::format_to(add, "# TYPE calla_privacy_restored_total counter\ncalla_privacy_restored_total {}\n", restored_.load());
  fmt::format_to(add, "# TYPE calla_privacy_unresolved_total counter\ncalla_privacy_unresolved_total {}\n", unresolved_.load());
  return out;
}
