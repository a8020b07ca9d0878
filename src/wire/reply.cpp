// reply: from the completer's deltas to what the client reads.
#include "wire/reply.h"

#include "wire/answer.h"
#include "wire/answer_parts.h"

namespace {

using Send = std::function<bool(std::vector<Json>&)>;  // takes the pieces away; false when the reader has gone

// Several answers made at once, told one after another: what comes early waits for its turn.
class InOrder {
 public:
  InOrder(ReplyShape& shape, size_t n, const Send& send) : shape_(shape), send_(send), early_(n) {}
  bool push(size_t choice, const Delta& delta) {
    if (choice != turn_) return early_[choice].deltas.push_back(delta), true;
    shape_.push(delta, pieces_);
    return send_(pieces_);
  }
  bool finish(size_t choice, const Finish& finish) {
    early_[choice].finish = finish;
    while (turn_ < early_.size() && early_[turn_].finish) {
      shape_.finish(*early_[turn_].finish, pieces_);
      if (++turn_ == early_.size()) break;
      for (const Delta& delta : std::exchange(early_[turn_].deltas, {})) shape_.push(delta, pieces_);
    }
    return send_(pieces_);
  }

 private:
  struct Early { std::vector<Delta> deltas; std::optional<Finish> finish; };
  ReplyShape& shape_;
  const Send& send_;
  std::vector<Early> early_;
  size_t turn_ = 0;
  std::vector<Json> pieces_;
};

std::optional<ApiError> run(Exchange& exchange, const Backend& backend, const ReplyTo& to, ReplyShape& shape, std::vector<Finish>& finishes, const std::stop_token& stop, const Send& send) {
  InOrder order(shape, to.requests.size(), send);
  bool reads = true;
  const ChoiceSink sink = {[&](size_t choice, const Delta& delta) { return reads = !stop.stop_requested() && order.push(choice, delta); },
                           [&](size_t choice, const Finish& finish) { return reads = order.finish(choice, finish); }};
  exchange.on_routed([&](const RouteReport& report) {
    if (!report.model.empty()) shape.answered_by(report.model);
  });
  auto made = backend.complete_all(exchange, to.requests, sink, stop);
  if (!made) return backend.describe(exchange, made.error(), to.model);
  finishes = std::move(*made);
  return reads ? std::nullopt : std::optional(client_left());
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
