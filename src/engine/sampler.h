// sampler: from one row of logits to one token. Deterministic in (logits, settings, history, index); knows nothing of batches.
#pragma once
#include <vector>
#include "chat/chat.h"
#include "core/core.h"

// One draw. `state` belongs to the sequence.
struct Draw {
  std::span<const float> logits;         // only ids that may be sampled
  std::span<const TokenId> history;      // prompt and answer so far
  int n_prompt = 0, index = 0;           // index: number of the token in the answer
  std::span<const uint64_t> mask{};      // bit i of word i / 64: token i may come next; empty: any may
  std::span<const TokenId> stop_ids{};   // what min_tokens forbids
  float* surprise = nullptr;             // mirostat's mu; needed when it is on
};

// Order, as Hugging Face and vLLM apply what they have:
//   bias         logit + bias
//   repetition   over the last repeat_last_n tokens of prompt and answer: a positive logit is divided, a negative one multiplied, once per id
//   frequency, presence   over the answer only: logit - count * frequency - presence
//   DRY          a token that would prolong a repetition of n >= dry_allowed_length tokens: logit - dry_multiplier * dry_base^(n - dry_allowed_length)
//   mask, min_tokens   what may not come is minus infinity
//   top-n-sigma  logits at least max - n * standard deviation (of those that are finite)
//   temperature
//   mirostat 2   in place of all that follows: tokens whose surprise -log2 p is at most mu; then mu -= eta * (surprise - tau), from mu = 2 tau
//   top-k        the k largest; equal logits: lower id first (as everywhere here)
//   typical      of those, renormalised: nearest to the entropy first, until their probabilities reach typical_p
//   top-p        of those, renormalised: the shortest run, best first, whose probabilities reach top_p; at least one
//   min-p        of those: probability at least min_p times the largest
//   XTC          with probability xtc_probability: of those with at least xtc_threshold (when there are two or more) all but the least likely go
//   draw
// temperature 0 (or top_k 1) takes the largest logit behind the mask. One Sampler serves all sequences of an engine: it holds scratch only.
class Sampler {
 public:
  explicit Sampler(int vocab_size);
  // -1 when the logits are not numbers one could sample from (NaN, or all of them minus infinity).
  TokenId sample(const Draw& draw, const Sampling& settings);

 private:
  // ---- adjust.cpp: what changes the row ----
  std::span<const float> adjusted(const Draw& draw, const Sampling& s);
  std::span<float> own(std::span<const float> row);  // a copy that may be changed; the row itself when it is one already
  void repeat_penalties(std::span<float> row, const Draw& draw, const Sampling& s);
  void dry_penalty(std::span<float> row, const Draw& draw, const Sampling& s);
  std::span<const float> keep_typical(std::span<const float> row, const Sampling& s, float best);
  // ---- sampler.cpp ----
  TokenId draw_unsorted(std::span<const float> row, const Sampling& s, float best, double uniform);
  TokenId draw_sorted(std::span<const float> row, const Sampling& s, float best, double uniform);
  TokenId draw_mirostat(std::span<const float> row, const Sampling& s, float best, double uniform, float& mu);
  void select(std::span<const float> row, size_t count);  // the best `count` ids into candidates_, best first

  std::vector<float> adjusted_;      // [vocab] the row after what was done to it
  std::vector<int32_t> counts_;      // [vocab] all 0 between calls
  std::vector<int32_t> matches_;     // DRY: repeated lengths by position
  std::vector<TokenId> candidates_;  // reserved [vocab]
  std::vector<std::pair<float, TokenId>> deviations_;  // typical
  bool xtc_ = false;                 // of this draw
};

// The index-th number in [0, 1) of a stream named by seed: a function of its arguments only, so that neither batch mates nor
// preemption can shift it.
double counter_uniform(uint64_t seed, uint64_t index);
