// audit: the requests of a log as CSV, one a row, safe to open in a spreadsheet.
#include <fmt/format.h>
#include <map>
#include "privacy/audit.h"
#include "privacy/audit_totals.h"

namespace {

constexpr std::array columns = {"seq", "time", "id", "key", "endpoint", "requested", "model", "route", "action", "status", "code", "policy", "bytes_in", "bytes_upstream", "upstream_sha256", "consent", "restored", "unresolved", "url_blocked"};

// Quoted where needed; what a spreadsheet would take for a formula gets an apostrophe in front.
std::string cell(std::string text) {
  if (!text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos) text.insert(0, "'");
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string value_of(JsonView line, std::string_view key) {
  const auto value = find(line, key);
  if (!value) return "";
  if (const auto text = find_string(line, key)) return std::string(*text);
  return simdjson::minify(*value);
}

// "card=1 person=2", by name.
std::string classes_of(JsonView line, Whereabouts where) {
  std::map<std::string, int64_t> counts;
  each_finding(line, [&](JsonView finding) {
    if (whereabouts(line, finding) == where) counts[value_of(finding, "class")] += find_int(finding, "count").value_or(0);
  });
  std::string out;
  for (const auto& [name, n] : counts) out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, n);
  return out;
}

std::string row_of(JsonView line) {
  std::string row;
  for (const char* column : columns) row += cell(value_of(line, column)) + ",";
  const auto us = find(line, "us");
  for (const char* part : {"scan", "upstream"}) row += (us ? cell(value_of(*us, part)) : "") + ",";
  return row + cell(classes_of(line, Whereabouts::kept)) + "," + cell(classes_of(line, Whereabouts::masked)) + "," + cell(classes_of(line, Whereabouts::sent)) + "\n";
}

}  // namespace

Status export_audit_csv(const std::string& path, std::FILE* out) {
  std::string text;
  for (const char* column : columns) text += std::string(column) + ",";
  text += "scan_us,upstream_us,kept,masked,sent\n";
  bool written = true;
  const auto flush = [&] {
    written = written && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    text.clear();
  };
  TRY_STATUS(each_audit_line(path, {}, [&](JsonView line) {
    if (value_of(line, "kind") != "request") return;
    text += row_of(line);
    if (text.size() > (size_t{1} << 16)) flush();
  }));
  flush();
  if (!written || std::fflush(out) != 0) return Error{Code::io, "cannot write the table"};
  return ok_status();
}
