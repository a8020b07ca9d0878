// ollama: the endpoints of the Ollama dialect.
#pragma once
#include <optional>
#include "wire/backend.h"
#include "wire/ollama_answer.h"
#include "wire/ollama_request.h"
#include "wire/routes.h"

class Ollama {
 public:
  explicit Ollama(const Backend& backend) : backend_(backend) {}
  void add_routes(Routes& routes) const;

 private:
  // ---- answers (ollama.cpp) ----
  void answer(Exchange& exchange, OllamaAnswer::Kind kind) const;
  void load_only(Exchange& exchange, OllamaAnswer::Kind kind, OllamaRequest& request, const ModelInfo& model, const std::string& asked) const;
  // Brings the model in when it is not there or its stay was set; how long that took. A stay that nothing here ends is listed as ignored.
  Result<double> bring_in(OllamaRequest& request, const ModelInfo& model) const;
  // ---- models (ollama_models.cpp) ----
  void add_model_routes(Routes& routes) const;
  void embed(Exchange& exchange, bool one) const;  // /api/embed, and /api/embeddings with its one vector
  void tags(Exchange& exchange) const;
  void show(Exchange& exchange) const;
  void running(Exchange& exchange) const;
  void pull(Exchange& exchange) const;
  void remove(Exchange& exchange) const;
  void copy_model(Exchange& exchange) const;
  const Backend& backend_;
};

std::string ollama_name(const ModelInfo& model);  // with a tag: "starter:latest"
