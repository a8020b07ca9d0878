// connection: one client; reads its requests, has each answered on a worker, and sends what the worker writes.
#pragma once
#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include "wire/exchange.h"
#include "wire/stream.h"
#include "wire/workers.h"

class Connection;

// What all connections of a server share.
struct ConnectionContext {
  const ServerOptions& options;
  asio::io_context& io;
  Workers& workers;
  // Answers, on a worker, a request or one that could not be read (then `failure` is set); says whether another request may follow.
  std::function<bool(Peer&, const HttpRequest&, const ApiError* failure)> answer;
  std::function<void(Connection&)> closed;   // on the io thread, the last thing a connection does
  size_t body_bytes = 0;                     // of all requests that are read or answered
  std::atomic<bool> stopping = false;        // no request is read any more once its connection is idle
};

// `send`, `idle`, `left` and `set_ping` are for any thread; all else is the io thread's.
class Connection final : public Peer, public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::unique_ptr<ByteStream> stream, ConnectionContext& context);
  void start(bool refused);  // refused: it is only told that there is no place
  // ---- while the server stops, in this order ----
  void stop_idle();          // ends when no request has begun
  void cancel();             // ends, or requests the stop of what is answered
  void cut();                // breaks the connection

  bool send(std::string bytes, const std::stop_token& stop) override;
  bool idle() const override;
  std::stop_token left() const override;
  void set_ping(std::function<void()> ping) override;

 private:
  void read();
  void received(const error_code& error, size_t count);
  void peer_left();
  void parse();
  bool count_body(size_t bytes);
  void wait_for_more();
  void answer(const ApiError* failure);
  void answered(bool keep_alive);
  void settle();
  void pump();
  void write_more();
  void wait_for_ping();
  void finish();
  void drain();
  void close();
  void request_stop();
  void on_deadline(asio::steady_timer& timer, Clock::time_point deadline, void (Connection::*late)());
  void stop_timer(asio::steady_timer& timer);
  void too_slow();

  ConnectionContext& context_;
  std::unique_ptr<ByteStream> stream_;
  asio::steady_timer read_timer_, write_timer_, ping_timer_;
  std::array<char, size_t{16} << 10> chunk_;
  std::string buffered_;                      // read and not yet parsed
  std::optional<RequestParser> parser_;       // while a request is read
  Clock::time_point begun_;                   // its first byte
  size_t received_ = 0;                       // bytes of it
  size_t counted_ = 0;                        // bytes of its body in context_.body_bytes
  HttpRequest request_;                       // while it is answered
  ApiError failure_;
  bool reading_ = false, ended_ = false;      // a read is under way; the peer has sent its end
  bool answering_ = false, keep_alive_ = false, settling_ = false;  // settling_: answered, not yet all sent
  bool closing_ = false, closed_ = false;
  std::chrono::milliseconds linger_;
  std::string sending_;                       // given to the stream, from sent_ on
  size_t sent_ = 0;

  mutable std::mutex mutex_;                  // of what follows
  std::condition_variable_any room_;
  std::string pending_;                       // not yet given to the stream
  bool pumping_ = false, broken_ = false;     // pumping_: something is unsent
  std::stop_source stop_;                     // of the request being answered
  Clock::time_point last_sent_;

  std::mutex ping_mutex_;
  std::function<void()> ping_;
};
