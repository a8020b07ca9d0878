// ollama: chat and generate: from a request body to the completer and back.
#include "wire/ollama.h"

#include "wire/table.h"

namespace {

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

bool goes_after(const OllamaRequest& request) { return request.keep_alive && request.keep_alive->count() == 0; }

}  // namespace

void Ollama::add_routes(Routes& routes) const {
  routes.push_back({"POST", "/api/chat", [this](Exchange& exchange) { answer(exchange, OllamaAnswer::Kind::chat); }, ollama_error, false, ollama_chat_schema, true});
  routes.push_back({"POST", "/api/generate", [this](Exchange& exchange) { answer(exchange, OllamaAnswer::Kind::generate); }, ollama_error, false, ollama_generate_schema, true});
  add_model_routes(routes);
}

Result<double> Ollama::bring_in(OllamaRequest& request, const ModelInfo& model) const {
  if (model.loaded && (!request.keep_alive || goes_after(request))) return 0.0;
  const auto began = Clock::now();
  const auto stay = goes_after(request) ? std::nullopt : request.keep_alive;
  const Status loaded = backend_.guarded([&](Completer& completer) { return completer.load(model.name, stay); });
  if (loaded) return seconds_since(began);
  if (loaded.error().code != Code::unsupported || !model.loaded) return loaded.error();
  if (request.keep_alive) request.ignored.emplace_back("keep_alive");
  return 0.0;
}

void Ollama::load_only(Exchange& exchange, OllamaAnswer::Kind kind, OllamaRequest& request, const ModelInfo& model, const std::string& asked) const {
  const bool goes = goes_after(request);
  Status done = ok_status();
  if (goes) {
    done = backend_.guarded([&](Completer& completer) { return completer.unload(model.name); });
  } else if (auto loaded = bring_in(request, model); !loaded) {
    done = loaded.error();
  }
  if (!done) return exchange.fail(backend_.describe(exchange, done.error(), model), ignored_header(request.ignored));
  exchange.respond(200, ollama_loaded(kind, asked, goes ? "unload" : "load"), ignored_header(request.ignored));
}

void Ollama::answer(Exchange& exchange, OllamaAnswer::Kind kind) const {
  const auto began = Clock::now();
  const bool chat = kind == OllamaAnswer::Kind::chat;
  OllamaRequest request;
  request.gated = exchange.options.gated;
  const std::string& body = exchange.request.body;
  if (const auto wrong = chat ? read_ollama_chat(body, request) : read_ollama_generate(body, request)) return exchange.fail(*wrong, ignored_header(request.ignored));
  std::string asked = request.chat.model;
  if (const auto known = backend_.resolve(asked)) {
    if (asked.empty()) asked = ollama_name(*known);
    if (request.context_tokens > known->context_tokens) request.ignored.emplace_back("options.num_ctx");
  }
  const auto model = backend_.admit(exchange, request);
  if (!model) return;
  if (request.loads_only) return load_only(exchange, kind, request, *model, asked);
  const auto load_s = bring_in(request, *model);
  if (!load_s) return exchange.fail(backend_.describe(exchange, load_s.error(), *model), ignored_header(request.ignored));
  std::function<Json(const std::string&)> context;
  if (!chat && request.keeps_context()) {
    context = [&](const std::string& text) {
      Json all = request.messages;
      all.push_back({{"role", "assistant"}, {"content", text}});
      return pack_context(all);
    };
  }
  OllamaAnswer answer(kind, asked, request.logprobs, began, *load_s, context);
  reply(exchange, backend_, {{&request.chat, 1}, *model, request.stream ? ReplyForm::lines : ReplyForm::whole, ignored_header(request.ignored)}, answer);
  if (goes_after(request)) (void)backend_.guarded([&](Completer& completer) { return completer.unload(model->name); });  // answered already
}
