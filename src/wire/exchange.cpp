// exchange: writes answers and event streams.
#include "wire/exchange.h"

#include <fmt/format.h>

std::string EventStream::framed(std::string_view bytes) {
  std::string out;
  if (!started_.exchange(true)) out = std::move(head_);
  if (chunked_) return out += fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
  return out += bytes;
}

bool EventStream::write(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  return peer_.send(framed(bytes), peer_.left());
}

bool EventStream::send(std::string_view data) { return write(framing_ == Framing::sse ? fmt::format("data: {}\n\n", data) : fmt::format("{}\n", data)); }

bool EventStream::send_event(std::string_view name, std::string_view data) {
  CHECK(framing_ == Framing::sse);
  return write(fmt::format("event: {}\ndata: {}\n\n", name, data));
}

bool EventStream::finish() {
  const std::lock_guard lock(mutex_);
  return chunked_ && peer_.send("0\r\n\r\n", peer_.left());
}

void EventStream::ping(std::string_view bytes) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && peer_.idle()) peer_.send(framed(bytes), {});
}

void Exchange::send_whole(int status, std::string_view body, Headers more) {
  status_ = status;
  Headers headers = common_;
  headers.insert(headers.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  if (status != 204) headers.emplace_back("Content-Length", std::to_string(body.size()));
  headers.emplace_back("Connection", keep_alive_ ? "keep-alive" : "close");
  std::string out = render_head(status, headers);
  if (request.method != "HEAD") out += body;
  if (!peer_.send(std::move(out), {})) keep_alive_ = false;
}

void Exchange::respond(int status, const Json& body, Headers more) {
  more.emplace_back("Content-Type", "application/json");
  send_whole(status, text_of(body) + "\n", std::move(more));
}

void Exchange::respond_text(int status, std::string_view body, std::string content_type, Headers more) {
  more.emplace_back("Content-Type", std::move(content_type));
  send_whole(status, body, std::move(more));
}

void Exchange::respond_empty(int status, Headers more) { send_whole(status, "", std::move(more)); }

void Exchange::fail(const ApiError& error, Headers more) {
  if (error.status == 503 || error.status == 429) more.emplace_back("Retry-After", "1");
  respond(error.status, errors_(error), std::move(more));
}

void Exchange::note(std::string_view model) {
  const std::lock_guard lock(notes_mutex_);
  notes_.model = model;
}

void Exchange::note(const Finish& finish) {
  const std::lock_guard lock(notes_mutex_);
  notes_.prompt_tokens += finish.prompt_tokens;
  notes_.cached_tokens += finish.cached_tokens;
  notes_.completion_tokens += finish.completion_tokens;
}

RequestNotes Exchange::notes() const {
  const std::lock_guard lock(notes_mutex_);
  return notes_;
}

std::string_view Exchange::part(std::string_view name) const {
  for (const auto& [known, value] : parts_) {
    if (known == name) return value;
  }
  return "";
}

void Exchange::watched(const std::function<void(std::stop_token)>& work) {
  work(peer_.left());
  if (left()) keep_alive_ = false;
}

void Exchange::streamed(Headers more, const std::function<void(EventStream&, std::stop_token)>& work, Framing framing, std::optional<std::string> ping) {
  Headers headers = common_;
  headers.insert(headers.end(), more.begin(), more.end());
  headers.emplace_back("Content-Type", framing == Framing::sse ? "text/event-stream" : "application/x-ndjson");
  headers.emplace_back("Cache-Control", "no-cache");
  headers.emplace_back("X-Accel-Buffering", "no");
  const bool chunked = request.http11;
  if (chunked) headers.emplace_back("Transfer-Encoding", "chunked");
  headers.emplace_back("Connection", keep_alive_ && chunked ? "keep-alive" : "close");
  const std::string beat = ping.value_or(framing == Framing::sse ? ": still working\n\n" : "");
  EventStream events(peer_, render_head(200, headers), chunked, framing);
  struct Running {
    Exchange& exchange;
    EventStream& events;
    ~Running() {
      exchange.peer_.set_ping({});
      if (events.started()) exchange.status_ = 200;
    }
  };
  {
    const Running running{*this, events};
    if (!beat.empty()) peer_.set_ping([&] { events.ping(beat); });
    work(events, peer_.left());
  }
  if (left() || (events.started() && !events.finish())) keep_alive_ = false;
}
