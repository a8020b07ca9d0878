// audit: verify, stats, export and report: what an administrator asks of the log.
#include <fmt/format.h>
#include <cstring>
#include "app/commands.h"
#include "app/console.h"
#include "core/nearest.h"
#include "privacy/audit.h"

namespace {

bool as_json(const Options& options) { return options.json || !is_terminal(1); }  // what another program reads is JSON

Result<int> verify(const Options& options, const std::string& path) {
  TRY(const AuditCheck check, verify_audit(path, options.privacy.pub, options.privacy.head));
  for (const std::string& text : check.notes) note(text);
  if (as_json(options)) {
    print_json(check.ok ? Json{{"ok", true}, {"lines", check.lines}, {"seq", check.seq}, {"head", check.head}, {"signatures", check.signatures}}
                        : Json{{"ok", false}, {"bad_seq", check.bad_seq}, {"reason", check.reason}});
  } else if (check.ok) {
    fmt::print("whole: {} lines, the last is {}{}\n", check.lines, check.head, check.signatures ? ", signatures checked" : "");
  } else {
    fmt::print("broken at line {}: {}\n", check.bad_seq, check.reason);
  }
  return check.ok ? 0 : 1;
}

void print_counts(const char* title, const Json& counts) {
  if (counts.empty()) return;
  fmt::print("{}\n", title);
  for (const auto& [name, n] : counts.items()) fmt::print("  {:24} {:>10}\n", printable(name), n.get<int64_t>());
}

Result<int> stats(const Options& options, const std::string& path) {
  TRY(const Json stats, audit_stats(path, options.privacy.since, options.privacy.until));
  if (as_json(options)) {
    print_json(stats);
    return 0;
  }
  fmt::print("{} requests, {} in, {} sent to upstreams\n", stats["requests"].get<int64_t>(), human_bytes(stats["bytes_in"].get<double>()), human_bytes(stats["bytes_upstream"].get<double>()));
  print_counts("routes", stats["routes"]);
  print_counts("answered by", stats["models"]);
  if (!stats["classes"].empty()) fmt::print("classes                          kept     masked       sent\n");
  for (const auto& [name, cls] : stats["classes"].items()) fmt::print("  {:24} {:>10} {:>10} {:>10}\n", printable(name), cls["kept"].get<int64_t>(), cls["masked"].get<int64_t>(), cls["sent"].get<int64_t>());
  print_counts("consents", stats["consents"]);
  print_counts("errors", stats["errors"]);
  return 0;
}

// Standard output, or the file that --out names.
Result<int> write_out(const Options& options, const std::function<Status(std::FILE*)>& write) {
  const std::string& path = options.privacy.out;
  std::FILE* out = path.empty() ? stdout : std::fopen(path.c_str(), "wb");
  if (out == nullptr) return Error{Code::io, "cannot write " + path + ": " + std::strerror(errno)};
  const Status written = write(out);
  const bool closed = path.empty() ? std::fflush(out) == 0 : std::fclose(out) == 0;
  TRY_STATUS(written);
  if (!closed) return Error{Code::io, "cannot write " + (path.empty() ? std::string("standard output") : path) + ": " + std::strerror(errno)};
  return 0;
}

Result<int> report(const Options& options, const std::string& path) {
  TRY(const std::string page, audit_report(path, options.privacy.since, options.privacy.until));
  return write_out(options, [&](std::FILE* out) -> Status {
    if (std::fwrite(page.data(), 1, page.size(), out) != page.size()) return Error{Code::io, "cannot write the report"};
    return ok_status();
  });
}

Result<int> run(const Options& options) {
  const std::string &what = options.arguments[0], &path = options.arguments[1];
  if (what == "verify") return verify(options, path);
  if (what == "stats") return stats(options, path);
  if (what == "export" && options.json) return Error{Code::invalid_request, "cannot read the command line: --json: a table is what audit export writes, the log itself is lines of JSON"};
  if (what == "export") return write_out(options, [&](std::FILE* out) { return export_audit_csv(path, out); });
  if (what == "report") return report(options, path);
  const std::string near = nearest(what, std::vector<std::string>{"verify", "stats", "export", "report"});
  return Error{Code::invalid_request, "cannot read the command line: audit " + what + ": verify, stats, export or report expected" + (near.empty() ? "" : ", did you mean " + near + "?")};
}

}  // namespace

int audit_command(const Options& options) {
  const auto status = run(options);
  return status ? *status : usage_error(status.error());
}
