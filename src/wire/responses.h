// responses: the endpoints of the Responses API, with the answers that run and those that are kept.
#pragma once
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include "wire/backend.h"
#include "wire/responses_request.h"
#include "wire/responses_store.h"
#include "wire/responses_writer.h"
#include "wire/routes.h"

class Responses {
 public:
  Responses(const Backend& backend, ResponseStore& store) : backend_(backend), store_(store) {}
  void add_routes(Routes& routes);

 private:
  // An answer being made, so that others may ask for it or cancel it.
  struct Running {
    std::string tenant;
    std::stop_source stop;
    Json response;                           // as it began
  };
  void create(Exchange& exchange);
  void count_tokens(Exchange& exchange) const;
  void retrieve(Exchange& exchange);
  void remove(Exchange& exchange);
  void cancel(Exchange& exchange);
  void input_items(Exchange& exchange);
  bool parse(Exchange& exchange, ResponsesRequest& request) const;
  void answer_whole(Exchange& exchange, const ResponsesRequest& request, const ModelInfo& model, Headers headers);
  void answer_streamed(Exchange& exchange, const ResponsesRequest& request, const ModelInfo& model, Headers headers);
  ResponseWriter::Keep keep(const Exchange& exchange, const ResponsesRequest& request) const;
  // Runs the completer. Nothing: `writer` has the answer; otherwise why there is none, which `writer` does not know.
  std::optional<Error> make(Exchange& exchange, const ResponsesRequest& request, ResponseWriter& writer, const std::stop_token& stop);
  const Backend& backend_;
  ResponseStore& store_;
  std::mutex mutex_;
  std::map<std::string, Running> running_;   // by id
};
