// sampler: against a plain twin in double precision, drawn often enough to see a wrong order of steps.
#include "engine/sampler.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace {
// The probabilities that the settings describe, written as a person would: sort everything, cut, renormalise.
std::vector<double> twin(std::span<const float> logits, const Sampling& s, std::span<const TokenId> history, size_t n_prompt) {
  const size_t n = logits.size();
  std::vector<double> x(logits.begin(), logits.end());
  const size_t window = s.repeat_last_n < 0 ? history.size() : std::min<size_t>(history.size(), static_cast<size_t>(s.repeat_last_n));
  std::vector<bool> recent(n);
  for (TokenId id : history.last(window)) recent[static_cast<size_t>(id)] = true;
  std::vector<int> count(n);
  for (TokenId id : history.subspan(n_prompt)) ++count[static_cast<size_t>(id)];
  for (size_t i = 0; i < n; ++i) {
    if (recent[i]) x[i] = x[i] > 0 ? x[i] / s.repetition_penalty : x[i] * s.repetition_penalty;
    x[i] -= count[i] * s.frequency_penalty + (count[i] > 0 ? s.presence_penalty : 0);
    x[i] /= s.temperature;
  }
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] > x[b] || (x[a] == x[b] && a < b); });
  if (s.top_k > 0) order.resize(std::min<size_t>(n, static_cast<size_t>(s.top_k)));
  std::vector<double> p(n);
  double total = 0;
  for (size_t i : order) total += p[i] = std::exp(x[i] - x[order[0]]);
  double sum = 0;
  size_t kept = 0;
  while (kept < order.size() && (s.top_p >= 1 || kept == 0 || sum < s.top_p * total)) sum += p[order[kept++]];
  for (size_t k = kept; k < order.size(); ++k) p[order[k]] = 0;
  total = 0;
  for (double& v : p) total += v = v < s.min_p ? 0 : v;
  for (double& v : p) v /= total;
  return p;
}

void expect_same_distribution(std::span<const float> logits, const Sampling& s, std::span<const TokenId> history, size_t n_prompt) {
  Sampler sampler(static_cast<int>(logits.size()));
  const auto p = twin(logits, s, history, n_prompt);
  constexpr int draws = 20000;
  std::vector<int> seen(logits.size());
  for (int i = 0; i < draws; ++i) ++seen[static_cast<size_t>(sampler.sample(logits, s, history, static_cast<int>(n_prompt), i))];
  double chi = 0;
  int cells = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0) { EXPECT_EQ(seen[i], 0) << i; }
    if (p[i] * draws < 5) continue;
    chi += (seen[i] - p[i] * draws) * (seen[i] - p[i] * draws) / (p[i] * draws);
    ++cells;
  }
  EXPECT_LT(chi, cells + 5 * std::sqrt(2.0 * cells) + 5) << "cells " << cells;  // mean and spread of chi squared
}

std::vector<float> normal_logits(int n, uint64_t seed, float spread = 2) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = normal(random);
  return x;
}
}  // namespace

TEST(Sampler, FollowsTheTwin) {
  const auto logits = normal_logits(400, 1);
  const std::vector<TokenId> history{1, 2, 3, 3, 7, 7, 7, 20, 21, 22};
  std::vector<Sampling> all{{},
                            {.temperature = 0.5f},
                            {.top_k = 10},
                            {.top_p = 0.7f},
                            {.temperature = 1.4f, .top_p = 0.99f},
                            {.min_p = 0.05f},
                            {.top_p = 0.8f, .min_p = 0.1f, .top_k = 50},
                            {.temperature = 0.7f, .top_p = 0.95f, .top_k = 20},
                            {.repetition_penalty = 1.5f},
                            {.repetition_penalty = 1.5f, .repeat_last_n = 3},
                            {.repetition_penalty = 1.2f, .presence_penalty = 1.5f, .frequency_penalty = 0.5f, .repeat_last_n = -1},
                            {.top_p = 0},
                            {.top_k = 400}};
  for (auto& s : all) {
    s.seed = 11;
    SCOPED_TRACE(testing::Message() << s.temperature << " p " << s.top_p << " min " << s.min_p << " k " << s.top_k << " r " << s.repetition_penalty);
    expect_same_distribution(logits, s, history, 4);
  }
}

TEST(Sampler, TopPOverALargeVocabularyGrowsItsSelection) {
  const auto flat = normal_logits(5000, 2, 0.01f);  // nearly uniform: top_p 0.9 keeps some 4500 of them
  Sampler sampler(5000);
  const Sampling s{.top_p = 0.9f, .seed = 3};
  const auto p = twin(flat, s, {}, 0);
  size_t different = 0;
  std::vector<bool> seen(5000);
  for (int i = 0; i < 3000; ++i) {
    const auto id = static_cast<size_t>(sampler.sample(flat, s, {}, 0, i));
    EXPECT_GT(p[id], 0.0);
    different += !seen[id];
    seen[id] = true;
  }
  EXPECT_GT(different, 2000u);
}

TEST(Sampler, GreedyTakesTheLargestAndTheLowestIdOnTies) {
  Sampler sampler(6);
  const std::vector<float> logits{1, 5, 2, 5, -1, 5};
  EXPECT_EQ(sampler.sample(logits, {.temperature = 0}, {}, 0, 0), 1);
  EXPECT_EQ(sampler.sample(logits, {.temperature = 2, .top_k = 1}, {}, 0, 0), 1);
  const std::vector<TokenId> history{1, 1};
  EXPECT_EQ(sampler.sample(logits, {.temperature = 0, .presence_penalty = 1}, history, 0, 0), 3);
  EXPECT_EQ(sampler.sample(logits, {.temperature = 0, .repetition_penalty = 1.1f}, history, 2, 0), 3);
  EXPECT_EQ(sampler.sample(logits, {.temperature = 0, .presence_penalty = 1}, history, 2, 0), 1);  // of the prompt: not counted
  const std::vector<float> tied(6, 1.0f);
  for (int i = 0; i < 100; ++i) EXPECT_LT(sampler.sample(tied, {.top_k = 2}, {}, 0, i), 2);
}

TEST(Sampler, RefusesWhatIsNoDistribution) {
  Sampler sampler(3);
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  EXPECT_EQ(sampler.sample(std::vector<float>{1, nan, 2}, {}, {}, 0, 0), -1);
  EXPECT_EQ(sampler.sample(std::vector<float>{-inf, -inf, -inf}, {}, {}, 0, 0), -1);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(sampler.sample(std::vector<float>{-inf, 4, -inf}, {.top_p = 0.9f}, {}, 0, i), 1);
}

TEST(Sampler, UniformIsAFunctionOfSeedAndIndex) {
  EXPECT_EQ(counter_uniform(1, 2), counter_uniform(1, 2));
  double sum = 0, squares = 0, product = 0;
  for (uint64_t i = 0; i < 100000; ++i) {
    const double u = counter_uniform(i / 1000, i % 1000), next = counter_uniform(i / 1000, i % 1000 + 1);
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u;
    squares += u * u;
    product += (u - 0.5) * (next - 0.5);
  }
  EXPECT_NEAR(sum / 1e5, 0.5, 0.004);
  EXPECT_NEAR(squares / 1e5, 1.0 / 3, 0.004);
  EXPECT_NEAR(product / 1e5, 0, 0.001);
}
