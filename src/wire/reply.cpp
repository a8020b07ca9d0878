// reply: from the completer's deltas to what the client reads.
#include "wire/reply.h"

#include "wire/answer.h"
#include "wire/answer_parts.h"

namespace {

// Completes one request after another; the first failure ends it. `send` takes the pieces away, and is false when the reader has gone.
std::optional<ApiError> run(Exchange& exchange, const Backend& backend, const ReplyTo& to, ReplyShape& shape, std::vector<Finish>& finishes, const std::stop_token& stop,
                            const std::function<bool(std::vector<Json>&)>& send) {
  std::vector<Json> pieces;
  for (const ChatRequest& request : to.requests) {
    const auto take = [&](const Delta& delta) {
      shape.push(delta, pieces);
      return !stop.stop_requested() && send(pieces);
    };
    const auto finish = backend.complete(exchange, request, take, stop);
    if (!finish) return backend.describe(finish.error(), to.model);
    shape.finish(*finish, pieces);
    finishes.push_back(*finish);
    if (!send(pieces)) return client_left();
  }
  return std::nullopt;
}

void reply_whole(Exchange& exchange, const Backend& backend, const ReplyTo& to, ReplyShape& shape) {
  std::optional<ApiError> failed;
  std::vector<Finish> finishes;
  exchange.watched([&](std::stop_token stop) {
    failed = run(exchange, backend, to, shape, finishes, stop, [](std::vector<Json>& pieces) { return pieces.clear(), true; });
    if (stop.stop_requested()) failed = client_left();
  });
  if (failed) return exchange.fail(*failed, to.headers);
  Headers headers = to.headers;
  for (auto& header : warnings_header(finishes)) headers.push_back(std::move(header));
  exchange.respond(200, shape.whole(), std::move(headers));
}

bool send_piece(EventStream& events, ReplyForm form, const Json& piece) {
  return form == ReplyForm::named_events ? events.send_event(piece["type"].get_ref<const std::string&>(), text_of(piece)) : events.send(text_of(piece));
}

}  // namespace

void add_notes(Json& out, const Finish& finish) {
  if (finish.cache) out["cache"] = cache_json(*finish.cache);
  if (!finish.warnings.empty()) out["warnings"] = finish.warnings;
}

void reply(Exchange& exchange, const Backend& backend, const ReplyTo& to, ReplyShape& shape) {
  if (to.form == ReplyForm::whole) return reply_whole(exchange, backend, to, shape);
  std::optional<ApiError> unsent;
  std::vector<Finish> finishes;
  const auto stream = [&](EventStream& events, std::stop_token stop) {
    const auto send = [&](std::vector<Json>& pieces) {
      for (const Json& piece : pieces) {
        if (!send_piece(events, to.form, piece)) return false;
      }
      pieces.clear();
      return true;
    };
    const auto failed = run(exchange, backend, to, shape, finishes, stop, send);
    if (failed && events.started()) send_piece(events, to.form, shape.error(*failed));
    if (failed && !events.started()) unsent = failed;
  };
  exchange.streamed(to.headers, stream, to.form == ReplyForm::lines ? Framing::ndjson : Framing::sse);
  if (unsent) exchange.fail(*unsent, to.headers);
}
