// gate: a text as it is, and as it would leave this machine; what stays and why. Nothing is sent.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "app/commands.h"
#include "app/console.h"
#include "app/dry_run.h"
#include "app/side_by_side.h"
#include "core/mapped_file.h"

namespace {

constexpr size_t most_bytes = size_t{64} << 20, usual_columns = 120;

size_t terminal_columns() {
  winsize size{};
  return is_terminal(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual_columns;
}

std::string what_happens(const Json& explained) {
  const std::string route = explained.value("route", std::string()), model = explained.value("model", std::string());
  if (route == "local") return "stays on this machine, the local model answers";
  if (route == "refused") return "is refused, nothing answers";
  if (route == "ask") return "would ask you first; with your consent this would go to " + model;
  return route == "cloud" ? "goes as it is to " + model : "goes masked to " + model;
}

std::string told(const Json& explained, std::string_view text, size_t columns, bool color) {
  const auto leaving = text_that_leaves(explained.value("upstream_body", Json()));
  std::string out = side_by_side({"here", text}, {leaving ? "leaves" : "leaves: nothing", leaving ? *leaving : ""}, columns, color);
  out += fmt::format("\nThis request {}.\n", what_happens(explained));
  for (const Json& rule : explained["rules"])
    out += fmt::format("  {:7} {}: {}\n", rule["action"].get<std::string>(), printable(rule["rule"].get<std::string>()), printable(rule["reason"].get<std::string>()));
  return out;
}

Result<int> run(const Options& options) {
  TRY(GateConfig config, dry_configuration(options.privacy.policy));
  config.policy.cloud_by_default = true;  // what would leave if a cloud were asked, whoever is asked by default
  TRY(const auto gate, dry_gate(std::move(config)));
  std::string text;
  if (options.arguments.empty()) {
    TRY(text, read_standard_input("the text", most_bytes));
  } else {
    TRY(text, read_file(options.arguments[0], most_bytes));
  }
  TRY(const Json explained, gate->explain(request_of_text(text, "auto")));
  if (options.json) {
    print_json(explained);
    return 0;
  }
  if (text.ends_with('\n')) text.pop_back();
  const std::string out = told(explained, text, terminal_columns(), is_terminal(STDOUT_FILENO) && options.color);
  return std::fwrite(out.data(), 1, out.size(), stdout) == out.size() && std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace

int gate_command(const Options& options) {
  const auto status = run(options);
  return status ? *status : usage_error(status.error());
}
