// exchange: writes answers and event streams, and stops the work when the client leaves.
#include "wire/exchange.h"

#include <fmt/format.h>

namespace {

struct CodeRow {
  Code code;
  int status;
  const char* type;
  const char* name;  // the answer's `code`; "": null
};
constexpr CodeRow code_rows[] = {
    {Code::invalid_request, 400, "invalid_request_error", ""},
    {Code::not_found, 404, "not_found_error", "not_found"},
    {Code::too_large, 400, "invalid_request_error", "context_length_exceeded"},
    {Code::overloaded, 503, "unavailable_error", "overloaded"},
    {Code::cancelled, 503, "unavailable_error", "cancelled"},
    {Code::denied, 403, "permission_error", "denied"},
    {Code::unsupported, 400, "invalid_request_error", "unsupported"},
    {Code::corrupt_file, 500, "server_error", "corrupt_file"},
    {Code::device, 500, "server_error", "device"},
    {Code::io, 500, "server_error", "io"},
    {Code::internal, 500, "server_error", "internal"},
};

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

Json to_json(const ApiError& error) {
  Json inner = {{"message", error.message}, {"type", error.type}, {"param", or_null(error.param)}, {"code", or_null(error.code)}};
  if (error.more.is_object()) inner.update(error.more);
  return {{"error", std::move(inner)}};
}

ApiError to_api_error(const Error& error) {
  for (const CodeRow& row : code_rows) {
    if (row.code == error.code) return {row.status, error.message, row.type, "", row.name, Json()};
  }
  return {500, error.message, "server_error", "", "", Json()};
}

std::string EventStream::framed(std::string_view bytes) {
  std::string out = std::exchange(unsent_, {});
  if (!started_.exchange(true)) out += head_;
  if (chunked_) return out += fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
  return out += bytes;
}

bool EventStream::write(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  return socket_.send_all(framed(bytes), patience_, stop_);
}

bool EventStream::send(std::string_view data) { return write(framing_ == Framing::sse ? fmt::format("data: {}\n\n", data) : fmt::format("{}\n", data)); }

bool EventStream::send_event(std::string_view name, std::string_view data) {
  CHECK(framing_ == Framing::sse);
  return write(fmt::format("event: {}\ndata: {}\n\n", name, data));
}

bool EventStream::finish() {
  const std::lock_guard lock(mutex_);
  std::string rest = std::exchange(unsent_, {});
  if (chunked_) rest += "0\r\n\r\n";
  return socket_.send_all(rest, patience_, stop_) && chunked_;
}

void EventStream::ping(std::string_view bytes) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || !unsent_.empty()) return;  // something is being sent, or the reader is slow
  unsent_ = framed(bytes);
  const int64_t sent = socket_.send_some(unsent_);
  unsent_.erase(0, static_cast<size_t>(std::max<int64_t>(sent, 0)));
}

void Exchange::send_whole(int status, std::string_view body, Headers more) {
  status_ = status;
  Headers headers = common_;
  headers.insert(headers.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  if (status != 204) headers.emplace_back("Content-Length", std::to_string(body.size()));
  headers.emplace_back("Connection", keep_alive_ ? "keep-alive" : "close");
  std::string out = render_head(status, headers);
  if (request.method != "HEAD") out += body;
  if (!socket_.send_all(out, std::chrono::seconds(options.write_timeout_s), {})) keep_alive_ = false;
}

void Exchange::respond(int status, const Json& body, Headers more) {
  more.emplace_back("Content-Type", "application/json");
  send_whole(status, body.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n", std::move(more));
}

void Exchange::respond_text(int status, std::string_view body, std::string content_type, Headers more) {
  more.emplace_back("Content-Type", std::move(content_type));
  send_whole(status, body, std::move(more));
}

void Exchange::respond_empty(int status, Headers more) { send_whole(status, "", std::move(more)); }

void Exchange::fail(const ApiError& error, Headers more) {
  if (error.status == 503) more.emplace_back("Retry-After", "1");
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

void Exchange::watch(std::stop_source& stop, std::function<void()> ping, const std::function<void()>& work) {
  struct Watch {
    Watcher& watcher;
    int id;
    ~Watch() { watcher.remove(id); }
  };
  {
    const Watch watch{watcher_, watcher_.add(socket_.fd(), stop, std::move(ping))};
    work();
  }
  if (stop.stop_requested()) keep_alive_ = false;
}

void Exchange::watched(const std::function<void(std::stop_token)>& work) {
  std::stop_source stop;
  watch(stop, {}, [&] { work(stop.get_token()); });
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
  std::stop_source stop;
  EventStream events(socket_, render_head(200, headers), chunked, framing, std::chrono::seconds(options.write_timeout_s), stop.get_token());
  std::function<void()> pinging;
  if (!beat.empty()) pinging = [&] { events.ping(beat); };
  watch(stop, std::move(pinging), [&] { work(events, stop.get_token()); });
  if (!events.started()) return;
  status_ = 200;
  if (!events.finish()) keep_alive_ = false;
}
