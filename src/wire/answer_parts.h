// answer: usage, timings, cache reports and log probabilities, as members of an answer.
#pragma once
#include <vector>
#include "chat/chat.h"
#include "core/json_writer.h"

const char* reason_name(Finish::Reason reason);            // "stop", "length", "tool_calls"
// Prompt tokens once for every `per_prompt` finishes, answers all together.
Json usage_json(const std::vector<Finish>& finishes, int per_prompt);
Json timings_json(const Finish& finish);                   // llama.cpp's names
Json cache_json(const CacheReport& report);
Json chat_logprobs(const std::vector<TokenLogprob>& tokens);
// `offset`: characters before these tokens; moved on.
Json completion_logprobs(const std::vector<TokenLogprob>& tokens, int64_t& offset);
Finish sum_of(const std::vector<Finish>& finishes);        // tokens and times together
