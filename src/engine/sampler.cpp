// sampler: partial selection and the draw.
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

TokenId Sampler::sample(const Draw& draw, const Sampling& s) {
  std::span<const float> row = adjusted(draw, s);
  TokenId best = -1;
  if (!find_best(row, best)) return -1;
  const float peak = row[static_cast<size_t>(best)];
  if (s.temperature <= 0 || s.top_k == 1 || std::isinf(peak)) return best;
  const double uniform = counter_uniform(s.seed, static_cast<uint64_t>(draw.index));
  if (s.mirostat != 0 && draw.surprise) return draw_mirostat(row, s, peak, uniform, *draw.surprise);
  if (s.typical_p < 1) {
    row = keep_typical(row, s, peak);
    if (!find_best(row, best)) return -1;
  }
  const bool cut = (s.top_k > 0 && static_cast<size_t>(s.top_k) < row.size()) || s.top_p < 1;
  xtc_ = s.xtc_probability > 0 && counter_uniform(~s.seed, static_cast<uint64_t>(draw.index)) < static_cast<double>(s.xtc_probability);
  return cut ? draw_sorted(row, s, row[static_cast<size_t>(best)], uniform) : draw_unsorted(row, s, row[static_cast<size_t>(best)], uniform);
}

// Temperature, min-p and XTC need no order: passes by id.
TokenId Sampler::draw_unsorted(std::span<const float> row, const Sampling& s, float best, double uniform) {
  const float floor = std::max(0.0f, s.min_p);  // weights are relative to the best one's 1
  double total = 0;
  for (float logit : row)
    if (const float w = weight(logit, best, s.temperature); w >= floor) total += static_cast<double>(w);
  float ceiling = std::numeric_limits<float>::infinity();  // weights above it are cut by XTC
  if (xtc_) {
    const float likely = static_cast<float>(static_cast<double>(s.xtc_threshold) * total);
    int n_likely = 0;
    for (float logit : row)
      if (const float w = weight(logit, best, s.temperature); w >= floor && w >= likely && w > 0) ++n_likely, ceiling = std::min(ceiling, w);
    if (n_likely < 2) ceiling = std::numeric_limits<float>::infinity();
    total = 0;
    for (float logit : row)
      if (const float w = weight(logit, best, s.temperature); w >= floor && w <= ceiling) total += static_cast<double>(w);
  }
  double left = uniform * total;
  TokenId chosen = -1;
  for (size_t i = 0; i < row.size(); ++i) {
    const float w = weight(row[i], best, s.temperature);
    if (w < floor || w == 0 || w > ceiling) continue;
    chosen = static_cast<TokenId>(i);
    if ((left -= static_cast<double>(w)) < 0) break;
  }
  return chosen;
}

TokenId Sampler::draw_mirostat(std::span<const float> row, const Sampling& s, float best, double uniform, float& mu) {
  double total = 0;
  for (float logit : row) total += static_cast<double>(weight(logit, best, s.temperature));
  const double floor = std::exp2(-static_cast<double>(mu)) * total;  // the weight whose surprise is mu
  const auto kept = [&](float w) { return w == 1 || static_cast<double>(w) >= floor; };  // the likeliest always
  double sum = 0;
  for (float logit : row)
    if (const float w = weight(logit, best, s.temperature); w > 0 && kept(w)) sum += static_cast<double>(w);
  double left = uniform * sum, chosen_weight = 1;
  TokenId chosen = -1;
  for (size_t i = 0; i < row.size(); ++i) {
    const float w = weight(row[i], best, s.temperature);
    if (w == 0 || !kept(w)) continue;
    chosen = static_cast<TokenId>(i);
    chosen_weight = static_cast<double>(w);
    if ((left -= chosen_weight) < 0) break;
  }
  mu -= s.mirostat_eta * (static_cast<float>(-std::log2(chosen_weight / sum)) - s.mirostat_tau);
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
  while (kept > 1 && (weight_of(candidates_[kept - 1]) < static_cast<double>(s.min_p) || weight_of(candidates_[kept - 1]) == 0)) --kept;
  double kept_sum = 0;
  for (size_t i = 0; i < kept; ++i) kept_sum += weight_of(candidates_[i]);
  size_t first = 0;
  if (xtc_) {
    while (first < kept && weight_of(candidates_[first]) >= static_cast<double>(s.xtc_threshold) * kept_sum) ++first;
    first = first < 2 ? 0 : first - 1;
    kept_sum = 0;
    for (size_t i = first; i < kept; ++i) kept_sum += weight_of(candidates_[i]);
  }
  double left = uniform * kept_sum;
  for (size_t i = first; i < kept; ++i)
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
