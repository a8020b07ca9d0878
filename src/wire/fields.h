// fields: the request fields of the OpenAI dialect: one table of names, types, ranges and where each value goes.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "chat/chat.h"
#include "core/json.h"
#include "core/json_writer.h"
#include "wire/exchange.h"

enum class Dialect : uint8_t { chat = 1, completions = 2, both = 3 };

// A request body, understood.
struct ParsedRequest {
  ChatRequest chat;
  bool stream = false, include_usage = false, timings = true, strict = false;
  std::vector<std::string> ignored;          // what had no effect, as named in X-Ignored-Fields
  // Values that only make sense together with others; settled at the end.
  std::optional<int> max_completion_tokens, top_logprobs;
  bool logprobs = false, tools_off = false;
  Json kwargs = Json::object();
};

// Fills `out`, or says what is wrong, naming the field.
std::optional<ApiError> parse_request(Dialect dialect, std::string_view body, ParsedRequest& out);

// ---- for the table's more involved rows (messages.cpp) ----
using Fault = std::optional<ApiError>;
Fault fault(std::string param, std::string message, std::string code = "invalid_value");
Json copy(JsonView value);
const char* kind_name(JsonView value);       // "a string", "null", … for messages
// Roles checked, developer and system merged into one leading system message, text parts joined, `reasoning` renamed.
Fault read_messages(ParsedRequest& out, JsonView messages);
Fault read_tools(ParsedRequest& out, JsonView tools);
Fault read_tool_choice(ParsedRequest& out, JsonView choice);
Fault read_prompt(ParsedRequest& out, JsonView prompt);
