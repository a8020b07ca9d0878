// selftest: the parts of the self-check: what is asked, what came out, and the lines that say so.
#pragma once
#include <memory>
#include "app/open.h"

// One answer of the engine, with the figures that comparisons need.
struct Trial {
  std::vector<TokenId> ids;       // greedy
  std::vector<float> gaps;        // best minus second-best logit, per token
  std::vector<float> first_row;   // the logits behind the first token
  Finish finish;
};
Result<Trial> try_prompt(Engine& engine, std::span<const TokenId> prompt, int n_tokens, bool use_cache);

// One line of the report.
struct Line { std::string name, figures; bool ok = true, skipped = false; };

// What two sets of trials have in common.
struct Comparison {
  int equal = 0, ties = 0, different = 0;  // a tie: they part where the two best logits lie within `tie_gap`
  float largest_difference = 0;            // over the first rows
  std::string text() const;
};
constexpr float kTieGap = 1e-3f;           // of float32 sums in another order (../shared/oracles measures up to 1e-4)
Comparison compare(std::span<const Trial> a, std::span<const Trial> b);

// Prompts for a model: pieces of an English text, or spread-out ids when its vocabulary is a dummy.
class Prompts {
 public:
  Prompts(const Tokenizer* tokenizer, int vocabulary);
  std::vector<TokenId> make(int length, int variant) const;
  bool real() const { return real_; }

 private:
  std::vector<TokenId> text_;
  int vocabulary_;
  bool real_ = false;
};

// The checks. Each opens what it needs and gives one line or more.
struct SelftestContext {
  Options options;
  Prompts prompts;
  std::vector<Line> lines;
  std::function<void(const Line&)> say;
  void add(Line line) { say(line), lines.push_back(std::move(line)); }
};
Result<OpenedModel> open_for_test(const Options& options, int prefill_chunk);
Status check_batch(SelftestContext& context, OpenedModel& model);
Status check_cache(SelftestContext& context, OpenedModel& model);
Status check_chunks(SelftestContext& context);
Status check_threads(SelftestContext& context);
Status check_isas(SelftestContext& context);
Status check_precision(SelftestContext& context);
