// audit_totals: adding up lines of the log; and the same as JSON and as a table.
#include "privacy/audit_totals.h"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include "privacy/audit.h"
#include "privacy/audit_files.h"

namespace {

constexpr std::string_view pattern = "0000-00-00T00:00:00.000Z", earliest = "0000-01-01T00:00:00.000Z";

// The rest of a shortened time is filled in from `earliest`.
Result<std::string> full_time(const std::string& text, std::string_view option) {
  std::string time = text;
  if (time.ends_with('Z') || time.ends_with('z')) time.pop_back();
  const bool whole_part = std::ranges::count(std::array<size_t, 5>{10, 13, 16, 19, 23}, time.size()) != 0;
  if (time.size() > 10 && time[10] == ' ') time[10] = 'T';
  for (size_t i = 0; whole_part && i < time.size(); ++i) {
    const bool fits = pattern[i] == '0' ? time[i] >= '0' && time[i] <= '9' : time[i] == pattern[i];
    if (!fits) time.clear();
  }
  const auto at_most = [&time](size_t at, std::string_view most) { return time.size() <= at || std::string_view(time).substr(at, most.size()) <= most; };
  if (!at_most(5, "12") || !at_most(8, "31") || !at_most(11, "23") || !at_most(14, "59") || !at_most(17, "60")) time.clear();
  if (!whole_part || time.empty()) return Error{Code::invalid_request, fmt::format("cannot read the time of {}: YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS in UTC expected", option)};
  return time + std::string(earliest.substr(time.size()));
}

std::string text_at(JsonView json, std::string_view key) { return std::string(find_string(json, key).value_or("")); }
int64_t number_at(JsonView json, std::string_view key) { return std::max<int64_t>(find_int(json, key).value_or(0), 0); }

void add_request(JsonView line, AuditTotals& totals) {
  ++totals.requests;
  const std::string route = text_at(line, "route"), model = text_at(line, "model"), time = text_at(line, "time");
  ++totals.routes[route.empty() ? "none" : route];
  ++totals.days[time.substr(0, 10)][route.empty() ? "none" : route];
  if (!model.empty()) ++totals.destinations[model];
  for (const auto& [member, sum] : {std::pair("bytes_in", &totals.bytes_in), std::pair("bytes_upstream", &totals.bytes_upstream), std::pair("restored", &totals.restored),
                                    std::pair("unresolved", &totals.unresolved), std::pair("url_blocked", &totals.url_blocked)})
    *sum += number_at(line, member);
  if (const int64_t status = number_at(line, "status"); status >= 400 || find_string(line, "code")) {
    const std::string code = text_at(line, "code");
    ++totals.errors[code.empty() ? std::to_string(status) : code];
  }
  if (const auto fallback = find_string(line, "fallback")) ++totals.errors[std::string(*fallback)];  // the local model answered instead
  each_finding(line, [&](JsonView finding) {
    ClassTotals& cls = totals.classes[text_at(finding, "class")];
    const int64_t count = number_at(finding, "count");
    switch (whereabouts(line, finding)) {
      case Whereabouts::kept: cls.kept += count; break;
      case Whereabouts::masked: cls.masked += count; break;
      case Whereabouts::sent: cls.sent += count; break;
    }
  });
}

void add_line(JsonView line, AuditTotals& totals) {
  const std::string kind = text_at(line, "kind"), policy = text_at(line, "policy");
  ++totals.lines;
  totals.last_time = text_at(line, "time");
  if (totals.first_time.empty()) totals.first_time = totals.last_time;
  if (find_string(line, "sig")) ++totals.signed_lines;
  if (kind == "request") add_request(line, totals);
  if (kind == "request" && !policy.empty()) ++totals.policies[policy];
  if (kind != "consent") return;
  const std::string decision = text_at(line, "decision"), event = text_at(line, "event");
  ++totals.consents[!decision.empty() ? decision : !event.empty() ? event : "other"];
}

template <class Map> Json json_of(const Map& map) {
  Json json = Json::object();
  for (const auto& [name, n] : map) json[name] = n;
  return json;
}

}  // namespace

Result<AuditPeriod> audit_period(const std::string& since, const std::string& until) {
  AuditPeriod period;
  if (!since.empty()) {
    TRY(period.since, full_time(since, "--since"));
  }
  if (!until.empty()) {
    TRY(period.until, full_time(until, "--until"));
  }
  return period;
}

Status each_audit_line(const std::string& path, const AuditPeriod& period, const std::function<void(JsonView json)>& visit) {
  std::vector<std::string> files;
  for (const AuditPart& part : full_parts(path)) files.push_back(part.path);
  std::error_code error;
  if (std::filesystem::exists(path, error) || files.empty()) files.push_back(path);
  simdjson::dom::parser parser;
  for (const std::string& file : files) {
    TRY(LineReader reader, LineReader::open(file));
    for (int64_t number = 1;; ++number) {
      TRY(const auto line, reader.next());
      if (!line || !line->ended) break;  // half a line is one that is being written
      const auto json = parser.parse(line->text.data(), line->text.size(), false);
      if (json.error() != simdjson::SUCCESS || !json.value_unsafe().is_object()) return Error{Code::corrupt_file, fmt::format("cannot read the audit log: {}:{}: no line of an audit log; 'calla audit verify' tells more", file, number)};
      const std::string_view time = find_string(json.value_unsafe(), "time").value_or("");
      if ((!period.since.empty() && time < period.since) || (!period.until.empty() && time >= period.until)) continue;
      visit(json.value_unsafe());
    }
  }
  return ok_status();
}

void each_finding(JsonView request, const std::function<void(JsonView finding)>& visit) {
  const auto findings = find(request, "findings");
  simdjson::dom::array list;
  if (!findings || findings->get_array().get(list) != simdjson::SUCCESS) return;
  for (const JsonView finding : list) visit(finding);
}

Whereabouts whereabouts(JsonView request, JsonView finding) {
  if (number_at(request, "bytes_upstream") == 0) return Whereabouts::kept;
  const std::string_view route = find_string(request, "route").value_or(""), action = find_string(finding, "action").value_or("");
  return route == "cloud" || action == "allow" ? Whereabouts::sent : Whereabouts::masked;
}

Result<AuditTotals> audit_totals(const std::string& path, const AuditPeriod& period) {
  AuditTotals totals;
  TRY_STATUS(each_audit_line(path, period, [&](JsonView line) { add_line(line, totals); }));
  return totals;
}

Result<Json> audit_stats(const std::string& path, const std::string& since, const std::string& until) {
  TRY(const AuditPeriod period, audit_period(since, until));
  TRY(const AuditTotals totals, audit_totals(path, period));
  Json classes = Json::object();
  for (const auto& [name, cls] : totals.classes) classes[name] = {{"kept", cls.kept}, {"masked", cls.masked}, {"sent", cls.sent}};
  return Json{{"requests", totals.requests}, {"routes", json_of(totals.routes)}, {"classes", classes}, {"consents", json_of(totals.consents)}, {"errors", json_of(totals.errors)},
              {"models", json_of(totals.destinations)}, {"policies", json_of(totals.policies)}, {"bytes_in", totals.bytes_in}, {"bytes_upstream", totals.bytes_upstream},
              {"restored", totals.restored}, {"unresolved", totals.unresolved}, {"url_blocked", totals.url_blocked}, {"since", totals.first_time}, {"until", totals.last_time}};
}
