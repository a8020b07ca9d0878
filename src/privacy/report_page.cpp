// report_page: the look of the report: one style sheet, system fonts, nothing fetched from anywhere.
#include "privacy/report_page.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace {

constexpr std::string_view style = R"(
:root{color-scheme:light dark;--paper:#fbfaf8;--card:#fff;--ink:#1d2125;--soft:#5f6872;--line:#e3e1dc;--local:#2f7d5b;--masked:#3b6fb6;--cloud:#b7791f;--refused:#b23a48;--ask:#7a5ea8;--other:#8a8f96}
@media(prefers-color-scheme:dark){:root{--paper:#15181b;--card:#1d2125;--ink:#e8e6e1;--soft:#a2abb4;--line:#33393f;--local:#58b98d;--masked:#7aa7e6;--cloud:#e0a94a;--refused:#e57884;--ask:#b196df;--other:#8f969d}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:68rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .25rem;letter-spacing:-.01em}
h2{font-size:1.1rem;margin:0 0 .9rem}
p{margin:0 0 .5rem}.soft{color:var(--soft)}
section{background:var(--card);border:1px solid var(--line);border-radius:.75rem;padding:1.25rem 1.4rem;margin-top:1.1rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(10.5rem,1fr));gap:1.1rem;margin-top:1.4rem}
.tile{background:var(--card);border:1px solid var(--line);border-radius:.75rem;padding:1rem 1.2rem}
.tile b{display:block;font-size:1.5rem;line-height:1.2;white-space:nowrap;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:.9rem}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(27rem,100%),1fr));gap:0 1.1rem}
table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.4rem .6rem .4rem 0;border-top:1px solid var(--line);vertical-align:middle;overflow-wrap:anywhere}
thead th{border-top:0;color:var(--soft);font-weight:500;font-size:.875rem;overflow-wrap:normal}
td.n,th.n{text-align:right;width:5.5rem}td:nth-child(2):not(.n){width:38%}
th[scope=row]{font-weight:500}th[scope=row] .soft{display:block;font-weight:400;font-size:.85rem}
.bar{display:flex;height:.7rem;min-width:7rem;border-radius:.35rem;overflow:hidden;background:var(--line)}
.bar i{display:block;height:100%}
.key{display:flex;flex-wrap:wrap;gap:.35rem 1.2rem;margin:0 0 .9rem;padding:0;list-style:none;color:var(--soft);font-size:.9rem}
.key i{display:inline-block;width:.75rem;height:.75rem;border-radius:.2rem;margin-right:.45rem;vertical-align:-.05rem}
.local{background:var(--local);fill:var(--local)}.masked{background:var(--masked);fill:var(--masked)}.cloud{background:var(--cloud);fill:var(--cloud)}
.refused{background:var(--refused);fill:var(--refused)}.ask{background:var(--ask);fill:var(--ask)}.other{background:var(--other);fill:var(--other)}
svg{display:block;width:100%;height:auto}svg text{fill:var(--soft);font-size:11px}svg line{stroke:var(--line)}
details{margin-top:.8rem}summary{cursor:pointer;color:var(--soft);font-size:.9rem}
code{font:0.9em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
@media(max-width:32rem){section{padding:1rem}.bar{min-width:3rem}th[scope=row]{min-width:5rem}td.n,th.n{width:auto;padding-right:.4rem}}
@media print{body{background:#fff}section,.tile{break-inside:avoid}}
)";

// A round and even number at or above `value`.
int64_t round_above(int64_t value) {
  int64_t step = 1;
  while (true) {
    for (const int64_t factor : {2, 4, 6, 8, 10, 12})
      if (step * factor >= value) return step * factor;
    if (step > INT64_MAX / 100) return value;
    step *= 10;
  }
}

std::string data_table(const std::vector<TimeColumn>& columns, const std::vector<std::pair<std::string, std::string>>& series) {
  std::string out = "<details><summary>The same as a table</summary><table><thead><tr><th scope=col>Time</th>";
  for (const auto& [name, label] : series) out += fmt::format("<th scope=col class=n>{}</th>", html(label));
  out += "</tr></thead><tbody>";
  for (const TimeColumn& column : columns) {
    out += fmt::format("<tr><th scope=row>{}</th>", html(column.label));
    for (const auto& [name, label] : series) {
      const auto found = column.values.find(name);
      out += fmt::format("<td class=n>{}</td>", grouped(found == column.values.end() ? 0 : found->second));
    }
    out += "</tr>";
  }
  return out + "</tbody></table></details>";
}

}  // namespace

std::string html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string size_text(int64_t bytes) {
  double value = static_cast<double>(bytes);
  const char* unit = "bytes";
  for (const char* larger : {"kB", "MB", "GB", "TB"}) {
    if (value < 1000) break;
    value /= 1000, unit = larger;
  }
  return unit == std::string_view("bytes") ? fmt::format("{} bytes", bytes) : fmt::format("{:.{}f} {}", value, value < 100 ? 1 : 0, unit);
}

std::string bar(const std::vector<BarPart>& parts, int64_t whole) {
  std::string label, out;
  for (const BarPart& part : parts) {
    if (part.value == 0) continue;
    label += fmt::format("{}{} {}", label.empty() ? "" : ", ", part.label, grouped(part.value));
    out += fmt::format("<i class={} style=\"width:{:.2f}%\"></i>", part.series, 100.0 * static_cast<double>(part.value) / static_cast<double>(std::max<int64_t>(whole, 1)));
  }
  return fmt::format("<div class=bar role=img aria-label=\"{}\">{}</div>", html(label), out);
}

std::string time_chart(const std::vector<TimeColumn>& columns, const std::vector<std::pair<std::string, std::string>>& series) {
  constexpr double width = 900, height = 240, left = 48, bottom = 26, top = 10;
  int64_t highest = 1;
  for (const TimeColumn& column : columns) {
    int64_t sum = 0;
    for (const auto& [name, n] : column.values) sum += n;
    highest = std::max(highest, sum);
  }
  const int64_t scale = round_above(highest);
  const double plot = height - top - bottom, step = (width - left) / static_cast<double>(std::max<size_t>(columns.size(), 1)), thick = std::min(step * 0.72, 48.0);
  std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=img aria-label=\"Requests over time, by route\">", width, height);
  for (const int64_t part : {int64_t{0}, scale / 2, scale}) {
    const double y = top + plot - plot * static_cast<double>(part) / static_cast<double>(scale);
    out += fmt::format("<line x1={} y1={:.1f} x2={} y2={:.1f} /><text x={} y={:.1f} text-anchor=end>{}</text>", left, y, width, y, left - 8, y + 4, grouped(part));
  }
  const size_t every = std::max<size_t>(1, (columns.size() + 9) / 10);
  for (size_t i = 0; i < columns.size(); ++i) {
    const double x = left + step * static_cast<double>(i) + (step - thick) / 2;
    double y = top + plot;
    for (const auto& [name, label] : series) {
      const auto found = columns[i].values.find(name);
      if (found == columns[i].values.end() || found->second == 0) continue;
      const double tall = plot * static_cast<double>(found->second) / static_cast<double>(scale);
      y -= tall;
      out += fmt::format("<rect class={} x={:.1f} y={:.1f} width={:.1f} height={:.1f}><title>{}: {} {}</title></rect>", name, x, y, thick, tall, html(columns[i].label), html(label), grouped(found->second));
    }
    if (i % every == 0) out += fmt::format("<text x={:.1f} y={} text-anchor=middle>{}</text>", x + thick / 2, height - 8, html(columns[i].label));
  }
  return out + "</svg>" + data_table(columns, series);
}

std::string page(std::string_view title, std::string_view body) {
  return fmt::format("<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
                     "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n{}</main>\n</body>\n</html>\n",
                     html(title), style, body);
}
