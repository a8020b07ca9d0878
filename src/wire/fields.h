// fields: the request fields that dialects share, and what a body of the OpenAI dialect says with them.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include "chat/chat.h"
#include "wire/table.h"

enum class Dialect : uint8_t { chat, completions };

struct Prompt { std::string text; std::vector<TokenId> ids; };  // ids when there are any

// A request body, understood.
struct ParsedRequest {
  ChatRequest chat;
  bool stream = false, strict = false;
  bool gated = false;                        // ServerOptions::gated, set before a body is read
  std::vector<std::string> ignored;          // what had no effect, as named in X-Ignored-Fields
  bool include_usage = false, continuous_usage = false, timings = true, timings_per_token = false, echo = false;
  int n = 1;                                 // answers to each prompt
  std::vector<Prompt> prompts;               // completions; chat.prompt and chat.prompt_ids are set for each in turn

  // Values that only make sense together with others; settled at the end.
  std::optional<int> max_completion_tokens, top_logprobs, best_of;
  std::optional<bool> add_generation_prompt;
  bool logprobs = false;
  Json kwargs = Json::object();
  std::string constrained_by, thinks_by;     // the field that asked for a constraint, for a way of thinking
  std::optional<std::vector<std::string>> allowed_tools;
};

// Fills `out`, or says what is wrong, naming the field.
Fault parse_request(Dialect dialect, std::string_view body, ParsedRequest& out);
// What this model cannot honour is refused or listed; then `strict` refuses what is listed.
Fault settle_for(const ModelInfo& model, ParsedRequest& out);
bool can_call(const ModelInfo& model);                             // tools; true also while the template is not known
bool heeds_thinking(const ModelInfo& model, bool by_effort);       // a switch for thinking, or its effort

// ---- tables, for this dialect and others; each row stands once, in one of them ----
using Rows = std::span<const Row<ParsedRequest>>;
Rows sampling_rows();   // temperature … stop, logit_bias, seed
Rows serving_rows();    // cache, progress, priority, deadlines
Rows format_rows();     // response_format and all other spellings of a constraint
Rows thinking_rows();   // enable_thinking, effort, budgets, chat_template_kwargs
Rows base_rows();       // strict, model, stream
Rows openai_rows();     // stream_options, n, limits: chat completions and completions alike
Rows chat_rows();       // messages and tools
Rows completion_rows(); // prompt, suffix, echo
std::vector<Rows> tables_of(Dialect dialect);

// What settles after all rows: template words, tools against tool_choice, one way to continue the last message.
Fault settle_chat(ParsedRequest& out);
// A second constraint in one request is a 400 that names both fields.
Fault constrain(ParsedRequest& out, const std::string& field, Constraint::Kind kind, std::string text);
Fault set_response_format(ParsedRequest& out, const FieldValue& value);  // also with the schema beside the type, as Responses has it
Fault set_stop(ParsedRequest& out, const FieldValue& value);
Fault set_effort(ParsedRequest& out, const FieldValue& value);  // of reasoning
inline constexpr const char* effort_words = "none minimal low medium high xhigh max";
bool read_token_ids(JsonView list, std::vector<TokenId>& ids);  // false when it holds anything else
