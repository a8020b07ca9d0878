// policy: check, explain, test and hash: what a configuration means before it is served.
#include <fmt/format.h>
#include <cstdlib>
#include "app/commands.h"
#include "app/console.h"
#include "app/dry_run.h"
#include "app/policy_cases.h"
#include "app/policy_explain.h"
#include "app/span_model.h"
#include "core/nearest.h"
#include "privacy/scan.h"

namespace {

// Errors in a configuration stand alone on their line, as compilers write them.
int refuse(const Error& error) {
  if (error.code == Code::io || error.code == Code::not_found) return usage_error(error);  // there is no line to name
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 2;
}

Status check_scanner(const Policy& policy) {
  ScanOptions options;
  options.tiers = policy.tiers, options.limits = policy.limits;
  for (const PolicyTerm& term : policy.terms) options.terms.push_back(term.term);
  TRY(const auto scanner, Scanner::make(std::move(options)));
  static_cast<void>(scanner);
  return ok_status();
}

int check(const Options& options, const std::string& path) {
  const auto config = read_gate_config(path);
  if (!config) return refuse(config.error());
  Options serving;  // [server] and [local] are checked as well
  if (const Status others = read_configuration(path, {}, serving); !others) return refuse(others.error());
  for (const std::string& text : config->notes) std::fprintf(stderr, "%s\n", text.c_str());
  if (const auto model = open_span_model(config->model); !model) return refuse(model.error());
  if (const Status terms = check_scanner(config->policy); !terms) return refuse({Code::invalid_request, path + ": " + terms.error().message});
  const Policy& policy = config->policy;
  if (options.json) {
    print_json({{"ok", true}, {"policy", policy.label()}, {"sha256", policy.sha256}, {"upstreams", config->upstreams.size()}, {"rules", policy.rules.size()}, {"terms", policy.terms.size()}, {"notes", config->notes}});
  } else {
    const auto counted = [](size_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
    fmt::print("{}: policy {}, {}, {}, {}\n", path, policy.label(), counted(config->upstreams.size(), "upstream"), counted(policy.rules.size(), "rule"), counted(policy.terms.size(), "term"));
  }
  return 0;
}

int test(const Options& options, const std::string& path, std::span<const std::string> files) {
  auto config = dry_configuration(path);
  if (!config) return refuse(config.error());
  const auto gate = dry_gate(std::move(*config));
  if (!gate) return usage_error(gate.error());
  int cases = 0, failures = 0;
  for (const std::string& file : files) {
    const auto all = read_policy_cases(file);
    if (!all) return refuse(all.error());
    for (const PolicyCase& one : *all) {
      ++cases;
      const std::string wrong = run_policy_case(**gate, one);
      if (wrong.empty()) continue;
      ++failures;
      if (!options.json) fmt::print("{}: {}: {}\n", one.where, printable(one.name), wrong);
      else print_json({{"where", one.where}, {"name", one.name}, {"failure", wrong}});
    }
  }
  if (options.json) print_json({{"cases", cases}, {"failures", failures}});
  else fmt::print("{} cases, {} failed\n", cases, failures);
  return failures == 0 ? 0 : 1;
}

Result<int> hash(const Options& options) {
  const std::string& variable = options.privacy.key_env;
  const char* key = variable.empty() ? nullptr : std::getenv(variable.c_str());
  if (key == nullptr || *key == 0) return Error{Code::invalid_request, "cannot hash terms: --key-env VARIABLE expected, the name of a variable that holds the key"};
  TRY(const std::string text, read_standard_input("the terms, one a line"));
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view term = std::string_view(text).substr(at, end - at);
    if (term.ends_with('\r')) term.remove_suffix(1);
    if (!term.empty()) fmt::print("{}\n", keyed_term(key, term));
    at = end + 1;
  }
  return 0;
}

Result<int> run(const Options& options) {
  const std::string& what = options.arguments[0];
  const auto rest = std::span(options.arguments).subspan(1);
  if (what == "hash") return hash(options);
  const std::string near = nearest(what, std::vector<std::string>{"check", "explain", "test", "hash"});
  if (what != "check" && what != "explain" && what != "test")
    return Error{Code::invalid_request, "cannot read the command line: policy " + what + ": check, explain, test or hash expected" + (near.empty() ? "" : ", did you mean " + near + "?")};
  const size_t least = what == "test" ? 2 : 1;
  if (rest.size() < least || (what != "test" && rest.size() > 1)) return Error{Code::invalid_request, "cannot read the command line: 'calla policy " + what + (what == "test" ? " CONFIG FILE...'" : " CONFIG'") + " expected"};
  if (what == "check") return check(options, rest[0]);
  return what == "explain" ? explain_request(options, rest[0]) : Result<int>(test(options, rest[0], rest.subspan(1)));
}

}  // namespace

int policy_command(const Options& options) {
  const auto status = run(options);
  return status ? *status : usage_error(status.error());
}
