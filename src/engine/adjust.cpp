// adjust: what is done to a row of logits before the draw: biases, penalties, masks, and cuts that need no order.
#include <algorithm>
#include <cmath>
#include <limits>
#include "engine/sampler.h"

namespace {
constexpr float never = -std::numeric_limits<float>::infinity();
constexpr size_t first_typical = 512;  // tokens ordered at first; grows eightfold until they suffice

bool inside(std::span<const float> row, TokenId id) { return id >= 0 && static_cast<size_t>(id) < row.size(); }

void apply_mask(std::span<float> row, std::span<const uint64_t> mask) {
  for (size_t word = 0; word * 64 < row.size(); ++word) {
    const uint64_t bits = word < mask.size() ? mask[word] : 0;
    if (bits == ~uint64_t{0}) continue;
    const size_t end = std::min(row.size(), word * 64 + 64);
    for (size_t i = word * 64; i < end; ++i)
      if ((bits >> (i % 64) & 1) == 0) row[i] = never;
  }
}

void cut_sigma(std::span<float> row, float n_sigma) {
  double sum = 0, squares = 0, count = 0;
  float top = never;
  for (float x : row) {
    if (!std::isfinite(x)) continue;
    sum += static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x);
    count += 1;
    top = std::max(top, x);
  }
  if (count < 2) return;
  const double deviation = std::sqrt(std::max(0.0, squares / count - (sum / count) * (sum / count)));
  const float floor = static_cast<float>(static_cast<double>(top) - static_cast<double>(n_sigma) * deviation);
  for (float& x : row)
    if (x < floor) x = never;
}
}  // namespace

std::span<float> Sampler::own(std::span<const float> row) {
  if (row.data() != adjusted_.data()) std::copy(row.begin(), row.end(), adjusted_.begin());
  return std::span(adjusted_).first(row.size());
}

std::span<const float> Sampler::adjusted(const Draw& draw, const Sampling& s) {
  std::span<const float> row = draw.logits;
  if (!s.logit_bias.empty()) {
    const auto mine = own(row);
    for (const auto& [id, bias] : s.logit_bias)
      if (inside(row, id)) mine[static_cast<size_t>(id)] += bias;
    row = mine;
  }
  if (s.repetition_penalty != 1 || s.frequency_penalty != 0 || s.presence_penalty != 0) {
    const auto mine = own(row);
    repeat_penalties(mine, draw, s);
    row = mine;
  }
  if (s.dry_multiplier > 0) {
    const auto mine = own(row);
    dry_penalty(mine, draw, s);
    row = mine;
  }
  if (!draw.mask.empty()) {
    const auto mine = own(row);
    apply_mask(mine, draw.mask);
    row = mine;
  }
  if (draw.index < s.min_tokens && !draw.stop_ids.empty()) {
    const auto mine = own(row);
    for (TokenId id : draw.stop_ids)
      if (inside(row, id)) mine[static_cast<size_t>(id)] = never;
    row = mine;
  }
  if (s.top_n_sigma > 0) {
    const auto mine = own(row);
    cut_sigma(mine, s.top_n_sigma);
    row = mine;
  }
  return row;
}

void Sampler::repeat_penalties(std::span<float> row, const Draw& draw, const Sampling& s) {
  const auto history = draw.history, answer = history.subspan(static_cast<size_t>(draw.n_prompt));
  if (s.repetition_penalty != 1) {
    const size_t window = s.repeat_last_n < 0 ? history.size() : std::min(history.size(), static_cast<size_t>(s.repeat_last_n));
    const auto recent = history.last(window);
    for (TokenId id : recent) {
      if (!inside(row, id) || counts_[static_cast<size_t>(id)]++ > 0) continue;
      float& logit = row[static_cast<size_t>(id)];
      logit = logit > 0 ? logit / s.repetition_penalty : logit * s.repetition_penalty;
    }
    for (TokenId id : recent)
      if (inside(row, id)) counts_[static_cast<size_t>(id)] = 0;
  }
  if (s.frequency_penalty == 0 && s.presence_penalty == 0) return;
  for (TokenId id : answer)
    if (inside(row, id)) ++counts_[static_cast<size_t>(id)];
  for (TokenId id : answer) {
    if (!inside(row, id) || counts_[static_cast<size_t>(id)] == 0) continue;
    row[static_cast<size_t>(id)] -= static_cast<float>(counts_[static_cast<size_t>(id)]) * s.frequency_penalty + s.presence_penalty;
    counts_[static_cast<size_t>(id)] = 0;
  }
}

// For every earlier position, how long the text before it equals the end of the text (the Z function of the text reversed, linear in its
// length); the token at that position would prolong the repetition.
void Sampler::dry_penalty(std::span<float> row, const Draw& draw, const Sampling& s) {
  const size_t window = s.dry_penalty_last_n < 0 ? draw.history.size() : std::min(draw.history.size(), static_cast<size_t>(s.dry_penalty_last_n));
  auto text = draw.history.last(window);
  const auto breaks = [&](TokenId id) { return std::ranges::find(s.dry_breakers, id) != s.dry_breakers.end(); };
  size_t reach = 0;  // of the end of the text back to the last breaker: no repetition can be longer
  while (reach < text.size() && !breaks(text[text.size() - 1 - reach])) ++reach;
  const auto least = static_cast<size_t>(std::max(1, s.dry_allowed_length));
  if (reach < least || text.size() < 2) return;
  const size_t n = text.size();
  const auto at = [&](size_t i) { return text[n - 1 - i]; };  // reversed
  matches_.assign(n, 0);
  for (size_t i = 1, left = 0, right = 0; i < n; ++i) {
    size_t length = i < right ? std::min(right - i, static_cast<size_t>(matches_[i - left])) : 0;
    while (i + length < n && at(length) == at(i + length)) ++length;
    matches_[i] = static_cast<int32_t>(length);
    if (i + length > right) left = i, right = i + length;
  }
  // counts_ holds the longest repetition that each token would prolong.
  for (size_t i = 1; i < n; ++i) {
    const size_t length = std::min(static_cast<size_t>(matches_[i]), reach);
    const TokenId next = at(i - 1);
    if (length < least || !inside(row, next)) continue;
    int32_t& longest = counts_[static_cast<size_t>(next)];
    longest = std::max(longest, static_cast<int32_t>(length));
  }
  for (size_t i = 1; i < n; ++i) {
    const TokenId next = at(i - 1);
    if (!inside(row, next) || counts_[static_cast<size_t>(next)] == 0) continue;
    const int over = std::min(counts_[static_cast<size_t>(next)] - static_cast<int>(least), 200);  // the power stays finite
    row[static_cast<size_t>(next)] -= s.dry_multiplier * std::min(std::pow(s.dry_base, static_cast<float>(over)), 1e20f);
    counts_[static_cast<size_t>(next)] = 0;
  }
}

// Locally typical sampling (Meister et al. 2022): tokens whose surprise is nearest to the expected one.
std::span<const float> Sampler::keep_typical(std::span<const float> row, const Sampling& s, float best) {
  if (s.top_k > 0 && static_cast<size_t>(s.top_k) < row.size()) {
    select(row, static_cast<size_t>(s.top_k));
  } else {
    candidates_.clear();
    for (size_t i = 0; i < row.size(); ++i)
      if (row[i] > never) candidates_.push_back(static_cast<TokenId>(i));
  }
  const auto exponent = [&](TokenId id) { return static_cast<double>((row[static_cast<size_t>(id)] - best) / s.temperature); };
  double total = 0, expected = 0;
  for (TokenId id : candidates_) {
    const double x = exponent(id), w = std::exp(x);
    total += w;
    if (w > 0) expected += w * x;
  }
  const double log_total = std::log(total), entropy = log_total - expected / total;
  deviations_.clear();
  for (TokenId id : candidates_) deviations_.emplace_back(static_cast<float>(std::fabs(log_total - exponent(id) - entropy)), id);
  const double wanted = static_cast<double>(s.typical_p) * total;
  double sum = 0;
  size_t kept = 0;
  for (size_t ordered = 0; kept < deviations_.size() && (kept == 0 || sum < wanted); ++kept) {
    if (kept == ordered) {
      ordered = std::min(deviations_.size(), std::max(first_typical, ordered * 8));
      std::partial_sort(deviations_.begin() + static_cast<std::ptrdiff_t>(kept), deviations_.begin() + static_cast<std::ptrdiff_t>(ordered), deviations_.end());
    }
    sum += std::exp(exponent(deviations_[kept].second));
  }
  deviations_.resize(kept);
  for (auto& [value, id] : deviations_) value = row[static_cast<size_t>(id)];  // before the row, which may be adjusted_ itself, is wiped
  const auto mine = std::span(adjusted_).first(row.size());
  std::ranges::fill(mine, never);
  for (const auto& [logit, id] : deviations_) mine[static_cast<size_t>(id)] = logit;
  return mine;
}
