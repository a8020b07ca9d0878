// pull, list, rm: the models on this machine.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include "app/commands.h"
#include "app/console.h"
#include "app/gated.h"
#include "store/store.h"

namespace {

StoreOptions store_options(const Options& options) {
  StoreOptions store = store_options_from_environment();
  store.offline = store.offline || options.offline;
  return store;
}

std::string progress_text(const Progress& p) {
  const double done = static_cast<double>(p.done_bytes), total = static_cast<double>(p.total_bytes);
  std::string text = p.file + ": " + human_bytes(done);
  if (p.total_bytes > 0) text += fmt::format(" of {} ({:.0f} %)", human_bytes(total), 100 * done / total);
  if (p.bytes_per_second > 0) text += fmt::format(", {}/s", human_bytes(p.bytes_per_second));
  if (p.bytes_per_second > 0 && p.total_bytes > p.done_bytes) text += ", " + human_seconds((total - done) / p.bytes_per_second) + " left";
  return text;
}

Json entry(const LocalModel& m) {
  return {{"name", m.name}, {"path", m.path}, {"container", m.container}, {"quantisation", m.quantisation}, {"bytes", m.bytes}, {"modified", m.modified_unix_s}};
}

}  // namespace

int pull_command(const Options& options) {
  ignore_broken_pipes();
  std::stop_source stop;
  const Interrupts interrupts([&](int) { stop.request_stop(); });
  ProgressLine line;
  const auto pulled = pull_model(options.arguments[0], store_options(options), [&](const Progress& p) { line.show(progress_text(p)); }, stop.get_token());
  line.clear();
  if (!pulled) return fail(pulled.error());
  if (options.json) {
    print_json({{"path", pulled->path}, {"file", pulled->chosen_file}, {"reason", pulled->reason}});
  } else {
    if (!pulled->chosen_file.empty()) fmt::print(stderr, "{}{}{}\n", pulled->chosen_file, pulled->reason.empty() ? "" : ": ", pulled->reason);
    fmt::print("{}\n", pulled->path);
  }
  return 0;
}

int list_command(const Options& options) {
  const auto models = list_models(store_options(options));
  if (!models) return fail(models.error());
  std::vector<std::string> elsewhere;  // behind a privacy gate
  if (options.gated) {
    const auto config = read_gate_config(options.config_file);
    if (!config) return usage_error(config.error());
    elsewhere = gated_names(config->upstreams);
  }
  if (options.json) {
    Json all = Json::array();
    for (const LocalModel& m : *models) all.push_back(entry(m));
    for (const std::string& name : elsewhere) all.push_back({{"name", name}});
    print_json({{"models", all}});
    return 0;
  }
  size_t width = 4;
  for (const LocalModel& m : *models) width = std::max(width, m.name.size());
  if (!models->empty()) fmt::print("{:{}}  {:>9}  {:12} {:11} {}\n", "name", width, "size", "quantisation", "container", "modified");
  for (const LocalModel& m : *models)
    fmt::print("{:{}}  {:>9}  {:12} {:11} {:%Y-%m-%d %H:%M}\n", m.name, width, human_bytes(static_cast<double>(m.bytes)), m.quantisation, m.container, fmt::localtime(static_cast<time_t>(m.modified_unix_s)));
  for (const std::string& name : elsewhere) fmt::print("{}\n", name);
  if (models->empty() && elsewhere.empty()) fmt::print(stderr, "no models here yet; 'calla pull starter' fetches a small one\n");
  return 0;
}

int remove_command(const Options& options) {
  size_t freed = 0;
  for (const std::string& name : options.arguments) {
    const auto bytes = remove_model(name, store_options(options));
    if (!bytes) return fail(bytes.error());
    freed += *bytes;
    if (!options.json) fmt::print("{}: {} freed\n", name, human_bytes(static_cast<double>(*bytes)));
  }
  if (options.json) print_json({{"removed", options.arguments}, {"freed_bytes", freed}});
  return 0;
}
