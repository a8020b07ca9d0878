// backend: the completer as every dialect sees it: names resolved, nothing thrown, failures described.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "wire/exchange.h"
#include "wire/fields.h"

class Backend {
 public:
  Backend(Completer& completer, const ServerOptions& options) : completer_(completer), options_(options) {}
  // By name, with or without local/ ahead or :latest behind, or an alias; "" is the first model.
  std::optional<ModelInfo> resolve(const std::string& name) const;
  ApiError unknown_model() const;                                        // lists what is there
  // A failure of what the exchange was answered with: a privacy gate's as it reported it, a prompt that is too long with both numbers.
  ApiError describe(const Exchange& exchange, const Error& error, const ModelInfo& model) const;
  // Which model answers, for whom, and what of the request it cannot honour. Nothing: the failure has been answered.
  std::optional<ModelInfo> admit(Exchange& exchange, ParsedRequest& request) const;
  // One answer, or several at once, metered. Nothing that a completer throws may end the server.
  Result<Finish> complete(Exchange& exchange, const ChatRequest& request, const Sink& sink, const std::stop_token& stop) const;
  Result<std::vector<Finish>> complete_all(Exchange& exchange, std::span<const ChatRequest> requests, const ChoiceSink& sink, const std::stop_token& stop) const;
  Result<Embeddings> embed(Exchange& exchange, const EmbedRequest& request, const std::stop_token& stop) const;
  // A name of models() for what a client asked for, and a note of it for the log.
  std::optional<ModelInfo> resolve(Exchange& exchange, const std::string& name) const;
  template <class Work> auto guarded(const Work& work) const -> decltype(work(std::declval<Completer&>())) {
    try {
      return work(completer_);
    } catch (const std::exception&) {
      return Error{Code::internal, "cannot answer: an internal error"};
    }
  }
  Completer& completer() const { return completer_; }
  const ServerOptions& options() const { return options_; }

 private:
  Completer& completer_;
  const ServerOptions& options_;
};

Error answer_cancelled();
// What a privacy gate is told of a request beside its content.
GateNotes gate_notes(const Exchange& exchange, std::vector<std::string> unknown_fields);
// The model that the gate's report names, or else the other name.
std::string answered_by(const Exchange& exchange, std::string otherwise);
// X-Ignored-Fields with all names, or no header.
Headers ignored_header(const std::vector<std::string>& ignored);
// The same failure as other dialects word it; to_json is OpenAI's.
Json anthropic_error(const ApiError& error);
Json ollama_error(const ApiError& error);
// The answer to a client who has left: nobody reads it, but the log has a status.
ApiError client_left();
std::string random_id(std::string_view prefix);   // 24 hexadecimal digits
int64_t unix_seconds();
std::string iso_time(int64_t unix_s);             // 2026-11-30T13:20:11Z
