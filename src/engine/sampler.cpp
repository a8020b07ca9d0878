// sampler: penalties, partial selection and the draw.
#include "engine/sampler.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace {
constexpr size_t first_selection = 256;  // candidates sorted at first when only top-p limits them; grows eightfold until they suffice

uint64_t mix(uint64_t z) {  // the finaliser of splitmix64 (Steele, Lea, Flood 2014)
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// The largest logit (lowest id on ties) in `best`; false when there is none or one is NaN.
// Two passes that compilers turn into vector code; a quarter of a million logits take some 20 us.
bool find_best(std::span<const float> row, TokenId& best) {
  constexpr size_t lanes = 16;
  float top[lanes];
  std::ranges::fill(top, -std::numeric_limits<float>::infinity());
  uint32_t odd[lanes] = {};
  size_t i = 0;
  for (; i + lanes <= row.size(); i += lanes)
    for (size_t j = 0; j < lanes; ++j) {
      const float x = row[i + j];
      odd[j] |= x != x ? 1u : 0u;
      top[j] = x > top[j] ? x : top[j];
    }
  for (; i < row.size(); ++i) {
    odd[0] |= row[i] != row[i] ? 1u : 0u;
    top[0] = row[i] > top[0] ? row[i] : top[0];
  }
  const float peak = *std::ranges::max_element(top);
  const auto at = std::ranges::find(row, peak);
  best = at == row.end() || (std::isinf(peak) && peak < 0) ? -1 : static_cast<TokenId>(at - row.begin());
  return best >= 0 && std::ranges::all_of(odd, [](uint32_t o) { return o == 0; });
}

float weight(float logit, float best, float temperature) { return std::exp((logit - best) / temperature); }
}  // namespace

double counter_uniform(uint64_t seed, uint64_t index) {
  const uint64_t bits = mix(mix(seed + 0x9e3779b97f4a7c15u) ^ mix((index + 1) * 0xd1342543de82ef95u));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

Sampler::Sampler(int vocab_size) : adjusted_(static_cast<size_t>(vocab_size)), counts_(static_cast<size_t>(vocab_size)) {
  candidates_.reserve(static_cast<size_t>(vocab_size) + 1);
}

TokenId Sampler::sample(std::span<const float> logits, const Sampling& s, std::span<const TokenId> history, int n_prompt, int index) {
  const std::span<const float> row = penalised(logits, s, history, n_prompt);
  TokenId best = -1;
  if (!find_best(row, best)) return -1;
  if (s.temperature <= 0 || s.top_k == 1 || std::isinf(row[static_cast<size_t>(best)])) return best;
  const double uniform = counter_uniform(s.seed, static_cast<uint64_t>(index));
  const bool cut = (s.top_k > 0 && static_cast<size_t>(s.top_k) < row.size()) || s.top_p < 1;
  return cut ? draw_sorted(row, s, row[static_cast<size_t>(best)], uniform) : draw_unsorted(row, s, row[static_cast<size_t>(best)], uniform);
}

std::span<const float> Sampler::penalised(std::span<const float> row, const Sampling& s, std::span<const TokenId> history, int n_prompt) {
  const auto answer = history.subspan(static_cast<size_t>(n_prompt));
  const bool repeats = s.repetition_penalty != 1, counts = s.frequency_penalty != 0 || s.presence_penalty != 0;
  if (!repeats && !counts) return row;
  std::copy(row.begin(), row.end(), adjusted_.begin());
  const auto inside = [&](TokenId id) { return id >= 0 && static_cast<size_t>(id) < row.size(); };
  if (repeats) {
    const size_t window = s.repeat_last_n < 0 ? history.size() : std::min(history.size(), static_cast<size_t>(s.repeat_last_n));
    const auto recent = history.last(window);
    for (TokenId id : recent) {
      if (!inside(id) || counts_[static_cast<size_t>(id)]++ > 0) continue;
      float& logit = adjusted_[static_cast<size_t>(id)];
      logit = logit > 0 ? logit / s.repetition_penalty : logit * s.repetition_penalty;
    }
    for (TokenId id : recent)
      if (inside(id)) counts_[static_cast<size_t>(id)] = 0;
  }
  if (counts) {
    for (TokenId id : answer)
      if (inside(id)) ++counts_[static_cast<size_t>(id)];
    for (TokenId id : answer) {
      if (!inside(id) || counts_[static_cast<size_t>(id)] == 0) continue;
      adjusted_[static_cast<size_t>(id)] -= static_cast<float>(counts_[static_cast<size_t>(id)]) * s.frequency_penalty + s.presence_penalty;
      counts_[static_cast<size_t>(id)] = 0;
    }
  }
  return std::span(adjusted_).first(row.size());
}

// Temperature and min-p need no order: two passes by id.
TokenId Sampler::draw_unsorted(std::span<const float> row, const Sampling& s, float best, double uniform) {
  const float floor = std::max(0.0f, s.min_p);  // weights are relative to the best one's 1
  double total = 0;
  for (float logit : row)
    if (const float w = weight(logit, best, s.temperature); w >= floor) total += static_cast<double>(w);
  double left = uniform * total;
  TokenId chosen = -1;
  for (size_t i = 0; i < row.size(); ++i) {
    const float w = weight(row[i], best, s.temperature);
    if (w < floor || w == 0) continue;
    chosen = static_cast<TokenId>(i);
    if ((left -= static_cast<double>(w)) < 0) break;
  }
  return chosen;
}

TokenId Sampler::draw_sorted(std::span<const float> row, const Sampling& s, float best, double uniform) {
  const bool limited = s.top_k > 0 && static_cast<size_t>(s.top_k) < row.size();
  const auto weight_of = [&](TokenId id) { return static_cast<double>(weight(row[static_cast<size_t>(id)], best, s.temperature)); };
  size_t count = limited ? static_cast<size_t>(s.top_k) : std::min(first_selection, row.size());
  double total = 0;
  if (limited) {
    select(row, count);
    for (TokenId id : candidates_) total += weight_of(id);
  } else {
    select(row, count);
    for (float logit : row) total += static_cast<double>(weight(logit, best, s.temperature));
  }
  const double wanted = s.top_p < 1 ? static_cast<double>(s.top_p) * total : std::numeric_limits<double>::infinity();
  size_t kept = 0;
  double sum = 0;
  while (sum < wanted) {
    if (kept == candidates_.size()) {
      if (limited || count == row.size()) break;
      count = std::min(count * 8, row.size());
      select(row, count);  // the same order, continued
    }
    sum += weight_of(candidates_[kept++]);
  }
  kept = std::max<size_t>(kept, 1);
  while (kept > 1 && weight_of(candidates_[kept - 1]) < static_cast<double>(s.min_p)) --kept;
  double kept_sum = 0;
  for (size_t i = 0; i < kept; ++i) kept_sum += weight_of(candidates_[i]);
  double left = uniform * kept_sum;
  for (size_t i = 0; i < kept; ++i)
    if ((left -= weight_of(candidates_[i])) < 0) return candidates_[i];
  return candidates_[kept - 1];
}

void Sampler::select(std::span<const float> row, size_t count) {
  const auto better = [&](TokenId a, TokenId b) {
    const float x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  if (count > first_selection * 8) {
    candidates_.resize(row.size());
    std::iota(candidates_.begin(), candidates_.end(), 0);
    if (count < row.size()) std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(count), candidates_.end(), better);
    candidates_.resize(count);
  } else {  // a heap with the worst of the best on top: one comparison for nearly every id
    candidates_.clear();
    for (TokenId id = 0; id < static_cast<TokenId>(row.size()); ++id) {
      if (candidates_.size() == count) {
        if (!better(id, candidates_.front())) continue;
        std::pop_heap(candidates_.begin(), candidates_.end(), better);
        candidates_.pop_back();
      }
      candidates_.push_back(id);
      std::push_heap(candidates_.begin(), candidates_.end(), better);
    }
  }
  std::sort(candidates_.begin(), candidates_.end(), better);
}
