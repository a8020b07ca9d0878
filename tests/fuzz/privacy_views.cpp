// fuzz: any text through the folded view and a scanner of all detectors; spans must lie in the text, at borders of characters, in order and apart.
#include <cstddef>
#include <cstdint>
#include "privacy/characters.h"
#include "privacy/scan.h"
#include "privacy/view.h"

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}
bool is_border(std::string_view text, size_t at) { return at == text.size() || !continues(text[at]); }

void check_folded(std::string_view text) {
  const View view = folded(text);
  require(valid_utf8(view.text) && view.text.size() <= 4 * text.size());
  size_t last = 0;
  for (size_t at = 0; at < view.text.size();) {
    const size_t length = code_point_at(view.text, at).length;
    const View::Origin origin = view.origin(at, at + length);
    require(origin.begin < origin.end && origin.end <= text.size() && origin.begin >= last);
    require(is_border(text, origin.begin) && is_border(text, origin.end));
    if (!view.changed(at, at + length)) require(text.substr(origin.begin, origin.end - origin.begin) == std::string_view(view.text).substr(at, length));
    last = origin.begin;
    at += length;
  }
}

void check_findings(const std::vector<Finding>& findings, std::string_view text) {
  size_t last = 0;
  for (const Finding& f : findings) {
    require(f.begin >= last && f.begin < f.end && f.end <= text.size());
    require(f.cls == PrivacyClass::unscanned || (is_border(text, f.begin) && is_border(text, f.end)));
    require(f.score > 0 && f.score <= 1);
    last = f.end;
  }
}

const Scanner& scanner() {
  static const auto made = [] {
    ScanOptions options;
    options.limits.scan_ms = 10'000;
    options.terms.push_back({"nordstar", {"Nordstar", "北極星"}, {}, "", {"PRJ-[0-9]+"}, false});
    options.terms.push_back({"ours", {"example"}, {}, "", {}, true});
    return Scanner::make(std::move(options));
  }();
  require(made.has_value());
  return **made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (valid_utf8(text)) check_folded(text);
  const ScanReport report = scanner().scan(text);
  require(report.findings.empty() || size > 0);
  check_findings(report.findings, text);
  check_findings(report.statements, text);
  return 0;
}
