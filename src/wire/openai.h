// openai: the endpoints of the OpenAI dialect.
#pragma once
#include <string>
#include "wire/exchange.h"
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
  std::optional<ModelInfo> resolve(const std::string& name) const;  // by name, alias, or NAME:latest; "" is the first
  ApiError unknown_model() const;
  ApiError describe(const Error& error, const ModelInfo& model) const;
  void answer_whole(Exchange& exchange, Dialect dialect, const ParsedRequest& request, const ModelInfo& model, Headers headers) const;
  void answer_streamed(Exchange& exchange, Dialect dialect, const ParsedRequest& request, const ModelInfo& model, Headers headers) const;
  Completer& completer_;
  const ServerOptions& options_;
  const int64_t started_unix_s_;
};
