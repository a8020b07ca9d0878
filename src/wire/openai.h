// openai: the endpoints of the OpenAI dialect.
#pragma once
#include <string>
#include "wire/answer.h"
#include "wire/backend.h"
#include "wire/fields.h"
#include "wire/responses.h"
#include "wire/routes.h"

class OpenAi {
 public:
  OpenAi(Completer& completer, const ServerOptions& options);
  Status ready() const;                     // whether everything that was to be opened is
  void add_routes(Routes& routes);          // `routes` is read again for /openapi.json

 private:
  void models(Exchange& exchange) const;
  void model(Exchange& exchange, const std::string& id) const;
  void complete(Exchange& exchange, Dialect dialect) const;
  void embed(Exchange& exchange) const;
  // The text that each prompt's choices begin with; empty ones unless `echo` asks for more.
  Result<std::vector<std::string>> prefixes(Dialect dialect, const ParsedRequest& request) const;
  // Everything that one request needs while it is answered.
  struct Work {
    const ParsedRequest& request;
    const ModelInfo& model;
    const std::vector<ChatRequest>& choices;
    Answer& answer;
    Headers headers;
  };
  void answer_whole(Exchange& exchange, Work work) const;
  void answer_streamed(Exchange& exchange, Work work) const;
  const Backend backend_;
  const int64_t started_unix_s_;
  Result<std::unique_ptr<ResponseStore>> store_;
  std::unique_ptr<Responses> responses_;    // none when the store could not be opened
};
