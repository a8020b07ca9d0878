// exchange: writes answers and event streams.
#include "wire/exchange.h"

#include <algorithm>
#include <fmt/format.h>

namespace {

// The headers of privacy-interface.md 3; "" is not written.
Headers route_headers(const RouteReport& report) {
  Headers out;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.emplace_back(name, header_safe(value, 512));
  };
  std::string masked, dropped;
  for (const auto& [name, count] : report.classes) masked += fmt::format("{}{}={}", masked.empty() ? "" : ", ", name, count);
  for (const std::string& name : report.dropped_fields) dropped += (dropped.empty() ? "" : ", ") + header_safe(name, 64);
  add("X-Calla-Route", report.route);
  add("X-Calla-Model", report.model);
  add("X-Calla-Policy", report.policy);
  add("X-Calla-Masked", masked);
  add("X-Calla-Audit-Id", report.audit_id);
  add("X-Ignored-Fields", dropped);
  return out;
}

// Appended to a header of the same name, which a client would otherwise read twice.
void join(Headers& headers, const Headers& more) {
  for (const auto& [name, value] : more) {
    const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& header) { return header.first == name; });
    if (found == headers.end()) {
      headers.emplace_back(name, value);
    } else {
      found->second += ", " + value;
    }
  }
}

}  // namespace

std::string EventStream::framed(std::string_view bytes) {
  std::string out;
  if (!started_.exchange(true)) out = render_head(200, headers_);
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
  if (lock && !held_ && peer_.idle()) peer_.send(framed(bytes), {});
}

void EventStream::release(const Headers& more) {
  const std::lock_guard lock(mutex_);
  held_ = false;
  if (!started_) join(headers_, more);
}

void Exchange::send_whole(int status, std::string_view body, Headers more) {
  status_ = status;
  tell_turned_away(status);
  Headers headers = common_;
  join(headers, more);
  if (const auto said = report()) join(headers, route_headers(*said));
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
  if (error.status == 428) more.emplace_back("x-should-retry", "false");  // of OpenAI's clients: only a person can answer it
  failed_code_ = error.code;
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

void Exchange::note_requested(std::string_view model) {
  const std::lock_guard lock(notes_mutex_);
  notes_.requested = model;
}

void Exchange::on_routed(std::function<void(const RouteReport&)> hook) {
  const std::lock_guard lock(route_mutex_);
  on_routed_ = std::move(hook);
}

void Exchange::routed(const RouteReport& report) {
  const std::lock_guard lock(route_mutex_);
  if (report_) {  // what was announced has been sent; that it failed since is for the error that ends a stream
    if (report_->code.empty()) report_->code = report.code, report_->param = report.param, report_->privacy_json = report.privacy_json, report_->upstream_status = report.upstream_status;
    return;
  }
  report_ = report;
  if (on_routed_) on_routed_(report);
  if (stream_ != nullptr) stream_->release(route_headers(report));
}

std::optional<RouteReport> Exchange::report() const {
  const std::lock_guard lock(route_mutex_);
  return report_;
}

void Exchange::tell_turned_away(int status) {
  if (!turned_away_ || handed_over_.exchange(true)) return;
  if (const auto said = turned_away_(status, failed_code_)) routed(*said);
}

RequestNotes Exchange::notes() const {
  const std::lock_guard lock(notes_mutex_);
  return notes_;
}

void Exchange::attach(EventStream* stream) {
  const std::lock_guard lock(route_mutex_);
  stream_ = stream;
  if (stream_ != nullptr && report_) stream_->release(route_headers(*report_));
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
  join(headers, more);
  headers.emplace_back("Content-Type", framing == Framing::sse ? "text/event-stream" : "application/x-ndjson");
  headers.emplace_back("Cache-Control", "no-cache");
  headers.emplace_back("X-Accel-Buffering", "no");
  const bool chunked = request.http11;
  if (chunked) headers.emplace_back("Transfer-Encoding", "chunked");
  headers.emplace_back("Connection", keep_alive_ && chunked ? "keep-alive" : "close");
  const std::string beat = ping.value_or(framing == Framing::sse ? ": still working\n\n" : "");
  EventStream events(peer_, std::move(headers), chunked, framing, options.gated);
  struct Running {
    Exchange& exchange;
    EventStream& events;
    ~Running() {
      exchange.peer_.set_ping({});
      exchange.attach(nullptr);
      if (events.started()) exchange.status_ = 200;
    }
  };
  {
    const Running running{*this, events};
    attach(&events);
    if (!beat.empty()) peer_.set_ping([&] { events.ping(beat); });
    work(events, peer_.left());
  }
  if (left() || (events.started() && !events.finish())) keep_alive_ = false;
}
