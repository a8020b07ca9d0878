// anthropic_request: bodies of /v1/messages and its token count, in the neutral words of a chat request.
#pragma once
#include <string>
#include <vector>
#include "wire/fields.h"

struct AnthropicRequest : ParsedRequest {
  bool hide_thinking = false;
  // In the shape of chat completions; settled at the end.
  Json messages = Json::array(), tools = Json::array();
};

// Fills `out`, or says what is wrong. A token count needs no max_tokens.
Fault read_anthropic(std::string_view body, bool counts_only, AnthropicRequest& out);
Json anthropic_schema();  // of a body, for /openapi.json

// ---- for the more involved rows (anthropic_messages.cpp) ----
Fault read_anthropic_system(AnthropicRequest& out, JsonView system);
Fault read_anthropic_messages(AnthropicRequest& out, JsonView messages);
Fault read_anthropic_tools(AnthropicRequest& out, JsonView tools);
