// server: accepts connections, knows all that there are, and ends them when it is to stop.
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <map>
#include <unistd.h>
#include "wire/anthropic.h"
#include "wire/connection.h"
#include "wire/entrance.h"
#include "wire/listen.h"
#include "wire/llama_native.h"
#include "wire/ollama.h"
#include "wire/openai.h"

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t max_refused = 64;                  // connections over the limit that are still being told so
constexpr milliseconds after_accept_failed{10};     // no descriptor left: do not spin
constexpr milliseconds after_cancel{2000};          // for cancelled work to end before its connection is cut

class Server {
 public:
  Server(Completer& completer, const ServerOptions& options, ApiKeys keys, std::shared_ptr<TlsFiles> tls)
      : options_(options), tls_(std::move(tls)), backend_(completer, options), openai_(completer, options), entrance_(completer, options, std::move(keys), routes_, metrics_), timer_(io_),
        context_{options, io_, workers_, {}, {}} {
    context_.answer = [this](Peer& peer, const HttpRequest& request, const ApiError* failure) { return entrance_.answer(peer, request, failure, context_.stopping); };
    context_.closed = [this](Connection& connection) { closed(connection); };
    add_routes(completer);
  }
  asio::io_context& io() { return io_; }
  Status ready() const { return openai_.ready(); }
  void run(Listener listener, const std::stop_token& stop);

 private:
  struct Known {
    std::shared_ptr<Connection> connection;
    bool refused;
  };
  void add_routes(Completer& completer);
  void accept();
  void accepted(ByteStream::Socket socket);
  void closed(Connection& connection);
  void stop();
  void after(milliseconds wait, void (Server::*next)());
  void cancel_all();
  void cut_all();
  void for_each(void (Connection::*what)());

  const ServerOptions& options_;
  const std::shared_ptr<TlsFiles> tls_;
  asio::io_context io_{1};                          // one thread runs it: the one that called serve
  Metrics metrics_;
  const Backend backend_;
  OpenAi openai_;
  Anthropic anthropic_{backend_};
  Ollama ollama_{backend_};
  LlamaNative llama_{backend_};
  Routes routes_;
  Entrance entrance_;
  std::optional<Acceptor> acceptor_;
  asio::steady_timer timer_;
  std::map<Connection*, Known> connections_;
  size_t refused_ = 0;                              // of connections_
  ConnectionContext context_;
  Workers workers_;                                 // last: they end first
};

void Server::add_routes(Completer& completer) {
  const auto health = [this, &completer](Exchange& exchange) {
    if (options_.ready && !options_.ready()) return exchange.respond(503, {{"status", "loading"}}, {{"Retry-After", "1"}});
    const std::vector<ModelStats> models = completer.stats();
    const auto failed = std::ranges::find_if(models, [](const ModelStats& m) { return !m.fault.empty(); });
    if (failed == models.end()) return exchange.respond(200, {{"status", "ok"}});
    const bool all = std::ranges::none_of(models, [](const ModelStats& m) { return m.fault.empty(); });
    exchange.respond(all ? 503 : 200, {{"status", all ? "failed" : "degraded"}, {"reason", failed->fault}});
  };
  for (const char* path : {"/health", "/v1/health", "/ping"}) routes_.push_back({"GET", path, health, to_json, true});
  routes_.push_back({"GET", "/", [](Exchange& exchange) { exchange.respond_text(200, "Calla is running"); }, to_json, true});
  routes_.push_back({"GET", "/metrics", [this, &completer](Exchange& exchange) {
                       exchange.respond_text(200, metrics_.text(completer.stats()) + completer.metrics(), "text/plain; version=0.0.4; charset=utf-8");
                     }});
  openai_.add_routes(routes_);
  anthropic_.add_routes(routes_);
  ollama_.add_routes(routes_);
  llama_.add_routes(routes_);
}

void Server::run(Listener listener, const std::stop_token& stop) {
  acceptor_ = std::move(listener.acceptor);
  auto work = asio::make_work_guard(io_);
  accept();
  if (options_.listening) options_.listening(options_.host, listener.port);
  {
    const std::stop_callback on_stop(stop, [this] { asio::post(io_, [this] { this->stop(); }); });
    while (!context_.stopping || !connections_.empty()) {
      try {
        io_.run_one();
      } catch (const std::exception&) {  // out of memory: what was under way ends, the rest goes on
      }
    }
  }
  if (!listener.unix_path.empty()) unlink(listener.unix_path.c_str());
}

void Server::accept() {
  acceptor_->async_accept([this](const error_code& error, ByteStream::Socket socket) {
    if (context_.stopping) return;
    if (error) return after(after_accept_failed, &Server::accept);
    accepted(std::move(socket));
    accept();
  });
}

void Server::accepted(ByteStream::Socket socket) {
  error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);  // unix sockets have none
  const bool refused = connections_.size() - refused_ >= static_cast<size_t>(std::max(1, options_.max_connections));
  if (refused && refused_ >= max_refused) return;
  const auto connection = std::make_shared<Connection>(make_stream(std::move(socket), tls_), context_);
  connections_.emplace(connection.get(), Known{connection, refused});
  refused_ += refused;
  connection->start(refused);
}

void Server::closed(Connection& connection) {
  const auto found = connections_.find(&connection);
  if (found == connections_.end()) return;
  refused_ -= found->second.refused;
  connections_.erase(found);
}

void Server::after(milliseconds wait, void (Server::*next)()) {
  timer_.expires_after(wait);
  timer_.async_wait([this, next](const error_code& error) {
    if (!error) (this->*next)();
  });
}

void Server::for_each(void (Connection::*what)()) {
  std::vector<std::shared_ptr<Connection>> all;  // they leave the map as they close
  for (const auto& [key, known] : connections_) all.push_back(known.connection);
  for (const auto& connection : all) (connection.get()->*what)();
}

void Server::stop() {
  context_.stopping = true;
  error_code ignored;
  acceptor_->close(ignored);
  for_each(&Connection::stop_idle);
  after(seconds(options_.drain_timeout_s), &Server::cancel_all);
}

void Server::cancel_all() {
  for_each(&Connection::cancel);
  after(after_cancel, &Server::cut_all);
}

void Server::cut_all() { for_each(&Connection::cut); }

}  // namespace

Status serve(Completer& completer, ServerOptions options, std::stop_token stop) {
  TRY(ApiKeys keys, ApiKeys::read(options.api_keys));
  std::shared_ptr<TlsFiles> tls;
  if (!options.tls_cert_file.empty() || !options.tls_key_file.empty()) {
    TRY(tls, read_tls_files(options.tls_cert_file, options.tls_key_file));
  }
  Server server(completer, options, std::move(keys), std::move(tls));
  TRY_STATUS(server.ready());
  TRY(Listener listener, listen_on(server.io(), options));
  server.run(std::move(listener), stop);
  return ok_status();
}
