// report: one HTML page for an administrator: what stayed, what left masked, what left as it was, by class, destination and outcome over time.
#include <fmt/format.h>
#include <algorithm>
#include "privacy/audit.h"
#include "privacy/audit_totals.h"
#include "privacy/report_page.h"

namespace {

// Routes in the order of how far a request went, with the colour of each.
struct Route { std::string_view name, series, label; };
constexpr std::array<Route, 5> routes = {{{"local", "local", "stayed here"}, {"cloud-masked", "masked", "left masked"}, {"cloud", "cloud", "left as it was"}, {"ask", "ask", "asked for consent"}, {"refused", "refused", "refused"}}};

Route route_named(std::string_view name) {
  const auto found = std::ranges::find(routes, name, &Route::name);
  return found == routes.end() ? Route{name, "other", "other"} : *found;
}

std::string series_key(const std::vector<std::pair<std::string, std::string>>& series) {
  std::string out = "<ul class=key>";
  for (const auto& [name, label] : series) out += fmt::format("<li><i class={}></i>{}</li>", name, html(label));
  return out + "</ul>";
}

std::string tile(const std::string& number, std::string_view what) { return fmt::format("<div class=tile><b>{}</b><span>{}</span></div>", number, html(what)); }

std::string tiles(const AuditTotals& totals) {
  ClassTotals all;
  for (const auto& [name, cls] : totals.classes) all.kept += cls.kept, all.masked += cls.masked, all.sent += cls.sent;
  return "<div class=tiles>" + tile(grouped(totals.requests), "requests") + tile(grouped(all.kept), "private values stayed here") + tile(grouped(all.masked), "left as placeholders") +
         tile(grouped(all.sent), "left as they were, as the policy allows") + tile(size_text(totals.bytes_upstream), "sent to upstreams") + "</div>\n";
}

std::string over_time(const AuditTotals& totals) {
  std::vector<TimeColumn> columns;
  std::vector<std::pair<std::string, std::string>> series;
  for (const Route& route : routes)
    if (totals.routes.contains(std::string(route.name))) series.emplace_back(route.series, route.label);
  bool other = false;
  for (const auto& [day, by_route] : totals.days) {
    TimeColumn column{day.size() == 10 ? day.substr(5) : day, {}};
    for (const auto& [name, n] : by_route) column.values[std::string(route_named(name).series)] += n, other = other || route_named(name).series == "other";
    columns.push_back(std::move(column));
  }
  if (other) series.emplace_back("other", "other");
  if (columns.empty()) return "<section><h2>Requests over time</h2><p class=soft>No requests in this period.</p></section>\n";
  return "<section><h2>Requests by day</h2>" + series_key(series) + time_chart(columns, series) + "</section>\n";
}

std::string classes(const AuditTotals& totals) {
  if (totals.classes.empty()) return "<section><h2>Private values</h2><p class=soft>None were found in this period.</p></section>\n";
  int64_t most = 1;
  for (const auto& [name, cls] : totals.classes) most = std::max(most, cls.kept + cls.masked + cls.sent);
  std::string rows;
  for (const auto& [name, cls] : totals.classes)
    rows += fmt::format("<tr><th scope=row>{}</th><td>{}</td><td class=n>{}</td><td class=n>{}</td><td class=n>{}</td></tr>\n", html(name),
                        bar({{"local", "stayed here", cls.kept}, {"masked", "left masked", cls.masked}, {"cloud", "left as it was", cls.sent}}, most), grouped(cls.kept), grouped(cls.masked), grouped(cls.sent));
  return "<section><h2>Private values by class</h2>" + series_key({{"local", "stayed here"}, {"masked", "left as a placeholder"}, {"cloud", "left as it was"}}) +
         "<table><thead><tr><th scope=col>Class</th><th scope=col><span class=soft>Share</span></th><th scope=col class=n>Stayed</th><th scope=col class=n>Masked</th><th scope=col class=n>Sent</th></tr></thead><tbody>\n" + rows + "</tbody></table></section>\n";
}

using Named = std::function<std::string_view(std::string_view)>;

// Counts with a bar each; `series` gives the colour, `label` what a name means.
std::string counts(std::string_view title, std::string_view column, const std::map<std::string, int64_t>& counts, const Named& series, const Named& label) {
  std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) { return std::pair(-a.second, std::string_view(a.first)) < std::pair(-b.second, std::string_view(b.first)); });
  std::string rows;
  for (const auto& [name, n] : sorted) {
    const std::string_view means = label(name);
    rows += fmt::format("<tr><th scope=row>{}{}</th><td>{}</td><td class=n>{}</td></tr>\n", html(name), means.empty() ? "" : fmt::format(" <span class=soft>{}</span>", html(means)),
                        bar({{std::string(series(name)), name, n}}, sorted.front().second), grouped(n));
  }
  if (rows.empty()) rows = "<tr><td class=soft colspan=3>none</td></tr>";
  return fmt::format("<section><h2>{}</h2><table><thead><tr><th scope=col>{}</th><th scope=col><span class=soft>Share</span></th><th scope=col class=n>Requests</th></tr></thead><tbody>\n{}</tbody></table></section>\n", html(title), html(column), rows);
}

std::string footnotes(const AuditTotals& totals, const std::string& proof) {
  std::string policies;
  for (const auto& [policy, n] : totals.policies) policies += fmt::format("{}<code>{}</code> ({} requests)", policies.empty() ? "" : ", ", html(policy), grouped(n));
  return fmt::format("<section><h2>What this rests on</h2><p>{}</p><p>Policy: {}.</p><p class=soft>{} values came back in answers, {} placeholders could not be resolved, {} were kept out of addresses. "
                     "Masking hides identifiers, not what is said about them; content that cannot be read (images, audio) never leaves by itself. Everything here is counted from the log alone.</p></section>\n",
                     proof, policies.empty() ? "none seen" : policies, grouped(totals.restored), grouped(totals.unresolved), grouped(totals.url_blocked));
}

// Whether the log holds, in a sentence.
std::string proof_of(const std::string& path) {
  const auto check = verify_audit(path, "", "");
  if (!check) return "The log could not be verified.";
  if (!check->ok) return fmt::format("<strong>The log is not whole: line {}: {}.</strong>", check->bad_seq, html(check->reason));
  return fmt::format("The log is whole: {} lines, chained by SHA-256{}, up to <code>{}</code>.", grouped(check->lines), check->signatures ? " and signed" : "; no public key was at hand for its signatures", html(check->head));
}

}  // namespace

Result<std::string> audit_report(const std::string& path, const std::string& since, const std::string& until) {
  TRY(const AuditPeriod period, audit_period(since, until));
  TRY(const AuditTotals totals, audit_totals(path, period));
  const auto day = [](const std::string& time) { return html(time.substr(0, 10) + " " + time.substr(std::min<size_t>(11, time.size()), 5)); };
  const std::string when = totals.first_time.empty() ? "no lines in this period" : fmt::format("{} to {} UTC", day(totals.first_time), day(totals.last_time));
  std::string body = "<h1>What stayed and what left</h1>\n<p class=soft>Calla's privacy gate, " + when + "</p>\n" + tiles(totals) + over_time(totals) + classes(totals) + "<div class=pair>\n";
  body += counts("Routes", "Route", totals.routes, [](std::string_view name) { return route_named(name).series; }, [](std::string_view name) { return route_named(name).label; });
  body += counts("Answered by", "Model", totals.destinations, [](std::string_view name) { return name.starts_with("local/") ? "local" : "masked"; }, [](std::string_view) { return ""; });
  body += counts("Not answered", "Outcome", totals.errors, [](std::string_view) { return "refused"; }, [](std::string_view) { return ""; });
  body += counts("Consents", "Decision", totals.consents, [](std::string_view) { return "ask"; }, [](std::string_view) { return ""; });
  body += "</div>\n" + footnotes(totals, proof_of(path));
  return page("Privacy gate: what stayed and what left", body);
}
