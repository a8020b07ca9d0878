// llama_native: the endpoints of llama-server's own: completions, tokens, templates, and what the server is and does.
#pragma once
#include <optional>
#include <string>
#include "wire/backend.h"
#include "wire/llama_completion.h"
#include "wire/routes.h"

class LlamaNative {
 public:
  explicit LlamaNative(const Backend& backend) : backend_(backend) {}
  void add_routes(Routes& routes) const;

 private:
  void complete(Exchange& exchange, bool infill) const;
  void tokenize(Exchange& exchange) const;
  void detokenize(Exchange& exchange) const;
  void apply_template(Exchange& exchange) const;
  void embedding(Exchange& exchange) const;
  void props(Exchange& exchange) const;
  void slots(Exchange& exchange) const;
  void cache(Exchange& exchange) const;
  ModelStats stats_of(const ModelInfo& model) const;
  const Backend& backend_;
};
