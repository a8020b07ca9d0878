// connection: the state of one client, moved on by what its socket and its worker report.
#include "wire/connection.h"

#include <boost/asio/post.hpp>

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t max_pending_bytes = size_t{64} << 10;        // of an answer, before its worker waits
constexpr size_t max_ahead_bytes = size_t{256} << 10;         // read behind a request that is being answered
constexpr size_t max_drained_bytes = size_t{32} << 20;        // read and dropped behind the last answer
constexpr size_t slowest_body_bytes_per_s = size_t{16} << 10;
constexpr milliseconds short_linger{200}, long_linger{2000};  // for a peer to read the last answer; long: it still sends what nobody reads

ApiError late(const char* what) { return {408, std::string("the request ") + what + " did not arrive in time", "invalid_request_error", "", "", Json()}; }
ApiError no_place(const char* what) { return {503, what, "unavailable_error", "", "overloaded", Json()}; }

}  // namespace

Connection::Connection(std::unique_ptr<ByteStream> stream, ConnectionContext& context)
    : context_(context), stream_(std::move(stream)), read_timer_(context.io), write_timer_(context.io), ping_timer_(context.io), linger_(short_linger) {}

// Calls `late` at `deadline` unless the timer is set or stopped before. A call that is on its way already sees the new expiry.
void Connection::on_deadline(asio::steady_timer& timer, Clock::time_point deadline, void (Connection::*late)()) {
  timer.expires_at(deadline);
  timer.async_wait([self = shared_from_this(), &timer, late](const error_code& error) {
    if (!error && timer.expiry() <= Clock::now()) (self.get()->*late)();
  });
}

void Connection::stop_timer(asio::steady_timer& timer) { timer.expires_at(Clock::time_point::max()); }

void Connection::start(bool refused) {
  on_deadline(read_timer_, Clock::now() + seconds(context_.options.header_timeout_s), &Connection::close);
  stream_->open([self = shared_from_this(), refused](const error_code& error, size_t) {
    if (error || self->closed_) return self->close();
    if (refused) {
      self->failure_ = no_place("all connections are in use");
      self->answer(&self->failure_);
    } else {
      self->parse();
    }
    self->read();
  });
}

// ---- reading ----

void Connection::read() {
  if (reading_ || ended_ || closing_ || closed_ || buffered_.size() >= max_ahead_bytes) return;
  reading_ = true;
  stream_->read(asio::buffer(chunk_), [self = shared_from_this()](const error_code& error, size_t count) { self->received(error, count); });
}

void Connection::received(const error_code& error, size_t count) {
  reading_ = false;
  if (closed_) return;
  if (closing_) return drain();
  if (error) return peer_left();
  try {
    buffered_.append(chunk_.data(), count);
    if (!answering_) parse();
  } catch (const std::exception&) {  // out of memory
    return answering_ ? cut() : close();
  }
  read();
}

void Connection::peer_left() {
  ended_ = true;
  if (!answering_) return close();
  request_stop();
}

void Connection::parse() {
  if (buffered_.empty() && !parser_) {
    if (context_.stopping || ended_) return close();
    return on_deadline(read_timer_, Clock::now() + seconds(context_.options.idle_timeout_s), &Connection::close);
  }
  if (!parser_) {
    parser_.emplace(context_.options);
    begun_ = Clock::now();
    received_ = 0;
  }
  const size_t before = buffered_.size();
  const auto state = parser_->feed(buffered_);
  received_ += before - buffered_.size();
  if (state == RequestParser::State::failed || !count_body(parser_->body_bytes())) {
    failure_ = state == RequestParser::State::failed ? parser_->failure() : no_place("too many request bodies are being read or answered");
    return answer(&failure_);
  }
  if (state == RequestParser::State::done) return answer(nullptr);
  if (ended_) return close();
  if (parser_->wants_continue()) send("HTTP/1.1 100 Continue\r\n\r\n", {});
  wait_for_more();
}

bool Connection::count_body(size_t bytes) {
  context_.body_bytes += bytes - counted_;
  counted_ = bytes;
  return context_.body_bytes <= context_.options.max_bodies_bytes;
}

void Connection::wait_for_more() {
  const seconds allowance(parser_->in_body() ? received_ / slowest_body_bytes_per_s : 0);
  on_deadline(read_timer_, begun_ + seconds(context_.options.header_timeout_s) + allowance, &Connection::too_slow);
}

void Connection::too_slow() {
  if (!parser_ || answering_ || closing_) return;
  failure_ = late(parser_->in_body() ? "body" : "header");
  answer(&failure_);
}

// ---- answering ----

void Connection::answer(const ApiError* failure) {
  stop_timer(read_timer_);
  answering_ = true;
  linger_ = failure != nullptr ? long_linger : short_linger;
  request_ = parser_ ? parser_->take() : HttpRequest();
  parser_.reset();
  {
    const std::lock_guard lock(mutex_);
    stop_ = std::stop_source();
  }
  if (ended_) request_stop();
  const bool started = context_.workers.run([self = shared_from_this(), failure] {
    bool keep_alive = false;
    try {
      keep_alive = self->context_.answer(*self, self->request_, failure);
    } catch (const std::exception&) {  // out of memory: this connection ends, the others go on
    }
    asio::post(self->context_.io, [self, keep_alive] { self->answered(keep_alive); });
  });
  if (!started) answered(false);
}

void Connection::answered(bool keep_alive) {
  keep_alive_ = keep_alive;
  settling_ = true;
  if (idle()) settle();  // else the pump does
}

void Connection::settle() {
  settling_ = answering_ = false;
  context_.body_bytes -= std::exchange(counted_, 0);
  request_ = HttpRequest();
  bool broken = false;
  {
    const std::lock_guard lock(mutex_);
    broken = broken_;
  }
  if (broken) return close();
  if (!keep_alive_ || context_.stopping) return finish();
  parse();
  read();
}

std::stop_token Connection::left() const {
  const std::lock_guard lock(mutex_);
  return stop_.get_token();
}

// The callbacks of the token may send, so no lock is held.
void Connection::request_stop() {
  std::stop_source stop(std::nostopstate);
  {
    const std::lock_guard lock(mutex_);
    stop = stop_;
  }
  stop.request_stop();
}

// ---- writing ----

bool Connection::send(std::string bytes, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!room_.wait(lock, stop, [&] { return broken_ || pending_.size() < max_pending_bytes; }) || broken_) return false;
  if (pending_.empty()) {
    pending_ = std::move(bytes);
  } else {
    pending_ += bytes;
  }
  last_sent_ = Clock::now();
  if (!std::exchange(pumping_, true)) asio::post(context_.io, [self = shared_from_this()] { self->pump(); });
  return true;
}

bool Connection::idle() const {
  const std::lock_guard lock(mutex_);
  return !pumping_;
}

void Connection::pump() {
  {
    const std::lock_guard lock(mutex_);
    sending_ = std::exchange(pending_, {});
    sent_ = 0;
    if (broken_) sending_.clear();
    pumping_ = !sending_.empty();
  }
  room_.notify_all();
  if (!sending_.empty()) return write_more();
  if (settling_) settle();
}

void Connection::write_more() {
  on_deadline(write_timer_, Clock::now() + seconds(context_.options.write_timeout_s), &Connection::cut);
  stream_->write(asio::buffer(sending_) + sent_, [self = shared_from_this()](const error_code& error, size_t count) {
    self->stop_timer(self->write_timer_);
    if (error) self->cut();
    self->sent_ += count;
    if (error || self->sent_ == self->sending_.size()) return self->pump();
    self->write_more();
  });
}

void Connection::set_ping(std::function<void()> ping) {
  const bool starts = ping != nullptr && context_.options.ping_interval_s > 0;
  {
    const std::lock_guard lock(ping_mutex_);
    ping_ = std::move(ping);
  }
  if (!starts) return;
  {
    const std::lock_guard lock(mutex_);
    last_sent_ = Clock::now();
  }
  asio::post(context_.io, [self = shared_from_this()] { self->wait_for_ping(); });
}

// Pings when it is time, and waits for the next time; ends when there is nothing to ping any more.
void Connection::wait_for_ping() {
  const std::lock_guard lock(ping_mutex_);
  if (!ping_ || closed_) return;
  const auto interval = seconds(context_.options.ping_interval_s);
  const auto due = [&] {
    const std::lock_guard last(mutex_);
    return last_sent_ + interval;
  };
  if (Clock::now() >= due()) ping_();
  on_deadline(ping_timer_, std::max(due(), Clock::now() + milliseconds(1)), &Connection::wait_for_ping);
}

// ---- ending ----

// The last answer has been sent: says so, then reads what the peer still sends for a while, so that the answer is not lost to a reset.
void Connection::finish() {
  if (closing_ || closed_) return;
  closing_ = true;
  on_deadline(read_timer_, Clock::now() + linger_, &Connection::close);
  error_code ignored;
  if (reading_) {
    stream_->socket().cancel(ignored);  // goes on in received()
  } else {
    drain();
  }
}

void Connection::drain() {
  stream_->finish([self = shared_from_this()](const error_code& error, size_t) {
    if (error || self->closed_) return self->close();
    struct Drain {
      std::shared_ptr<Connection> connection;
      size_t read_bytes = 0;
      void operator()(const error_code& failed, size_t count) {
        read_bytes += count;
        if (failed || connection->closed_ || read_bytes > max_drained_bytes) return connection->close();
        connection->stream_->socket().async_read_some(asio::buffer(connection->chunk_), *this);
      }
    };
    Drain{self}({}, 0);
  });
}

void Connection::close() {
  if (std::exchange(closed_, true)) return;
  cut();
  stop_timer(read_timer_);
  stop_timer(write_timer_);
  stop_timer(ping_timer_);
  context_.body_bytes -= std::exchange(counted_, 0);
  context_.closed(*this);
}

// Whoever sends is told, and what is under way ends with an error.
void Connection::cut() {
  {
    const std::lock_guard lock(mutex_);
    broken_ = true;
  }
  room_.notify_all();
  request_stop();
  error_code ignored;
  stream_->socket().close(ignored);
}

void Connection::stop_idle() {
  if (!answering_ && !closing_ && !parser_ && buffered_.empty()) close();
}

void Connection::cancel() {
  if (answering_) return request_stop();
  if (!closing_) close();
}
