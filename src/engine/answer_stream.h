// answer_stream: turns the tokens of one answer into deltas: whole characters, thinking split off, stop strings, tool calls.
#pragma once
#include "engine/answer_constraint.h"
#include "engine/reasoning.h"

class AnswerStream {
 public:
  AnswerStream(std::shared_ptr<const Tokenizer> tokenizer, const ChatRequest& request, const RenderedPrompt& prompt, const std::vector<TokenId>& stop_ids, const ToolUse& tools, const Sink& out);
  bool push(const TokenEvent& event);  // false: no more tokens are wanted
  void end();                          // no more will come
  bool gone() const { return gone_; }  // the reader has
  // Fills in what only the answer knows: why it ended, what was thought, what went wrong.
  void settle(Finish& finish) const;
  std::string raw_text() const;        // of everything but the stop token, control tokens included
  const std::vector<TokenId>& ids() const { return ids_; }

 private:
  bool take(std::string_view text);              // of the whole answer
  bool take_content(std::string_view content);   // what is said: prose and calls
  bool take_event(const ToolEvent& event);
  bool say(std::string_view prose);
  bool note_cut();
  bool emit(Delta delta);
  const std::shared_ptr<const Tokenizer> tokenizer_;
  Detokenizer detokenizer_;
  ReasoningSplit split_;
  StopMatcher stops_;
  std::unique_ptr<ToolParser> parser_;           // null: no tools
  const std::vector<std::string>& stop_texts_;
  const std::vector<TokenId>& stop_ids_;
  const Sink& out_;
  const bool splits_;
  const int top_logprobs_;
  const bool forced_calls_;
  bool gone_ = false, stopped_ = false, cut_ = false;
  int n_calls_ = 0, n_tokens_ = 0, reasoning_tokens_ = 0;
  std::vector<TokenId> ids_;
  std::vector<TokenLogprob> logprobs_;           // of tokens whose text has not gone out yet
  std::vector<ToolEvent> events_;
  std::vector<std::string> warnings_;
  std::string piece_, reasoning_, content_, said_;
  std::string tail_;                             // the end of the prose, to know which stop string was met
};
