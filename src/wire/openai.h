// openai: the endpoints of the OpenAI dialect.
#pragma once
#include <string>
#include "wire/backend.h"
#include "wire/fields.h"
#include "wire/routes.h"

class OpenAi {
 public:
  OpenAi(Completer& completer, const ServerOptions& options);
  void add_routes(Routes& routes) const;

 private:
  void models(Exchange& exchange) const;
  void model(Exchange& exchange, const std::string& id) const;
  void complete(Exchange& exchange, Dialect dialect) const;
  void answer_whole(Exchange& exchange, Dialect dialect, const ParsedRequest& request, const ModelInfo& model, Headers headers) const;
  void answer_streamed(Exchange& exchange, Dialect dialect, const ParsedRequest& request, const ModelInfo& model, Headers headers) const;
  const Backend backend_;
  const int64_t started_unix_s_;
};
