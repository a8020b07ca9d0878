// openai: from a request body to the completer and back.
#include "wire/openai.h"

#include <algorithm>
#include <ctime>
#include "wire/answer.h"

namespace {

std::string iso_time(int64_t unix_s) {
  const std::time_t time = static_cast<std::time_t>(unix_s);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Json model_entry(const ModelInfo& info, int64_t created) {
  return {{"id", info.name},           {"object", "model"},      {"created", created},           {"owned_by", "calla"}, {"type", "model"},
          {"display_name", info.name}, {"created_at", iso_time(created)}, {"architecture", info.architecture}, {"context_tokens", info.context_tokens}};
}

Headers ignored_header(const ParsedRequest& request) {
  if (request.ignored.empty()) return {};
  std::string names;
  for (const std::string& name : request.ignored) {
    if (names.size() > 2000) {
      names += ", ...";
      break;
    }
    names += (names.empty() ? "" : ", ") + header_safe(name, 64);
  }
  return {{"X-Ignored-Fields", names}};
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Nothing that a completer throws may end the server.
Result<Finish> guarded(Completer& completer, const ChatRequest& request, const Sink& sink, const std::stop_token& stop) {
  try {
    return completer.complete(request, sink, stop);
  } catch (const std::exception&) {
    return Error{Code::internal, "cannot answer: an internal error"};
  }
}

}  // namespace

OpenAi::OpenAi(Completer& completer, const ServerOptions& options) : completer_(completer), options_(options), started_unix_s_(unix_seconds()) {}

void OpenAi::add_routes(Routes& routes) const {
  routes.push_back({"GET", "/v1/models", [this](Exchange& exchange) { models(exchange); }});
  routes.push_back({"GET", "/v1/models/{id...}", [this](Exchange& exchange) { model(exchange, std::string(exchange.part("id"))); }});
  routes.push_back({"POST", "/v1/chat/completions", [this](Exchange& exchange) { complete(exchange, Dialect::chat); }});
  routes.push_back({"POST", "/v1/completions", [this](Exchange& exchange) { complete(exchange, Dialect::completions); }});
}

std::optional<ModelInfo> OpenAi::resolve(const std::string& name) const {
  const auto models = completer_.models();
  const auto exact = [&](std::string_view wanted) -> std::optional<ModelInfo> {
    const auto found = std::find_if(models.begin(), models.end(), [&](const ModelInfo& info) { return info.name == wanted; });
    return found == models.end() ? std::nullopt : std::optional(*found);
  };
  if (name.empty()) return models.empty() ? std::nullopt : std::optional(models.front());
  if (auto found = exact(name)) return found;
  if (name.ends_with(":latest")) {
    if (auto found = exact(std::string_view(name).substr(0, name.size() - 7))) return found;
  }
  for (const std::string& alias : {name, std::string("*")}) {
    for (const auto& [from, to] : options_.aliases) {
      if (from == alias) return exact(to);
    }
  }
  return std::nullopt;
}

ApiError OpenAi::unknown_model() const {
  std::string names;
  for (const ModelInfo& info : completer_.models()) names += (names.empty() ? "" : ", ") + info.name;
  ApiError error{404, "there is no model of that name; there is: " + (names.empty() ? "none" : names), "not_found_error", "model", "model_not_found", Json()};
  return error;
}

ApiError OpenAi::describe(const Error& error, const ModelInfo& model) const {
  ApiError described = to_api_error(error);
  if (error.code != Code::too_large) return described;
  described.more = {{"n_ctx", model.context_tokens}};
  if (const auto numbers = read_prompt_too_long(error)) described.more = {{"n_prompt_tokens", numbers->first}, {"n_ctx", numbers->second}};
  return described;
}

void OpenAi::models(Exchange& exchange) const {
  Json data = Json::array();
  for (const ModelInfo& info : completer_.models()) data.push_back(model_entry(info, started_unix_s_));
  const Json first = data.empty() ? Json() : data.front()["id"], last = data.empty() ? Json() : data.back()["id"];
  exchange.respond(200, {{"object", "list"}, {"data", data}, {"has_more", false}, {"first_id", first}, {"last_id", last}});
}

void OpenAi::model(Exchange& exchange, const std::string& id) const {
  const auto found = resolve(id);
  if (!found || id.empty()) return exchange.fail(unknown_model());
  exchange.respond(200, model_entry(*found, started_unix_s_));
}

void OpenAi::complete(Exchange& exchange, Dialect dialect) const {
  ParsedRequest request;
  if (const auto wrong = parse_request(dialect, exchange.request.body, request)) return exchange.fail(*wrong, ignored_header(request));
  const auto model = resolve(request.chat.model);
  if (!model) return exchange.fail(unknown_model());
  request.chat.model = model->name;
  if (request.stream) return answer_streamed(exchange, dialect, request, *model, ignored_header(request));
  answer_whole(exchange, dialect, request, *model, ignored_header(request));
}

void OpenAi::answer_whole(Exchange& exchange, Dialect dialect, const ParsedRequest& request, const ModelInfo& model, Headers headers) const {
  Answer answer(dialect, request);
  Result<Finish> finish = Error{Code::cancelled, ""};
  bool left = false;
  exchange.watched([&](std::stop_token stop) {
    finish = guarded(completer_, request.chat, [&](const Delta& delta) { return answer.add(delta), !stop.stop_requested(); }, stop);
    left = stop.stop_requested();
  });
  if (left) return exchange.fail({499, "the answer was cancelled: the client left or the server is stopping", "unavailable_error", "", "cancelled", Json()});
  if (!finish) return exchange.fail(describe(finish.error(), model), std::move(headers));
  if (finish->reason == Finish::Reason::cancelled) return exchange.fail(to_api_error({Code::cancelled, "the answer was cancelled"}), std::move(headers));
  exchange.respond(200, answer.whole(*finish), std::move(headers));
}

void OpenAi::answer_streamed(Exchange& exchange, Dialect dialect, const ParsedRequest& request, const ModelInfo& model, Headers headers) const {
  std::optional<ApiError> unsent;  // a failure before anything was sent is a plain answer
  exchange.streamed(headers, [&](EventStream& events, std::stop_token stop) {
    Answer answer(dialect, request);
    bool first = answer.has_first_chunk();
    const auto open = [&] { return !std::exchange(first, false) || events.send(text_of(answer.first_chunk())); };
    const auto finish = guarded(
        completer_, request.chat,
        [&](const Delta& delta) {
          if (stop.stop_requested()) return false;
          if (delta.text.empty() && (!request.logprobs || delta.logprobs.empty())) return true;
          return open() && events.send(text_of(answer.delta_chunk(delta)));
        },
        stop);
    const bool cancelled = finish && finish->reason == Finish::Reason::cancelled;
    if (!finish || cancelled) {
      const ApiError error = cancelled ? to_api_error({Code::cancelled, "the answer was cancelled"}) : describe(finish.error(), model);
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
