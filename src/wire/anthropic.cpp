// anthropic: from a request body to the completer and back.
#include "wire/anthropic.h"

#include "wire/anthropic_answer.h"

void Anthropic::add_routes(Routes& routes) const {
  routes.push_back({"POST", "/v1/messages", [this](Exchange& exchange) { messages(exchange); }, anthropic_error, false, anthropic_schema, true});
  routes.push_back({"POST", "/v1/messages/count_tokens", [this](Exchange& exchange) { count_tokens(exchange); }, anthropic_error, false, anthropic_schema});
}

std::optional<ModelInfo> Anthropic::read(Exchange& exchange, bool counts_only, AnthropicRequest& request) const {
  request.gated = exchange.options.gated;
  if (const auto wrong = read_anthropic(exchange.request.body, counts_only, request)) return exchange.fail(*wrong, ignored_header(request.ignored)), std::nullopt;
  return backend_.admit(exchange, request);
}

void Anthropic::messages(Exchange& exchange) const {
  AnthropicRequest request;
  const auto model = read(exchange, false, request);
  if (!model) return;
  AnthropicAnswer answer(model->name, request.hide_thinking);
  reply(exchange, backend_, {{&request.chat, 1}, *model, request.stream ? ReplyForm::named_events : ReplyForm::whole, ignored_header(request.ignored)}, answer);
}

void Anthropic::count_tokens(Exchange& exchange) const {
  AnthropicRequest request;
  const auto model = read(exchange, true, request);
  if (!model) return;
  const auto ids = backend_.guarded([&](Completer& completer) -> Result<std::vector<TokenId>> {
    TRY(const std::string text, completer.render(request.chat));
    return completer.tokenize(model->name, text, true, false);
  });
  if (!ids) return exchange.fail(backend_.describe(exchange, ids.error(), *model), ignored_header(request.ignored));
  exchange.respond(200, {{"input_tokens", ids->size()}}, ignored_header(request.ignored));
}
