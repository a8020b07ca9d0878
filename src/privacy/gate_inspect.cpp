// gate_inspect: field by field within one budget; values that recur; health beside a person.
#include "privacy/gate_inspect.h"

#include <algorithm>
#include <chrono>

namespace {

using Clock = std::chrono::steady_clock;

Finding unscanned(size_t size, const char* kind) {
  Finding out;
  out.cls = PrivacyClass::unscanned;
  out.kind = kind;
  out.detector = "gate";
  out.end = size;
  out.score = 1;
  return out;
}

class Inspector {
 public:
  Inspector(const Walk& walk, const Scanner& scanner, const Vault* vault, const Policy& policy) : walk_(walk), scanner_(scanner), vault_(vault), policy_(policy) {}

  std::vector<FieldFinding> run() {
    for (size_t i = 0; i < walk_.fields().size(); ++i) inspect_field(i);
    for (const std::string& path : walk_.opaque()) findings_.push_back({unscanned(0, "media"), path, "", 0});
    if (names_someone()) findings_.insert(findings_.end(), statements_.begin(), statements_.end());
    return std::move(findings_);
  }

 private:
  void inspect_field(size_t place) {
    const TextField& field = walk_.fields()[place];
    bytes_ += field.text->size();
    if (const char* limit = exceeded()) return add(unscanned(field.text->size(), limit), place, findings_);
    ScanReport report = scan_field(scanner_, field);
    for (Finding& finding : report.findings) add(std::move(finding), place, findings_);
    for (Finding& finding : report.statements) add(std::move(finding), place, statements_);
    if (vault_) add_recurrences(place);
  }

  // What earlier requests of the conversation held, where the scanner did not find the same again.
  void add_recurrences(size_t place) {
    const size_t end = findings_.size();
    for (Finding& again : vault_->recurrences(*walk_.fields()[place].text)) {
      const bool found = std::any_of(findings_.begin(), findings_.begin() + static_cast<ptrdiff_t>(end), [&](const FieldFinding& one) {
        return one.place == place && one.finding.cls == again.cls && one.finding.begin <= again.begin && again.end <= one.finding.end;
      });
      again.detector = recurrence_detector;
      if (!found) add(std::move(again), place, findings_);
    }
  }

  void add(Finding finding, size_t place, std::vector<FieldFinding>& to) const {
    const TextField& field = walk_.fields()[place];
    if (!field.text->empty()) to.push_back({std::move(finding), field.path, field.role, place});
  }

  // Of the whole request: many fields below a limit are still too much.
  const char* exceeded() const {
    if (bytes_ > policy_.limits.max_bytes) return "max_bytes";
    return Clock::now() - started_ > std::chrono::milliseconds(policy_.limits.scan_ms) ? "scan_ms" : nullptr;
  }

  // A statement about health is somebody's when the request says whose.
  bool names_someone() const {
    return std::any_of(findings_.begin(), findings_.end(), [&](const FieldFinding& found) {
      const PrivacyClass cls = found.finding.cls;
      const bool somebody = cls == PrivacyClass::person || cls == PrivacyClass::dob || cls == PrivacyClass::gov_id;
      return somebody && found.finding.score >= policy_.classes[static_cast<size_t>(cls)].min_score;
    });
  }

  const Walk& walk_;
  const Scanner& scanner_;
  const Vault* vault_;
  const Policy& policy_;
  const Clock::time_point started_ = Clock::now();
  size_t bytes_ = 0;
  std::vector<FieldFinding> findings_, statements_;
};

}  // namespace

Result<Inspection> inspect(const ChatRequest& request, const Scanner& scanner, const Vault* vault, const Policy& policy) {
  const auto started = Clock::now();
  TRY(Walk walk, Walk::of(request));
  std::vector<FieldFinding> findings = Inspector(walk, scanner, vault, policy).run();
  const int64_t us = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started).count();
  return Inspection{std::move(walk), std::move(findings), us};
}
