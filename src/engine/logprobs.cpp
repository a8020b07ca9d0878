// logprobs: one pass for the sum, one partial selection for the best.
#include "engine/logprobs.h"
#include <algorithm>
#include <cmath>

TokenLogprob token_logprob(const Tokenizer& tokenizer, TokenId id, std::span<const float> logits, int n_best) {
  const double largest = static_cast<double>(*std::ranges::max_element(logits));
  double sum = 0;
  for (float x : logits) sum += std::exp(static_cast<double>(x) - largest);
  const double log_sum = largest + std::log(sum);
  const auto logprob = [&](TokenId i) { return static_cast<float>(static_cast<double>(logits[static_cast<size_t>(i)]) - log_sum); };
  TokenLogprob result{id, std::string(tokenizer.bytes(id, false)), logprob(id), {}};
  if (n_best <= 0) return result;
  const auto better = [&](TokenId a, TokenId b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  std::vector<TokenId> best;
  const size_t n = std::min(static_cast<size_t>(n_best), logits.size());
  for (TokenId i = 0; i < static_cast<TokenId>(logits.size()); ++i) {  // a heap with the worst of the best on top
    if (best.size() == n) {
      if (!better(i, best.front())) continue;
      std::ranges::pop_heap(best, better);
      best.pop_back();
    }
    best.push_back(i);
    std::ranges::push_heap(best, better);
  }
  std::ranges::sort(best, better);
  for (TokenId i : best) result.top.emplace_back(tokenizer.bytes(i, false), logprob(i));
  return result;
}
