// draw: what a device must draw, the plain way.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>
#include "device/device.h"

// One draw as SampleSpec and engine/sampler.h describe it, by sorting everything.
inline TokenId sorted_draw(std::span<const float> logits, const SampleSpec& s) {
  const auto row = logits.first(static_cast<size_t>(s.n_valid_ids));
  struct Token { TokenId id; float logit, weight; };
  std::vector<Token> tokens;
  for (size_t i = 0; i < row.size(); ++i) tokens.push_back({static_cast<TokenId>(i), row[i], 0});
  if (std::ranges::any_of(row, [](float x) { return x != x; }) || tokens.empty()) return -1;
  std::ranges::sort(tokens, [](const Token& a, const Token& b) { return std::pair(-a.logit, a.id) < std::pair(-b.logit, b.id); });
  if (tokens.front().logit == -INFINITY) return -1;
  if (s.temperature <= 0 || s.top_k == 1 || tokens.front().logit == INFINITY) return tokens.front().id;
  for (Token& t : tokens) t.weight = std::exp((t.logit - tokens.front().logit) / s.temperature);
  const bool limited = s.top_k > 0 && s.top_k < s.n_valid_ids;
  if (limited) tokens.resize(static_cast<size_t>(s.top_k));
  double total = 0, sum = 0;
  for (const Token& t : tokens) total += static_cast<double>(t.weight);
  if (s.top_p < 1) {
    size_t kept = 0;
    while (kept < tokens.size() && sum < static_cast<double>(s.top_p) * total) sum += static_cast<double>(tokens[kept++].weight);
    tokens.resize(std::max<size_t>(kept, 1));
  }
  std::erase_if(tokens, [&](const Token& t) { return t.weight < s.min_p; });
  if (!limited && s.top_p >= 1) std::ranges::sort(tokens, {}, &Token::id);
  sum = 0;
  for (const Token& t : tokens) sum += static_cast<double>(t.weight);
  double left = s.uniform * sum;
  for (const Token& t : tokens)
    if ((left -= static_cast<double>(t.weight)) < 0) return t.id;
  return tokens.back().id;
}
