// sampler: against a plain twin in double precision, drawn often enough to see a wrong order of steps.
#include "engine/sampler.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

namespace {
TokenId sample(Sampler& sampler, std::span<const float> logits, const Sampling& s, std::span<const TokenId> history, int n_prompt, int index,
               std::span<const uint64_t> mask = {}, std::span<const TokenId> stop_ids = {}) {
  float mu = 2 * s.mirostat_tau;
  return sampler.sample({logits, history, n_prompt, index, mask, stop_ids, &mu}, s);
}

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
    for (const auto& [id, bias] : s.logit_bias) x[i] += id == static_cast<TokenId>(i) ? bias : 0;
  }
  double mean = 0, variance = 0;
  for (double v : x) mean += v / static_cast<double>(n);
  for (double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(n);
  const double top = *std::ranges::max_element(x);
  for (double& v : x) {
    if (s.top_n_sigma > 0 && v < top - s.top_n_sigma * std::sqrt(variance)) v = -INFINITY;
    v /= s.temperature;
  }
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] > x[b] || (x[a] == x[b] && a < b); });
  if (s.top_k > 0) order.resize(std::min<size_t>(n, static_cast<size_t>(s.top_k)));
  std::vector<double> p(n);
  if (s.typical_p < 1) {
    double z = 0, entropy = 0, kept_typical = 0;
    for (size_t i : order) z += std::exp(x[i]);
    for (size_t i : order) entropy -= std::exp(x[i]) == 0 ? 0 : std::exp(x[i]) / z * (x[i] - std::log(z));
    std::vector<size_t> by_typicality = order;
    std::ranges::sort(by_typicality, {}, [&](size_t i) { return std::pair(std::fabs(std::log(z) - x[i] - entropy), i); });
    std::set<size_t> kept_ids;
    for (size_t i : by_typicality) {
      if (!kept_ids.empty() && kept_typical >= s.typical_p) break;
      kept_ids.insert(i);
      kept_typical += std::exp(x[i]) / z;
    }
    std::erase_if(order, [&](size_t i) { return !kept_ids.contains(i); });
  }
  double total = 0;
  for (size_t i : order) total += p[i] = std::exp(x[i] - x[order[0]]);
  double sum = 0;
  size_t kept = 0;
  while (kept < order.size() && (s.top_p >= 1 || kept == 0 || sum < s.top_p * total)) sum += p[order[kept++]];
  for (size_t k = kept; k < order.size(); ++k) p[order[k]] = 0;
  total = 0;
  for (double& v : p) total += v = v < s.min_p ? 0 : v;
  for (double& v : p) v /= total;
  if (s.xtc_probability > 0) {  // a mixture of the cut distribution and the whole one
    std::vector<double> cut = p;
    std::vector<size_t> likely;
    for (size_t i : order)
      if (p[i] >= s.xtc_threshold) likely.push_back(i);
    if (likely.size() >= 2)
      for (size_t k = 0; k + 1 < likely.size(); ++k) cut[likely[k]] = 0;
    const double rest = std::accumulate(cut.begin(), cut.end(), 0.0);
    for (size_t i = 0; i < n; ++i) p[i] = (1 - s.xtc_probability) * p[i] + s.xtc_probability * cut[i] / rest;
  }
  return p;
}

void expect_same_distribution(std::span<const float> logits, const Sampling& s, std::span<const TokenId> history, size_t n_prompt) {
  Sampler sampler(static_cast<int>(logits.size()));
  const auto p = twin(logits, s, history, n_prompt);
  constexpr int draws = 20000;
  std::vector<int> seen(logits.size());
  for (int i = 0; i < draws; ++i) ++seen[static_cast<size_t>(sample(sampler, logits, s, history, static_cast<int>(n_prompt), i))];
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
                            {.top_k = 400},
                            {.typical_p = 0.6f},
                            {.top_p = 0.9f, .typical_p = 0.8f, .top_k = 60},
                            {.top_n_sigma = 1.5f},
                            {.temperature = 1.3f, .min_p = 0.02f, .xtc_probability = 0.5f, .xtc_threshold = 0.02f},
                            {.top_k = 30, .xtc_probability = 1, .xtc_threshold = 0.03f},
                            {.logit_bias = {{5, 4.0f}, {6, -INFINITY}}}};
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
    const auto id = static_cast<size_t>(sample(sampler, flat, s, {}, 0, i));
    EXPECT_GT(p[id], 0.0);
    different += !seen[id];
    seen[id] = true;
  }
  EXPECT_GT(different, 2000u);
}

TEST(Sampler, GreedyTakesTheLargestAndTheLowestIdOnTies) {
  Sampler sampler(6);
  const std::vector<float> logits{1, 5, 2, 5, -1, 5};
  EXPECT_EQ(sample(sampler, logits, {.temperature = 0}, {}, 0, 0), 1);
  EXPECT_EQ(sample(sampler, logits, {.temperature = 2, .top_k = 1}, {}, 0, 0), 1);
  const std::vector<TokenId> history{1, 1};
  EXPECT_EQ(sample(sampler, logits, {.temperature = 0, .presence_penalty = 1}, history, 0, 0), 3);
  EXPECT_EQ(sample(sampler, logits, {.temperature = 0, .repetition_penalty = 1.1f}, history, 2, 0), 3);
  EXPECT_EQ(sample(sampler, logits, {.temperature = 0, .presence_penalty = 1}, history, 2, 0), 1);  // of the prompt: not counted
  const std::vector<float> tied(6, 1.0f);
  for (int i = 0; i < 100; ++i) EXPECT_LT(sample(sampler, tied, {.top_k = 2}, {}, 0, i), 2);
}

TEST(Sampler, RefusesWhatIsNoDistribution) {
  Sampler sampler(3);
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  EXPECT_EQ(sample(sampler, std::vector<float>{1, nan, 2}, {}, {}, 0, 0), -1);
  EXPECT_EQ(sample(sampler, std::vector<float>{-inf, -inf, -inf}, {}, {}, 0, 0), -1);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(sample(sampler, std::vector<float>{-inf, 4, -inf}, {.top_p = 0.9f}, {}, 0, i), 1);
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

TEST(Sampler, NothingBehindTheMaskIsEverTaken) {
  const auto logits = normal_logits(300, 4);
  std::vector<uint64_t> mask(5);
  const std::set<TokenId> allowed{0, 63, 64, 129, 299};
  for (TokenId id : allowed) mask[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
  Sampler sampler(300);
  for (const Sampling& s : {Sampling{}, Sampling{.temperature = 0}, Sampling{.top_p = 0.9f}, Sampling{.typical_p = 0.5f}, Sampling{.temperature = 5, .top_k = 200},
                            Sampling{.mirostat = 2}, Sampling{.temperature = 3, .xtc_probability = 1, .xtc_threshold = 0.01f}})
    for (int i = 0; i < 300; ++i) EXPECT_TRUE(allowed.contains(sample(sampler, logits, s, {}, 0, i, mask)));
  EXPECT_EQ(sample(sampler, logits, {}, {}, 0, 0, std::vector<uint64_t>(5)), -1);
}

TEST(Sampler, NoStopTokenBeforeMinTokens) {
  const std::vector<float> logits{1, 9, 2};
  const std::vector<TokenId> stops{1};
  Sampler sampler(3);
  EXPECT_EQ(sample(sampler, logits, {.temperature = 0, .min_tokens = 2}, {}, 0, 1, {}, stops), 2);
  EXPECT_EQ(sample(sampler, logits, {.temperature = 0, .min_tokens = 2}, {}, 0, 2, {}, stops), 1);
}

TEST(Sampler, DryLowersWhatWouldProlongARepetition) {
  const std::vector<float> flat(10, 1.0f);
  const std::vector<TokenId> history{1, 2, 3, 4, 9, 1, 2, 3};  // 4 would make the repetition longer than three
  Sampler sampler(10);
  const auto share = [&](const Sampling& s) {
    int fours = 0;
    for (int i = 0; i < 2000; ++i) fours += sample(sampler, flat, s, history, 0, i) == 4;
    return fours / 2000.0;
  };
  EXPECT_NEAR(share({}), 0.1, 0.03);
  const double penalty = 0.5 * 1.75, e = std::exp(-penalty);  // length 3, allowed 2
  EXPECT_NEAR(share({.dry_multiplier = 0.5f}), e / (9 + e), 0.015);
  EXPECT_NEAR(share({.dry_multiplier = 0.5f, .dry_allowed_length = 4}), 0.1, 0.03);
  EXPECT_NEAR(share({.dry_multiplier = 0.5f, .dry_penalty_last_n = 4}), 0.1, 0.03);        // the first occurrence is out of the window
  EXPECT_NEAR(share({.dry_multiplier = 0.5f, .dry_breakers = {2}}), 0.1, 0.03);            // a repetition of one token only
}

TEST(Sampler, MirostatHoldsTheSurpriseNearItsTarget) {
  const auto logits = normal_logits(2000, 5);
  double z = 0;
  for (float x : logits) z += std::exp(static_cast<double>(x));
  const double peak = -std::log2(std::exp(static_cast<double>(*std::ranges::max_element(logits))) / z);
  for (float tau : {3.0f, 5.0f}) {
    const Sampling s{.mirostat = 2, .mirostat_tau = tau, .mirostat_eta = 0.05f, .seed = 1};
    Sampler sampler(2000);
    float mu = 2 * tau;
    double seen = 0;
    for (int i = 0; i < 3000; ++i) {
      const float before = mu;
      const TokenId id = sampler.sample({.logits = logits, .history = {}, .index = i, .surprise = &mu}, s);
      const double surprise = -std::log2(std::exp(static_cast<double>(logits[static_cast<size_t>(id)])) / z);
      EXPECT_LE(surprise, std::max(static_cast<double>(before), peak) + 1e-3);
      if (i >= 1000) seen += (tau + (before - mu) / s.mirostat_eta) / 2000;  // as the controller saw it, of the tokens that were left
    }
    EXPECT_NEAR(seen, tau, 0.1);
    EXPECT_GT(mu, tau);
  }
}
