// scan_text: findings as JSON and as lines with carets.
#include "app/scan_text.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "app/console.h"
#include "app/line_editor.h"

namespace {

constexpr float least_score = 0.3f;
constexpr size_t tab = 8;

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return !continues(c); }));
}

// The character at `at` and its length; a byte that begins none is a character of its own.
std::pair<uint32_t, size_t> character_at(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  uint32_t value = length == 1 ? lead : lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (at + i >= text.size() || !continues(text[at + i])) return {0xfffd, 1};
    value = value << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3f);
  }
  return {value, length};
}

// A line as it is shown, with the span in it marked below.
struct Shown { std::string text, marks; size_t width = 0, mark_begin = 0, mark_end = 0; };

Shown shown(std::string_view line, size_t begin, size_t end) {
  Shown out;
  for (size_t at = 0; at < line.size();) {
    const auto [value, length] = character_at(line, at);
    const bool tabbed = value == '\t';
    const std::string text = tabbed ? std::string(tab - out.width % tab, ' ') : value == 0xfffd && length == 1 ? std::string("\xef\xbf\xbd") : printable(line.substr(at, length));
    const size_t width = tabbed ? text.size() : value < 32 ? 1 : static_cast<size_t>(std::max(0, character_width(value)));
    const bool marked = at >= begin && at < end;
    if (at <= begin) out.mark_begin = out.width;
    if (marked) out.mark_end = out.width + width;
    out.text += text;
    out.width += width;
    at += length;
  }
  if (begin >= line.size()) out.mark_begin = out.width;
  out.mark_end = std::max(out.mark_end, out.mark_begin + 1);
  return out;
}

// Cut to `columns` around the span, with dots where something was left out.
Shown cropped(std::string_view line, size_t begin, size_t end, size_t columns) {
  Shown whole = shown(line, begin, end);
  if (columns == 0 || whole.width <= columns) return whole;
  const size_t room = columns > 12 ? columns - 6 : 6;
  size_t from = begin, to = begin, width = 0;
  const auto width_at = [&](size_t at) { return static_cast<size_t>(std::max(1, character_width(character_at(line, at).first))); };
  while (to < line.size() && (to < end || width < room * 3 / 4) && width + width_at(to) <= room) width += width_at(to), to += character_at(line, to).second;
  while (from > 0 && width < room) {
    do --from; while (from > 0 && continues(line[from]));
    width += width_at(from);
  }
  while (to < line.size() && width + width_at(to) <= room) width += width_at(to), to += character_at(line, to).second;
  Shown part = shown(line.substr(from, to - from), begin - from, std::min(end, to) - from);
  if (from > 0) part.text = "..." + part.text, part.mark_begin += 3, part.mark_end += 3;
  if (to < line.size()) part.text += "...";
  return part;
}

}  // namespace

Result<TextScanner> TextScanner::make(const std::optional<Policy>& policy, const std::string& tiers, std::shared_ptr<SpanModel> model) {
  TextScanner scanner;
  ScanOptions options;
  scanner.least_.assign(n_privacy_classes, least_score);
  if (policy) {
    options.tiers = policy->tiers, options.limits = policy->limits;
    for (const PolicyTerm& term : policy->terms) options.terms.push_back(term.term);
    for (size_t i = 0; i < n_privacy_classes; ++i) scanner.least_[i] = policy->classes[i].min_score;
    scanner.least_[static_cast<size_t>(PrivacyClass::unscanned)] = 0;
  }
  if (!tiers.empty()) options.tiers = tiers;
  TRY(scanner.scanner_, Scanner::make(std::move(options), std::move(model)));
  return scanner;
}

ScanReport TextScanner::scan(std::string_view text) const {
  ScanReport report = scanner_->scan(text);
  const auto counts = [&](const Finding& finding) { return !(finding.score < least_[static_cast<size_t>(finding.cls)]); };
  std::erase_if(report.findings, [&](const Finding& finding) { return !counts(finding); });
  const bool somebody = std::ranges::any_of(report.findings, [](const Finding& finding) { return finding.cls == PrivacyClass::person || finding.cls == PrivacyClass::dob || finding.cls == PrivacyClass::gov_id; });
  if (somebody) std::ranges::copy_if(report.statements, std::back_inserter(report.findings), counts);
  std::ranges::sort(report.findings, {}, [](const Finding& finding) { return std::pair(finding.begin, finding.end); });
  return report;
}

Json report_json(const Json& id, std::string_view text, const ScanReport& report) {
  Json findings = Json::array();
  size_t at = 0, count = 0;  // characters in front of byte `at`
  const auto offset = [&](size_t byte) {
    if (byte < at) at = 0, count = 0;
    count += characters(text.substr(at, byte - at));
    at = byte;
    return count;
  };
  for (const Finding& finding : report.findings) {
    const size_t begin = offset(finding.begin), end = offset(finding.end);
    findings.push_back({{"class", name_of(finding.cls)}, {"group", group_of(finding.cls)}, {"kind", finding.kind}, {"start", begin}, {"end", end},
                        {"score", std::round(static_cast<double>(finding.score) * 100) / 100}, {"detector", finding.detector}, {"view", finding.view}});
  }
  return {{"id", id}, {"findings", std::move(findings)}, {"us", report.us}};
}

std::string report_text(std::string_view name, std::string_view text, const ScanReport& report, int columns, bool color) {
  const char *bold = color ? "\033[1m" : "", *red = color ? "\033[31;1m" : "", *plain = color ? "\033[0m" : "";
  std::string out;
  size_t line_begin = 0, number = 1;
  for (const Finding& finding : report.findings) {
    if (finding.begin < line_begin) line_begin = 0, number = 1;
    for (size_t newline; (newline = text.find('\n', line_begin)) != std::string_view::npos && newline < finding.begin; ++number) line_begin = newline + 1;
    const std::string_view line = text.substr(line_begin, text.find('\n', line_begin) - line_begin);
    const size_t begin = finding.begin - line_begin, end = std::min(finding.end - line_begin, line.size());
    out += fmt::format("{}{}:{}:{}: {}{}/{} {:.2f}{}{}\n", bold, name, number, characters(line.substr(0, begin)) + 1, plain, name_of(finding.cls), finding.kind.empty() ? "-" : finding.kind, finding.score,
                       finding.view == "plain" ? "" : ", written as ", finding.view == "plain" ? "" : finding.view);
    const Shown part = cropped(line, begin, end, columns > 4 ? static_cast<size_t>(columns) - 4 : 0);
    out += "    " + part.text + "\n    " + std::string(part.mark_begin, ' ') + red + std::string(part.mark_end - part.mark_begin, '^') + plain + (finding.end - line_begin > line.size() ? " and on" : "") + "\n";
  }
  return out;
}

bool looks_binary(std::string_view text) { return text.substr(0, 8192).find('\0') != std::string_view::npos; }
