// answer: the OpenAI dialect's answers to chat and completion requests, whole or chunk by chunk.
#pragma once
#include <chrono>
#include <map>
#include <string>
#include <vector>
#include "chat/chat.h"
#include "core/json_writer.h"
#include "wire/backend.h"
#include "wire/fields.h"

// Calls of tools as they stream in.
class ToolCalls {
 public:
  // {"index","id","type","function":{"name","arguments"}} for the first delta of a call, {"index","function":{"arguments"}} afterwards.
  Json delta(const Delta& delta);
  Json whole() const;  // list of {"id","type","function"}
  bool empty() const { return calls_.empty(); }

 private:
  struct Call { std::string id, name, arguments; };
  std::map<int, Call> calls_;
};

// Builds the chunks of one answer and gathers the same pieces for a whole one, so that both say the same.
class Answer {
 public:
  // `prefixes`: what each choice begins with, when the request asked for it.
  Answer(Dialect dialect, const ParsedRequest& request, const ServerOptions& options, std::vector<std::string> prefixes);
  // ---- streamed, in this order for each choice ----
  std::vector<Json> first_chunks(size_t choice) const;        // the role, the prefix
  Json delta_chunk(size_t choice, const Delta& delta);        // null: nothing to say
  Json finish_chunk(size_t choice, const Finish& finish) const;
  Json usage_chunk(const std::vector<Finish>& finishes) const;  // when the request asked for it
  // ---- whole ----
  void add(size_t choice, const Delta& delta);
  Json whole(const std::vector<Finish>& finishes) const;

 private:
  struct Choice {
    std::string text, reasoning;
    ToolCalls calls;
    Json logprobs;
    int64_t logprob_offset = 0;                   // in characters of the answer, for completions
    int tokens = 0, prompt_tokens = 0, cached_tokens = -1;  // so far
    std::optional<std::chrono::steady_clock::time_point> first_token;
  };
  Json envelope(const char* object) const;
  Json chunk(Json choice) const;
  Json chunk_object(size_t choice, Json members, const Json& logprobs) const;
  Json progress_chunk(size_t choice, const Delta& delta);
  Json reasoning_members(const std::string& text) const;
  Json logprobs_of(Choice& choice, const std::vector<TokenLogprob>& tokens) const;
  void count(Choice& choice, const Delta& delta) const;
  void add_so_far(Json& chunk, const Choice& choice) const;
  void add_report(Json& out, const std::vector<Finish>& finishes) const;  // timings, cache, warnings
  const Dialect dialect_;
  const ParsedRequest& request_;
  const std::string& reasoning_field_;
  const std::string id_;
  const int64_t created_;
  const std::chrono::steady_clock::time_point started_;
  std::vector<std::string> prefixes_;
  std::vector<Choice> choices_;
};

// All warnings of an answer as X-Calla-Warnings, or no header.
Headers warnings_header(const std::vector<Finish>& finishes);
