// sampler: from one row of logits to one token. Deterministic in (logits, settings, history, index); knows nothing of batches.
#pragma once
#include <vector>
#include "chat/chat.h"
#include "core/core.h"

// Order, as Hugging Face and vLLM apply them: repetition, frequency and presence penalties; temperature; top-k; top-p; min-p; draw.
//   repetition   over the last repeat_last_n tokens of prompt and answer: a positive logit is divided, a negative one multiplied, once per id
//   frequency, presence   over the answer only: logit - count * frequency - presence
//   top-k        the k largest; equal logits: lower id first (as everywhere here)
//   top-p        of those, renormalised: the shortest run, best first, whose probabilities reach top_p; at least one
//   min-p        of those: probability at least min_p times the largest
// temperature 0 (or top_k 1) takes the largest logit after penalties. One Sampler serves all sequences of an engine: it holds scratch only.
class Sampler {
 public:
  explicit Sampler(int vocab_size);
  // history: prompt and answer so far. index: number of the token in the answer. logits: only ids that may be sampled.
  // -1 when the logits are not numbers one could sample from (NaN, or all of them minus infinity).
  TokenId sample(std::span<const float> logits, const Sampling& settings, std::span<const TokenId> history, int n_prompt, int index);

 private:
  std::span<const float> penalised(std::span<const float> row, const Sampling& s, std::span<const TokenId> history, int n_prompt);
  TokenId draw_unsorted(std::span<const float> row, const Sampling& s, float best, double uniform);
  TokenId draw_sorted(std::span<const float> row, const Sampling& s, float best, double uniform);
  void select(std::span<const float> row, size_t count);  // the best `count` ids into candidates_, best first

  std::vector<float> adjusted_;      // [vocab] the row after penalties
  std::vector<int32_t> counts_;      // [vocab] all 0 between calls
  std::vector<TokenId> candidates_;  // reserved [vocab]
};

// The index-th number in [0, 1) of a stream named by seed: a function of its arguments only, so that neither batch mates nor
// preemption can shift it.
double counter_uniform(uint64_t seed, uint64_t index);
