// anthropic: the endpoints of the Anthropic dialect: POST /v1/messages and its token count.
#pragma once
#include <optional>
#include "wire/anthropic_request.h"
#include "wire/backend.h"
#include "wire/routes.h"

class Anthropic {
 public:
  explicit Anthropic(const Backend& backend) : backend_(backend) {}
  void add_routes(Routes& routes) const;

 private:
  void messages(Exchange& exchange) const;
  void count_tokens(Exchange& exchange) const;
  // The request and its model; nothing when that was wrong and has been answered.
  std::optional<ModelInfo> read(Exchange& exchange, bool counts_only, AnthropicRequest& request) const;
  const Backend& backend_;
};
