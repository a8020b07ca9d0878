// server: the port, one thread per connection, and who may call what.
#include <algorithm>
#include <atomic>
#include <list>
#include <poll.h>
#include <thread>
#include "wire/answer.h"
#include "wire/openai.h"
#include "wire/socket.h"
#include "wire/watch.h"
#include "wire/wire.h"

namespace {

constexpr auto linger = std::chrono::milliseconds(2000);  // for a peer to read an answer to what it has not finished sending
constexpr size_t max_refused = 64;                        // connections over the limit that are still being told so

bool same_in_constant_time(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ (b.empty() ? 0 : b[i % b.size()]));
  return difference == 0;
}

bool key_accepted(const HttpRequest& request, const std::vector<std::string>& keys) {
  if (keys.empty()) return true;
  std::string_view given = request.header("authorization");
  const bool bearer = given.size() > 7 && std::equal(given.begin(), given.begin() + 7, "bearer ", [](char a, char b) { return (a | 32) == (b | 32); });
  given = bearer ? given.substr(7) : request.header("x-api-key");
  bool accepted = false;
  for (const std::string& key : keys) accepted |= same_in_constant_time(given, key);
  return accepted;
}

// A web page from elsewhere must not use the local model: a browser names its origin.
bool origin_accepted(std::string_view origin, const std::vector<std::string>& allowed) {
  if (origin.empty()) return true;
  const auto listed = [&](const std::string& name) { return name == "*" || name == origin; };
  if (std::any_of(allowed.begin(), allowed.end(), listed)) return true;
  const size_t scheme_end = origin.find("://");
  if (scheme_end == std::string_view::npos) return false;  // "null"
  const std::string_view scheme = origin.substr(0, scheme_end);
  if (scheme != "http" && scheme != "https") return true;
  const std::string_view rest = origin.substr(scheme_end + 3);
  const std::string_view host = rest.starts_with('[') ? rest.substr(0, rest.find(']') + 1) : rest.substr(0, rest.find(':'));
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

struct Connection {
  explicit Connection(Socket accepted) : socket(std::move(accepted)) {}
  Socket socket;
  std::atomic<bool> done = false;
  std::jthread thread;
};

class Server {
 public:
  Server(Completer& completer, const ServerOptions& options, Listener listener)
      : completer_(completer), options_(options), listener_(std::move(listener)), watcher_(std::chrono::milliseconds(options.ping_interval_s * 1000)), openai_(completer, options) {
    routes_.push_back({"GET", "/health", [](Exchange& exchange) { exchange.respond(200, {{"status", "ok"}}); }, to_json, true});
    routes_.push_back({"GET", "/metrics", [this](Exchange& exchange) { exchange.respond_text(200, metrics_.text(completer_.stats()), "text/plain; version=0.0.4; charset=utf-8"); }});
    openai_.add_routes(routes_);
  }
  void run(const std::stop_token& stop);

 private:
  struct Refused {
    Socket socket;
    Clock::time_point until;
  };
  void accept_one();
  void refuse(Socket socket);
  void drain_refused();
  void reap();
  void drain();
  void talk(Connection& connection);
  void answer(Exchange& exchange);

  Completer& completer_;
  const ServerOptions& options_;
  Metrics metrics_;
  Listener listener_;
  Watcher watcher_;
  OpenAi openai_;
  Routes routes_;
  Wake stopping_;  // stays signalled once the server stops: idle connections wait on it
  Wake ended_;     // a connection has ended
  std::atomic<bool> stops_ = false;
  std::list<Connection> connections_;  // touched by the accepting thread alone
  std::vector<Refused> refused_;
};

void Server::run(const std::stop_token& stop) {
  if (options_.listening) options_.listening(options_.host, listener_.port);
  {
    const std::stop_callback on_stop(stop, [this] {
      stops_ = true;
      stopping_.signal();
    });
    while (!stop.stop_requested()) {
      pollfd polled[3] = {{listener_.socket.fd(), POLLIN, 0}, {stopping_.fd(), POLLIN, 0}, {ended_.fd(), POLLIN, 0}};
      poll(polled, 3, refused_.empty() ? 3'600'000 : 50);
      ended_.clear();
      reap();
      drain_refused();
      if (polled[0].revents != 0) accept_one();
    }
  }
  drain();
}

void Server::accept_one() {
  Socket accepted = accept_from(listener_.socket);
  if (accepted.fd() < 0) {  // none any more, or no descriptor left: do not spin
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return;
  }
  if (connections_.size() >= static_cast<size_t>(std::max(1, options_.max_connections))) return refuse(std::move(accepted));
  Connection& connection = connections_.emplace_back(std::move(accepted));
  try {
    connection.thread = std::jthread([this, &connection] {
      try {
        talk(connection);
      } catch (const std::exception&) {  // out of memory: this connection ends, the others go on
      }
      connection.socket.shut();
      connection.done = true;
      ended_.signal();
    });
  } catch (const std::system_error&) {  // no thread to be had
    Socket unserved = std::move(connection.socket);
    connections_.pop_back();
    refuse(std::move(unserved));
  }
}

void Server::refuse(Socket socket) {
  const ApiError error{503, "all connections are in use", "unavailable_error", "", "overloaded", Json()};
  const std::string body = to_json(error).dump() + "\n";
  const Headers headers = {{"Content-Type", "application/json"}, {"Content-Length", std::to_string(body.size())}, {"Retry-After", "1"}, {"Connection", "close"}};
  socket.send_some(render_head(503, headers) + body);
  socket.finish(std::chrono::milliseconds(0));
  if (refused_.size() < max_refused) refused_.push_back({std::move(socket), Clock::now() + linger});
}

// Reads what refused peers still send, so that closing does not reset the answer away; never waits.
void Server::drain_refused() {
  const auto finished = [](const Refused& refused) {
    std::array<char, 16384> scrap;
    const int count = refused.socket.receive(scrap);
    return count == 0 || Clock::now() >= refused.until;
  };
  std::erase_if(refused_, finished);
}

void Server::reap() {
  connections_.remove_if([](const Connection& connection) { return connection.done.load(); });
}

void Server::drain() {
  listener_.socket = Socket();
  refused_.clear();
  const auto wait_until = [&](Clock::time_point deadline) {
    while (reap(), !connections_.empty() && Clock::now() < deadline) {
      pollfd polled{ended_.fd(), POLLIN, 0};
      poll(&polled, 1, 50);
      ended_.clear();
    }
    return connections_.empty();
  };
  if (wait_until(Clock::now() + std::chrono::seconds(options_.drain_timeout_s))) return;
  watcher_.stop_all();
  if (wait_until(Clock::now() + linger)) return;
  for (Connection& connection : connections_) connection.socket.shut();
  connections_.clear();  // joins
}

void Server::talk(Connection& connection) {
  RequestReader reader(connection.socket, options_, stopping_.fd());
  while (true) {
    auto read = reader.next();
    HttpRequest unread;  // stands for the one that could not be read
    const auto* failure = std::get_if<ReadFailure>(&read);
    if (failure != nullptr && failure->status == 0) return;
    const HttpRequest& request = failure != nullptr ? unread : std::get<HttpRequest>(read);
    std::string id = header_safe(request.header("x-request-id"), 128);
    Headers common = {{"X-Request-Id", id.empty() ? random_id("req-") : std::move(id)}};
    Exchange exchange(request, connection.socket, options_, watcher_, metrics_, std::move(common), failure == nullptr && !stops_);
    if (failure != nullptr) {
      exchange.fail({failure->status, failure->message, "invalid_request_error", "", failure->status == 413 ? "request_too_large" : "", Json()});
      return connection.socket.finish(linger);
    }
    answer(exchange);
    if (!exchange.keep_alive()) return connection.socket.finish(std::chrono::milliseconds(200));
  }
}

void Server::answer(Exchange& exchange) {
  const std::string_view origin = exchange.request.header("origin");
  if (!origin_accepted(origin, options_.cors_origins)) {
    return exchange.fail({403, "requests from this web origin are not allowed", "permission_error", "", "origin_not_allowed", Json()});
  }
  if (!origin.empty()) {
    exchange.add_header("Access-Control-Allow-Origin", header_safe(origin, 256));
    exchange.add_header("Vary", "Origin");
    exchange.add_header("Access-Control-Expose-Headers", "X-Request-Id, X-Ignored-Fields");
  }
  if (exchange.request.method == "OPTIONS") {
    std::string allowed = "Authorization, Content-Type, x-api-key, anthropic-version, x-request-id";
    const std::string asked = header_safe(exchange.request.header("access-control-request-headers"), 512);
    if (!asked.empty()) allowed += ", " + asked;
    return exchange.respond_empty(204, {{"Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"}, {"Access-Control-Allow-Headers", allowed}, {"Access-Control-Max-Age", "600"}});
  }
  RouteMatch match = find_route(routes_, exchange.request.method, exchange.request.path);
  if (match.route != nullptr) exchange.route(match.route->errors, std::move(match.parts));
  const bool open = match.route != nullptr && match.route->open;
  if (!open && !key_accepted(exchange.request, options_.api_keys)) {
    return exchange.fail({401, "a valid API key is needed: Authorization: Bearer KEY", "authentication_error", "", "invalid_api_key", Json()}, {{"WWW-Authenticate", "Bearer"}});
  }
  if (match.route == nullptr) return exchange.fail({404, "there is nothing at this path", "not_found_error", "", "unknown_path", Json()});
  if (!match.method_allowed) {
    return exchange.fail({405, "this path does not take that method", "invalid_request_error", "", "method_not_allowed", Json()}, {{"Allow", match.allowed}});
  }
  match.route->handler(exchange);
  metrics_.answered(match.route->pattern, exchange.status());
}

}  // namespace

Status serve(Completer& completer, const ServerOptions& options, std::stop_token stop) {
  TRY(Listener listener, listen_on(options.host, options.port));
  Server(completer, options, std::move(listener)).run(stop);
  return ok_status();
}
