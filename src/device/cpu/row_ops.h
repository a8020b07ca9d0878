// row_ops: recorded operations that look at one row (or one element) at a time.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include "device/cpu/step.h"

namespace cpu {

// Rows are shared out among members; f(worker, row) does one.
template <class F> struct EachRow {
  int64_t rows;
  F f;
  void run(const Worker& w) const {
    const auto [begin, end] = w.share(rows);
    for (int64_t r = begin; r < end; r++) f(w, r);
  }
};
template <class F> void record_rows(Step& step, int64_t rows, int64_t cols, F f) { step.push(EachRow<F>{rows, f}, rows * cols < kSerialFloats); }

// Flat arrays are shared out in multiples of 64 floats; f(worker, offset, count) does one share.
template <class F> struct EachSpan {
  int64_t n;
  F f;
  void run(const Worker& w) const {
    const auto [begin, end] = w.share((n + 63) / 64);
    if (begin < end) f(w, begin * 64, std::min(end * 64, n) - begin * 64);
  }
};
template <class F> void record_span(Step& step, int64_t n, F f) { step.push(EachSpan<F>{n, f}, n < kSerialFloats); }

// Softmax over all experts of one row in float32, then the top_k largest, ties to the lower index.
inline void route_row(const float* scores, int64_t n, int top_k, bool renormalise, int32_t* experts, float* weights) {
  float peak = scores[0], sum = 0;
  for (int64_t i = 1; i < n; i++) peak = std::max(peak, scores[i]);
  for (int64_t i = 0; i < n; i++) sum += std::exp(scores[i] - peak);
  int found = 0;
  for (int64_t i = 0; i < n; i++) {  // insertion into a short sorted list; strict comparison keeps the lower index first
    int at = found;
    while (at > 0 && scores[experts[at - 1]] < scores[i]) at--;
    if (at == top_k) continue;
    found = std::min(found + 1, top_k);
    for (int j = found - 1; j > at; j--) experts[j] = experts[j - 1];
    experts[at] = static_cast<int32_t>(i);
  }
  float chosen = 0;
  for (int k = 0; k < top_k; k++) chosen += weights[k] = std::exp(scores[experts[k]] - peak) / sum;
  if (renormalise)
    for (int k = 0; k < top_k; k++) weights[k] /= chosen;
}

// cos and sin of every row's angles: [rows, half] each, computed once a step for each Rope.
struct RopeTable { const Rope* rope; float* cos; float* sin; };
inline void rope_angles(const Rope& rope, int32_t position, float* cos, float* sin) {
  for (size_t i = 0; i < rope.inverse_frequencies.size(); i++) {
    const float angle = static_cast<float>(position) * rope.inverse_frequencies[i];
    cos[i] = std::cos(angle) * rope.magnitude;
    sin[i] = std::sin(angle) * rope.magnitude;
  }
}
inline void rotate_head(float* x, const float* cos, const float* sin, int64_t half, RopePairs pairs) {
  for (int64_t i = 0; i < half; i++) {
    float& a = x[pairs == RopePairs::halves ? i : 2 * i];
    float& b = x[pairs == RopePairs::halves ? i + half : 2 * i + 1];
    const float a0 = a, b0 = b;
    a = a0 * cos[i] - b0 * sin[i];
    b = b0 * cos[i] + a0 * sin[i];
  }
}

}  // namespace cpu
