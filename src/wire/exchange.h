// exchange: one request and the way to answer it, whole or as a stream of events.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include "core/json.h"
#include "chat/chat.h"
#include "core/json_writer.h"
#include "wire/http.h"
#include "wire/metrics.h"

using Clock = std::chrono::steady_clock;

// The client's end of a connection, as an answering thread sees it.
class Peer {
 public:
  virtual ~Peer() = default;
  // Takes all of `bytes` to be sent. Waits only while too much is unsent; false when the connection is broken or `stop` is requested in the wait.
  virtual bool send(std::string bytes, const std::stop_token& stop) = 0;
  virtual bool idle() const = 0;                           // everything has been sent
  virtual std::stop_token left() const = 0;                // requested when the client leaves, or the server waits no longer
  // Calls `ping`, which must not block, on another thread after every silence of the interval; once set_ping({}) returns, never again.
  virtual void set_ping(std::function<void()> ping) = 0;
};

// How the parts of a stream are told from one another: `data:` events, or one JSON text a line.
enum class Framing : uint8_t { sse, ndjson };

// The parts of a streamed answer. `send` and `finish` are for the answering thread, `ping` for another one.
class EventStream {
 public:
  // Nothing is sent before the first event or ping: until then `started` is false and a plain answer is still possible.
  // `held`: pings wait for release, because headers are still to come.
  EventStream(Peer& peer, Headers headers, bool chunked, Framing framing, bool held)
      : peer_(peer), headers_(std::move(headers)), chunked_(chunked), framing_(framing), held_(held) {}
  bool send(std::string_view data);  // one `data:` event, or one line; false when the reader is gone
  bool send_event(std::string_view name, std::string_view data);  // an event with a name; for sse only
  bool finish();                     // ends the body; false when the connection cannot be used again
  void ping(std::string_view bytes);  // as they are, unless something is being sent
  bool started() const { return started_; }
  void release(const Headers& more);  // headers ahead of the first byte; without effect once that is sent

 private:
  std::string framed(std::string_view bytes);
  bool write(std::string_view bytes);
  Peer& peer_;
  Headers headers_;
  const bool chunked_;
  const Framing framing_;
  std::mutex mutex_;
  bool held_;
  std::atomic<bool> started_ = false;
};

// What the log says about a request beside its path and status.
struct RequestNotes {
  std::string model;
  std::string requested;       // the model asked for by a name that is known here, "unknown", or "" when that was not read
  int prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0;
};

// One request being answered.
class Exchange {
 public:
  Exchange(const HttpRequest& request, Peer& peer, const ServerOptions& options, Metrics& metrics, Headers common, bool keep_alive)
      : request(request), options(options), peer_(peer), metrics_(metrics), common_(std::move(common)), keep_alive_(keep_alive && request.keep_alive) {}
  const HttpRequest& request;
  const ServerOptions& options;
  void add_header(std::string name, std::string value) { common_.emplace_back(std::move(name), std::move(value)); }
  void respond(int status, const Json& body, Headers more = {});
  void respond_empty(int status, Headers more = {});
  void respond_text(int status, std::string_view body, std::string content_type = "text/plain; charset=utf-8", Headers more = {});
  void fail(const ApiError& error, Headers more = {});  // worded as the route's dialect does
  std::string_view part(std::string_view name) const;    // of the path, as the route's pattern names it; "" when absent
  const std::string& tenant() const { return tenant_; }  // who asks, as the API key says; "" without keys
  bool keep_alive() const { return keep_alive_; }  // whether another request may follow
  Metrics& metrics() { return metrics_; }
  Clock::time_point started() const { return started_; }  // when the request was whole
  int status() const { return status_; }           // of the answer begun; 0: none yet
  // For the log; RequestMeter calls them. Safe from several threads; tokens of several calls add up.
  void note(std::string_view model);
  void note(const Finish& finish);
  void note_requested(std::string_view model);
  RequestNotes notes() const;

  // ---- what a privacy gate says ----
  // The completer has the request: whatever becomes of it is its decision, and no longer one that turns it away.
  void handed_over() { handed_over_ = true; }
  // Called with the first report, under a lock, on the thread that brings it.
  void on_routed(std::function<void(const RouteReport&)> hook);
  // Its headers go out with the answer. Safe from several threads; only the first of several counts.
  void routed(const RouteReport& report);
  std::optional<RouteReport> report() const;

  // Runs `work` with a token that is stopped when the client leaves.
  void watched(const std::function<void(std::stop_token)>& work);
  // The same with a stream that is pinged. A `work` that never sent anything answers with respond or fail. `ping`: the bytes that keep
  // a silent stream alive; unset: an SSE comment, and nothing in a stream of lines.
  void streamed(Headers more, const std::function<void(EventStream&, std::stop_token)>& work, Framing framing = Framing::sse,
                std::optional<std::string> ping = std::nullopt);

  // For the server, before a handler runs.
  void route(ErrorShape errors, Headers parts) { errors_ = errors, parts_ = std::move(parts); }
  void tenant(std::string name) { tenant_ = std::move(name); }
  // Asked for a report when an answer goes out that no completer was asked for.
  void on_turned_away(std::function<std::optional<RouteReport>(int status, const std::string& code)> hook) { turned_away_ = std::move(hook); }
  bool left() const { return peer_.left().stop_requested(); }
  void end_connection() { keep_alive_ = false; }

 private:
  void send_whole(int status, std::string_view body, Headers more);
  void tell_turned_away(int status);
  void attach(EventStream* stream);
  Peer& peer_;
  Metrics& metrics_;
  const Clock::time_point started_ = Clock::now();
  int status_ = 0;
  mutable std::mutex notes_mutex_;
  RequestNotes notes_;
  mutable std::mutex route_mutex_;
  std::optional<RouteReport> report_;
  std::function<void(const RouteReport&)> on_routed_;
  std::function<std::optional<RouteReport>(int, const std::string&)> turned_away_;
  EventStream* stream_ = nullptr;                  // while there is one
  std::string failed_code_;                        // of the error being answered
  std::atomic<bool> handed_over_ = false;
  Headers common_, parts_;
  ErrorShape errors_ = to_json;
  std::string tenant_;
  bool keep_alive_;
};
