// openai: from a request body to the completer and back.
#include "wire/openai.h"

#include "wire/answer.h"

namespace {

Json model_entry(const ModelInfo& info, int64_t created) {
  return {{"id", info.name},           {"object", "model"},      {"created", created},           {"owned_by", "calla"}, {"type", "model"},
          {"display_name", info.name}, {"created_at", iso_time(created)}, {"architecture", info.architecture}, {"context_tokens", info.context_tokens}};
}

}  // namespace

OpenAi::OpenAi(Completer& completer, const ServerOptions& options) : backend_(completer, options), started_unix_s_(unix_seconds()) {}

void OpenAi::add_routes(Routes& routes) const {
  routes.push_back({"GET", "/v1/models", [this](Exchange& exchange) { models(exchange); }});
  routes.push_back({"GET", "/v1/models/{id...}", [this](Exchange& exchange) { model(exchange, std::string(exchange.part("id"))); }});
  routes.push_back({"POST", "/v1/chat/completions", [this](Exchange& exchange) { complete(exchange, Dialect::chat); }});
  routes.push_back({"POST", "/v1/completions", [this](Exchange& exchange) { complete(exchange, Dialect::completions); }});
}

void OpenAi::models(Exchange& exchange) const {
  Json data = Json::array();
  for (const ModelInfo& info : backend_.completer().models()) data.push_back(model_entry(info, started_unix_s_));
  const Json first = data.empty() ? Json() : data.front()["id"], last = data.empty() ? Json() : data.back()["id"];
  exchange.respond(200, {{"object", "list"}, {"data", data}, {"has_more", false}, {"first_id", first}, {"last_id", last}});
}

void OpenAi::model(Exchange& exchange, const std::string& id) const {
  const auto found = backend_.resolve(id);
  if (!found || id.empty()) return exchange.fail(backend_.unknown_model());
  exchange.respond(200, model_entry(*found, started_unix_s_));
}

void OpenAi::complete(Exchange& exchange, Dialect dialect) const {
  ParsedRequest request;
  if (const auto wrong = parse_request(dialect, exchange.request.body, request)) return exchange.fail(*wrong, ignored_header(request.ignored));
  const auto model = backend_.resolve(request.chat.model);
  if (!model) return exchange.fail(backend_.unknown_model());
  if (const auto wrong = settle_for(*model, request)) return exchange.fail(*wrong, ignored_header(request.ignored));
  if (!request.prompts.empty()) {
    request.chat.prompt = request.prompts.front().text;
    request.chat.prompt_ids = request.prompts.front().ids;
  }
  if (request.stream) return answer_streamed(exchange, dialect, request, *model, ignored_header(request.ignored));
  answer_whole(exchange, dialect, request, *model, ignored_header(request.ignored));
}

void OpenAi::answer_whole(Exchange& exchange, Dialect dialect, const ParsedRequest& request, const ModelInfo& model, Headers headers) const {
  Answer answer(dialect, request);
  Result<Finish> finish = Error{Code::cancelled, ""};
  bool left = false;
  exchange.watched([&](std::stop_token stop) {
    finish = backend_.complete(request.chat, [&](const Delta& delta) { return answer.add(delta), !stop.stop_requested(); }, stop);
    left = stop.stop_requested();
  });
  if (left) return exchange.fail(client_left());
  if (!finish) return exchange.fail(backend_.describe(finish.error(), model), std::move(headers));
  if (finish->reason == Finish::Reason::cancelled) return exchange.fail(to_api_error({Code::cancelled, "the answer was cancelled"}), std::move(headers));
  exchange.respond(200, answer.whole(*finish), std::move(headers));
}

void OpenAi::answer_streamed(Exchange& exchange, Dialect dialect, const ParsedRequest& request, const ModelInfo& model, Headers headers) const {
  std::optional<ApiError> unsent;  // a failure before anything was sent is a plain answer
  exchange.streamed(headers, [&](EventStream& events, std::stop_token stop) {
    Answer answer(dialect, request);
    bool first = answer.has_first_chunk();
    const auto open = [&] { return !std::exchange(first, false) || events.send(text_of(answer.first_chunk())); };
    const auto finish = backend_.complete(
        request.chat,
        [&](const Delta& delta) {
          if (stop.stop_requested()) return false;
          if (delta.text.empty() && (!request.logprobs || delta.logprobs.empty())) return true;
          return open() && events.send(text_of(answer.delta_chunk(delta)));
        },
        stop);
    const bool cancelled = finish && finish->reason == Finish::Reason::cancelled;
    if (!finish || cancelled) {
      const ApiError error = cancelled ? to_api_error({Code::cancelled, "the answer was cancelled"}) : backend_.describe(finish.error(), model);
      if (events.started()) {
        events.send(text_of(to_json(error)));
      } else {
        unsent = error;
      }
      return;
    }
    if (!open() || !events.send(text_of(answer.finish_chunk(*finish)))) return;
    if (request.include_usage && !events.send(text_of(answer.usage_chunk(*finish)))) return;
    events.send("[DONE]");
  });
  if (unsent) exchange.fail(*unsent, std::move(headers));
}
