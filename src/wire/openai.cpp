// openai: from a request body to the completer and back.
#include "wire/openai.h"

#include "wire/describe.h"

namespace {

constexpr size_t max_choices = 64;  // of all prompts of one request together

Json model_entry(const ModelInfo& info, int64_t created) {
  Json capabilities = Json::array({"completion"});
  if (!info.tool_syntax.empty()) capabilities.push_back("tools");
  if (info.thinks) capabilities.push_back("thinking");
  if (info.fills_in) capabilities.push_back("insert");
  return {{"id", info.name},           {"object", "model"},      {"created", created},           {"owned_by", "calla"}, {"type", "model"},
          {"display_name", info.name}, {"created_at", iso_time(created)}, {"architecture", info.architecture}, {"context_tokens", info.context_tokens},
          {"capabilities", std::move(capabilities)}};
}

// A request for every choice: n of each prompt, one after another.
std::vector<ChatRequest> choices_of(const ParsedRequest& request) {
  std::vector<ChatRequest> out;
  const size_t n_prompts = std::max<size_t>(request.prompts.size(), 1);
  for (size_t prompt = 0; prompt < n_prompts; ++prompt) {
    for (int i = 0; i < request.n; ++i) {
      ChatRequest& choice = out.emplace_back(request.chat);
      if (choice.seed) *choice.seed += static_cast<uint64_t>(i);
      choice.report_progress = choice.report_progress || request.continuous_usage || request.timings_per_token;
      if (request.prompts.empty()) continue;
      choice.prompt = request.prompts[prompt].text;
      choice.prompt_ids = request.prompts[prompt].ids;
    }
  }
  return out;
}

}  // namespace

OpenAi::OpenAi(Completer& completer, const ServerOptions& options) : backend_(completer, options), started_unix_s_(unix_seconds()), store_(ResponseStore::open(options.responses_db)) {
  if (store_) responses_ = std::make_unique<Responses>(backend_, **store_);
}

Status OpenAi::ready() const { return store_ ? ok_status() : Status(store_.error()); }

void OpenAi::add_routes(Routes& routes) {
  routes.push_back({"GET", "/v1/models", [this](Exchange& exchange) { models(exchange); }});
  routes.push_back({"GET", "/v1/models/{id...}", [this](Exchange& exchange) { model(exchange, std::string(exchange.part("id"))); }});
  routes.push_back({"POST", "/v1/chat/completions", [this](Exchange& exchange) { complete(exchange, Dialect::chat); }, to_json, false, chat_schema, true});
  routes.push_back({"POST", "/v1/completions", [this](Exchange& exchange) { complete(exchange, Dialect::completions); }, to_json, false, completion_schema, true});
  routes.push_back({"POST", "/v1/embeddings", [this](Exchange& exchange) { embed(exchange); }, to_json, false, embedding_schema, true});
  routes.push_back({"GET", "/v1/capabilities", [this](Exchange& exchange) { exchange.respond(200, capabilities(backend_.completer().models())); }});
  routes.push_back({"GET", "/openapi.json", [&routes](Exchange& exchange) { exchange.respond(200, openapi(routes)); }, to_json, true});
  if (responses_) responses_->add_routes(routes);
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

Result<std::vector<std::string>> OpenAi::prefixes(Dialect dialect, const ParsedRequest& request) const {
  std::vector<std::string> out(std::max<size_t>(request.prompts.size(), 1));
  if (!request.echo) return out;
  if (dialect == Dialect::chat) {
    if (request.chat.continue_final_message) out[0] = Json::parse(request.chat.messages_json, nullptr, false).back()["content"];
    return out;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const Prompt& prompt = request.prompts[i];
    out[i] = prompt.text;
    if (prompt.ids.empty()) continue;
    TRY(out[i], backend_.guarded([&](Completer& completer) { return completer.detokenize(request.chat.model, prompt.ids); }));
  }
  return out;
}

void OpenAi::complete(Exchange& exchange, Dialect dialect) const {
  ParsedRequest request;
  request.gated = exchange.options.gated;
  if (const auto wrong = parse_request(dialect, exchange.request.body, request)) return exchange.fail(*wrong, ignored_header(request.ignored));
  const auto model = backend_.admit(exchange, request);
  if (!model) return;
  const std::vector<ChatRequest> choices = choices_of(request);
  if (choices.size() > max_choices) return exchange.fail(*fault("n", "n times the number of prompts must be at most 64"));
  const auto starts = prefixes(dialect, request);
  if (!starts) return exchange.fail(backend_.describe(exchange, starts.error(), *model));
  std::vector<std::string> of_choices;
  for (const std::string& start : *starts) of_choices.insert(of_choices.end(), static_cast<size_t>(request.n), start);
  Answer answer(dialect, request, backend_.options(), std::move(of_choices));
  exchange.on_routed([&](const RouteReport& report) { request.chat.model = report.model.empty() ? request.chat.model : report.model; });
  Work work{request, *model, choices, answer, ignored_header(request.ignored)};
  return request.stream ? answer_streamed(exchange, std::move(work)) : answer_whole(exchange, std::move(work));
}

void OpenAi::answer_whole(Exchange& exchange, Work work) const {
  Result<std::vector<Finish>> finishes = answer_cancelled();
  bool left = false;
  exchange.watched([&](std::stop_token stop) {
    const ChoiceSink sink = {[&](size_t choice, const Delta& delta) { return work.answer.add(choice, delta), !stop.stop_requested(); }, [](size_t, const Finish&) { return true; }};
    finishes = backend_.complete_all(exchange, work.choices, sink, stop);
    left = stop.stop_requested();
  });
  if (left) return exchange.fail(client_left());
  if (!finishes) return exchange.fail(backend_.describe(exchange, finishes.error(), work.model), std::move(work.headers));
  for (auto& header : warnings_header(*finishes)) work.headers.push_back(std::move(header));
  exchange.respond(200, work.answer.whole(*finishes), std::move(work.headers));
}

void OpenAi::answer_streamed(Exchange& exchange, Work work) const {
  std::optional<ApiError> unsent;  // a failure before anything was sent is a plain answer
  exchange.streamed(work.headers, [&](EventStream& events, std::stop_token stop) {
    std::vector<bool> open(work.choices.size());
    const auto begin = [&](size_t choice) {
      if (open[choice]) return true;
      open[choice] = true;
      for (const Json& chunk : work.answer.first_chunks(choice)) {
        if (!events.send(text_of(chunk))) return false;
      }
      return true;
    };
    const ChoiceSink sink = {[&](size_t choice, const Delta& delta) {
                               if (stop.stop_requested()) return false;
                               const Json chunk = work.answer.delta_chunk(choice, delta);
                               return chunk.is_null() || (begin(choice) && events.send(text_of(chunk)));
                             },
                             [&](size_t choice, const Finish& finish) { return begin(choice) && events.send(text_of(work.answer.finish_chunk(choice, finish))); }};
    const auto finishes = backend_.complete_all(exchange, work.choices, sink, stop);
    if (!finishes) {
      const ApiError error = backend_.describe(exchange, finishes.error(), work.model);
      if (events.started()) {
        events.send(text_of(to_json(error)));
      } else {
        unsent = error;
      }
      return;
    }
    if (work.request.include_usage && !events.send(text_of(work.answer.usage_chunk(*finishes)))) return;
    events.send("[DONE]");
  });
  if (unsent) exchange.fail(*unsent, std::move(work.headers));
}
