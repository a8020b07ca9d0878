// ollama_request: bodies of /api/chat and /api/generate, in the neutral words of a chat request.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>
#include "wire/fields.h"

struct OllamaRequest : ParsedRequest {
  OllamaRequest() { stream = true; }        // unless told otherwise
  std::optional<std::chrono::seconds> keep_alive;  // negative: for ever; 0: the model goes once it has answered
  bool loads_only = false;                  // nothing was asked: the model comes or, with keep_alive 0, goes
  int context_tokens = 0;                   // options.num_ctx
  Json messages = Json::array();            // in the shape of chat completions
  // /api/generate alone
  std::string prompt, system;
  Json images = Json::array();              // parts of the prompt's message, in front of a privacy gate
  bool raw = false;
  bool keeps_context() const { return !raw && !chat.suffix && !messages.empty(); }
};

Fault read_ollama_chat(std::string_view body, OllamaRequest& out);
Fault read_ollama_generate(std::string_view body, OllamaRequest& out);
Json ollama_chat_schema();  // of bodies, for /openapi.json
Json ollama_generate_schema();

// "5m", "1h30m", "-1s", 300, -1. Nothing when it is none.
std::optional<std::chrono::seconds> read_keep_alive(JsonView value);
// For rows of other bodies that have the field.
Fault keep_alive_fault(const std::string& name);

// ---- /api/generate's "context": the conversation so far, packed into numbers that only this server reads ----
Json pack_context(const Json& messages);
std::optional<Json> unpack_context(JsonView numbers);

// ---- for the more involved rows (ollama_messages.cpp) ----
// Images in base64 as content parts, in front of a privacy gate; otherwise a fault when there are any.
Fault read_ollama_images(bool gated, const FieldValue& value, Json& parts);
Fault read_ollama_messages(OllamaRequest& out, const std::string& name, JsonView messages);
