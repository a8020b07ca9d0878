// answer: the OpenAI dialect's answers to chat and completion requests, whole or chunk by chunk.
#pragma once
#include <string>
#include "chat/chat.h"
#include "core/json_writer.h"
#include "wire/backend.h"
#include "wire/fields.h"

// Builds the chunks of one answer and gathers the same pieces for a whole one, so that both say the same.
class Answer {
 public:
  Answer(Dialect dialect, const ParsedRequest& request);
  // ---- streamed, in this order ----
  bool has_first_chunk() const { return dialect_ == Dialect::chat; }
  Json first_chunk() const;                       // the role
  Json delta_chunk(const Delta& delta);
  Json finish_chunk(const Finish& finish) const;
  Json usage_chunk(const Finish& finish) const;   // when the request asked for it
  // ---- whole ----
  void add(const Delta& delta);
  Json whole(const Finish& finish) const;

 private:
  Json envelope(const char* object) const;
  Json chunk(Json choice) const;
  Json logprobs_of(const std::vector<TokenLogprob>& tokens);
  const Dialect dialect_;
  const ParsedRequest& request_;
  const std::string id_;
  const int64_t created_;
  std::string text_, reasoning_;
  Json logprobs_;                                 // of the whole answer
  int64_t logprob_offset_ = 0;                    // in characters of the answer, for completions
};
