// answer_constraint: what one answer may look like: a thinking budget, then a grammar, from the first token or from a tool call's markup on.
#pragma once
#include <deque>
#include <map>
#include <mutex>
#include "engine/engine.h"
#include "engine/prompt.h"
#include "text/grammar.h"
#include "text/tools.h"

// The tools of one request, and whether it must or may call them.
struct ToolUse {
  const ToolSyntax* syntax = nullptr;  // null: none are offered
  std::vector<ToolSpec> specs;
  bool forced = false, strict = false, parallel = true;
};
Result<ToolUse> read_tool_use(const CompleterParts& parts, const ToolSyntax* syntax, const ChatRequest& request);

// The grammars of one model's requests, compiled once each.
class Grammars {
 public:
  Grammars(std::shared_ptr<const Tokenizer> tokenizer, std::vector<TokenId> ends) : tokenizer_(std::move(tokenizer)), ends_(std::move(ends)) {}
  // What follows the thinking; null when nothing is constrained. `newlines`: a think block comes before it.
  Result<std::shared_ptr<const Grammar>> of(const ChatRequest& request, const ToolUse& tools, bool newlines);
  // `calls`: control tokens of that syntax's markup may be written; null: none may.
  std::shared_ptr<const TokenTrie> tokens(const ToolSyntax* calls);

 private:
  static constexpr size_t most_kept = 64;
  const std::shared_ptr<const Tokenizer> tokenizer_;
  const std::vector<TokenId> ends_;
  std::mutex mutex_;
  std::shared_ptr<const TokenTrie> plain_tokens_, call_tokens_;
  std::map<std::string, std::pair<uint64_t, std::shared_ptr<const Grammar>>> kept_;  // with the time of last use
  uint64_t clock_ = 0;
};

// Notices that the end of a text repeats itself.
class LoopDetector {
 public:
  bool push(TokenId id);  // true: the last tokens are one sequence again and again

 private:
  static constexpr size_t longest_period = 400, least_run = 160, looks_every = 32;
  std::vector<TokenId> ids_;
};

class AnswerConstraint final : public TokenConstraint {
 public:
  struct Plan {
    std::shared_ptr<const Tokenizer> tokenizer;
    std::shared_ptr<const Grammar> grammar;      // null: only the thinking is watched
    std::shared_ptr<const TokenTrie> tokens;
    std::string trigger;                         // the grammar holds from this text on; "": from the first byte
    std::vector<TokenId> stop_ids;
    std::optional<int> budget;                   // of thinking, in tokens
    bool inside_think = false, may_open_think = false;
  };
  explicit AnswerConstraint(Plan plan);
  std::span<const uint64_t> mask() override;
  std::optional<TokenId> forced() override;
  void accept(TokenId id) override;
  void jump(std::vector<TokenId>& out) override;
  bool ended() const override;
  // Read when the answer has ended.
  bool cut_by_budget() const { return cut_by_budget_; }
  bool cut_by_loop() const { return cut_by_loop_; }
  bool failed() const { return failed_; }        // the answer could not be kept to its grammar

 private:
  enum class Phase : uint8_t { undecided, thinking, answer };
  void think(std::string_view bytes, TokenId id);
  void close_thinking();
  void answer(std::string_view bytes, std::optional<TokenId> id);
  void watch_for_trigger(std::string_view bytes);
  void feed(std::string_view bytes, std::optional<TokenId> id);

  const Plan plan_;
  Phase phase_;
  std::unique_ptr<GrammarMatcher> matcher_;
  bool bound_ = false;                           // the grammar holds now
  bool cut_by_budget_ = false, cut_by_loop_ = false, failed_ = false;
  std::string seen_;                             // the end of what was thought, or said while the trigger is waited for
  std::deque<TokenId> queue_;                    // forced tokens
  std::vector<uint64_t> own_mask_;
  LoopDetector loops_;
  int thought_ = 0;
};
