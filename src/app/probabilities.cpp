// probabilities: plain loops in double.
#include "app/probabilities.h"

#include <algorithm>
#include <cmath>
#include <limits>

double log_sum_exp(std::span<const float> logits) {
  if (logits.empty()) return 0;
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - largest);
  return largest + std::log(sum);
}

double log_probability(std::span<const float> logits, TokenId id) {
  if (id < 0 || static_cast<size_t>(id) >= logits.size()) return -std::numeric_limits<double>::infinity();
  return static_cast<double>(logits[static_cast<size_t>(id)]) - log_sum_exp(logits);
}

double divergence(std::span<const float> p_logits, std::span<const float> q_logits) {
  const double p_norm = log_sum_exp(p_logits), q_norm = log_sum_exp(q_logits);
  double sum = 0;
  for (size_t i = 0; i < std::min(p_logits.size(), q_logits.size()); i++) {
    const double p = static_cast<double>(p_logits[i]) - p_norm;
    if (p > -80) sum += std::exp(p) * (p - (static_cast<double>(q_logits[i]) - q_norm));
  }
  return std::max(0.0, sum);
}

TokenId best(std::span<const float> logits) { return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin()); }

float largest_difference(std::span<const float> a, std::span<const float> b) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (a.size() != b.size()) return kInfinity;
  float worst = 0;
  for (size_t i = 0; i < a.size(); i++) {
    const float difference = a[i] == b[i] ? 0 : std::fabs(a[i] - b[i]);
    if (std::isnan(difference)) return kInfinity;
    worst = std::max(worst, difference);
  }
  return worst;
}
