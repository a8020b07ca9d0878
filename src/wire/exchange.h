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
  EventStream(Peer& peer, std::string head, bool chunked, Framing framing) : peer_(peer), head_(std::move(head)), chunked_(chunked), framing_(framing) {}
  bool send(std::string_view data);  // one `data:` event, or one line; false when the reader is gone
  bool send_event(std::string_view name, std::string_view data);  // an event with a name; for sse only
  bool finish();                     // ends the body; false when the connection cannot be used again
  void ping(std::string_view bytes);  // as they are, unless something is being sent
  bool started() const { return started_; }

 private:
  std::string framed(std::string_view bytes);
  bool write(std::string_view bytes);
  Peer& peer_;
  std::string head_;
  const bool chunked_;
  const Framing framing_;
  std::mutex mutex_;
  std::atomic<bool> started_ = false;
};

// What the log says about a request beside its path and status.
struct RequestNotes {
  std::string model;
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
  RequestNotes notes() const;

  // Runs `work` with a token that is stopped when the client leaves.
  void watched(const std::function<void(std::stop_token)>& work);
  // The same with a stream that is pinged. A `work` that never sent anything answers with respond or fail. `ping`: the bytes that keep
  // a silent stream alive; unset: an SSE comment, and nothing in a stream of lines.
  void streamed(Headers more, const std::function<void(EventStream&, std::stop_token)>& work, Framing framing = Framing::sse,
                std::optional<std::string> ping = std::nullopt);

  // For the server, before a handler runs.
  void route(ErrorShape errors, Headers parts) { errors_ = errors, parts_ = std::move(parts); }
  void tenant(std::string name) { tenant_ = std::move(name); }
  bool left() const { return peer_.left().stop_requested(); }
  void end_connection() { keep_alive_ = false; }

 private:
  void send_whole(int status, std::string_view body, Headers more);
  Peer& peer_;
  Metrics& metrics_;
  const Clock::time_point started_ = Clock::now();
  int status_ = 0;
  mutable std::mutex notes_mutex_;
  RequestNotes notes_;
  Headers common_, parts_;
  ErrorShape errors_ = to_json;
  std::string tenant_;
  bool keep_alive_;
};
