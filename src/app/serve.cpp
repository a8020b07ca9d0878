// serve: the engine behind HTTP until a signal asks it to end.
#include <fmt/format.h>
#include <unistd.h>
#include <atomic>
#include "app/commands.h"
#include "app/console.h"
#include "app/open.h"
#include "wire/wire.h"

namespace {

void announce(const Options& options, const OpenedModel& model, const std::string& host, int port) {
  const std::string reachable = host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "[::1]" : host.find(':') != std::string::npos && !host.starts_with('[') ? "[" + host + "]" : host;
  const auto models = model.completer->models();
  const Json body = {{"model", models.empty() ? model.file.name : models[0].name}, {"messages", Json::array({{{"role", "user"}, {"content", "Hello"}}})}};
  if (options.json) {
    print_json({{"host", host}, {"port", port}, {"model", body["model"]}});
    return;
  }
  fmt::print(stderr, "calla: {} answers on http://{}:{}/v1, context {} tokens\n", body["model"].get<std::string>(), reachable, port, model.engine->context_tokens());
  fmt::print(stderr, "  curl http://{}:{}/v1/chat/completions -H 'Content-Type: application/json'{} -d '{}'\n", reachable, port,
             options.api_keys.empty() ? "" : " -H 'Authorization: Bearer YOUR-KEY'", body.dump());
}

}  // namespace

int serve_command(const Options& options) {
  ignore_broken_pipes();
  std::stop_source stop;
  std::atomic<bool> listening = false;
  const Interrupts interrupts([&](int signal) {
    if (!listening || !stop.request_stop()) _exit(128 + signal);  // still loading, or asked for the second time
    fmt::print(stderr, "calla: finishing what is running; once more ends at once\n");
  });
  const auto model = open_chat_model(options, OpenTuning{engine_options(options), false});
  if (!model) return fail(model.error());
  ServerOptions server;
  server.host = options.host;
  server.port = options.port;
  server.max_connections = options.max_connections;
  server.api_keys = options.api_keys;
  server.cors_origins = options.cors_origins;
  server.aliases = options.aliases;
  server.listening = [&](const std::string& host, int port) {
    listening = true;
    announce(options, *model, host, port);
  };
  const auto served = serve(*model->completer, server, stop.get_token());
  return served ? 0 : fail(served.error());
}
