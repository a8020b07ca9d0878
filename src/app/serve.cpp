// serve: the shelf behind HTTP until a signal asks it to end.
#include <fmt/format.h>
#include <unistd.h>
#include <atomic>
#include "app/commands.h"
#include "app/console.h"
#include "app/gated.h"
#include "app/library.h"
#include "app/server_options.h"
#include "core/json_writer.h"

namespace {

// Loaded before anybody asks: the model that was named first, and whatever is pinned. Without a needed one there is no server; of several the first only comes early.
struct FirstModel {
  std::string name;
  bool needed = true;
};
std::vector<FirstModel> first_models(std::span<const ShelfModel> models, const Options& options) {
  std::vector<FirstModel> first;
  const bool named = !options.model.empty() || !options.locals.empty();
  for (size_t i = 0; i < models.size(); i++)
    if (models[i].copy_of.empty() && (models[i].pinned || (i == 0 && named))) first.push_back({models[i].info.name, models[i].pinned || models.size() == 1});
  return first;
}

// As a client on this machine says it.
std::string base_url(bool tls, const std::string& host, int port) {
  if (host.starts_with("unix:")) return "http://localhost";
  const std::string reachable = host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "[::1]" : host.find(':') != std::string::npos && !host.starts_with('[') ? "[" + host + "]" : host;
  return fmt::format("{}://{}:{}", tls ? "https" : "http", reachable, port);
}

void announce(const Options& options, const ServerOptions& server, const std::string& model, const std::string& host, int port) {
  const bool local = host.starts_with("unix:");
  const std::string base = base_url(!server.tls_cert_file.empty(), host, port);
  if (options.json) print_json({{"host", host}, {"port", port}, {"model", model}});
  else fmt::print("listening on {}\n", local ? host : base);
  std::fflush(stdout);
  const Json body = {{"model", model}, {"messages", Json::array({{{"role", "user"}, {"content", "Hello"}}})}};
  fmt::print(stderr, "calla: try it:\n  curl {}{}/v1/chat/completions -H 'Content-Type: application/json'{} -d '{}'\n", local ? "--unix-socket " + host.substr(5) + " " : "", base,
             server.api_keys.empty() ? "" : " -H 'Authorization: Bearer YOUR-KEY'", body.dump());
}

// Loads one model after another while the server already listens. Failing to load a needed one ends the server.
class Starter {
 public:
  Starter(Shelf& shelf, std::vector<FirstModel> models, std::stop_source stop) : stop_(std::move(stop)), thread_([this, &shelf, models = std::move(models)] { load(shelf, models); }) {}
  bool done() const { return done_; }
  const Error* error() const { return failed_ ? &error_ : nullptr; }

 private:
  void load(Shelf& shelf, const std::vector<FirstModel>& models) {
    for (const FirstModel& model : models) {
      Status loaded = shelf.load(model.name, std::nullopt);
      if (loaded) continue;
      if (!model.needed) {
        note(loaded.error().message);
        continue;
      }
      error_ = std::move(loaded.error());
      failed_ = true;
      stop_.request_stop();
      return;
    }
    done_ = true;
  }
  std::stop_source stop_;
  std::atomic<bool> done_ = false, failed_ = false;
  Error error_;
  std::jthread thread_;
};

}  // namespace

int serve_command(const Options& options) {
  ignore_broken_pipes();
  for (const std::string& text : options.notes) note(text);
  auto server = server_options(options);
  if (!server) return fail(server.error());
  if (const Status here = check_named(options); !here) return fail(here.error());

  std::stop_source stop;
  std::atomic<const Starter*> starting = nullptr;
  std::atomic<const Shelf*> serving = nullptr;
  const Interrupts interrupts([&](int signal) {
    const Starter* starter = starting;
    const Shelf* shelf = serving;
    const bool idle = starter == nullptr || (!options.gated && !starter->done() && !shelf->answering());
    if (idle || !stop.request_stop()) _exit(128 + signal);  // nobody waits for an answer, or asked for the second time
    fmt::print(stderr, "calla: finishing what is running; once more ends at once\n");
  });
  auto library = make_library(options);
  const std::vector<ShelfModel> models = library->list();
  for (const ShelfModel& model : models)
    for (const std::string& name : model.other_names) server->aliases.emplace_back(name, model.info.name);
  ShelfOptions shelf_options;
  if (options.keep_alive) shelf_options.keep_alive = *options.keep_alive;
  shelf_options.max_loaded = options.max_loaded;
  Shelf shelf(std::move(library), shelf_options);
  std::unique_ptr<Gate> gate;
  if (options.gated) {
    std::vector<UpstreamOptions> upstreams;
    auto made = open_gate(options.config_file, shelf, upstreams);
    if (!made) return usage_error(made.error());
    gate = std::move(*made);
    server->gated = true;
  }
  const Starter starter(shelf, first_models(models, options), stop);
  serving = &shelf;
  starting = &starter;
  server->ready = [&starter] { return starter.done(); };
  server->listening = [&](const std::string& host, int port) { announce(options, *server, gate ? "auto" : models.empty() ? "MODEL" : models.front().info.name, host, port); };
  const Status served = serve(gate ? static_cast<Completer&>(*gate) : shelf, *server, stop.get_token());
  starting = nullptr;
  if (const Error* error = starter.error()) return fail(*error);
  if (served) return 0;
  const int status = fail(served.error());
  if (!starter.done()) _exit(status);  // no need to wait for a model that nobody can reach
  return status;
}
