// row_ops: recorded operations that look at one row (or one element) at a time.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include "device/cpu/step.h"

namespace cpu {

// f(worker, row) does one row of every result. Rows are shared out among members when the results lie in shared memory.
template <class F> struct EachRow {
  int64_t rows;
  bool own;
  F f;
  void run(const Worker& w) const {
    const auto [begin, end] = w.part(rows, own);
    for (int64_t r = begin; r < end; r++) f(w, r);
  }
};
template <class F> void record_rows(Step& step, const char* name, int64_t rows, Ranges results, Ranges reads, F f) {
  step.push(name, EachRow<F>{rows, step.is_own(results.begin()->begin), f}, reads, results);
}

// The same for flat arrays, shared out in multiples of 64 floats; f(worker, offset, count) does one share.
template <class F> struct EachSpan {
  int64_t n;
  bool own;
  F f;
  void run(const Worker& w) const {
    if (own) return f(w, 0, n);
    const auto [begin, end] = w.share((n + 63) / 64);
    if (begin < end) f(w, begin * 64, std::min(end * 64, n) - begin * 64);
  }
};
template <class F> void record_span(Step& step, const char* name, const Tensor& out, Ranges reads, F f) {
  step.push(name, EachSpan<F>{out.shape.elements(), step.is_own(out.data), f}, reads, {Range(out)});
}

// cos and sin of every row's angles: [rows, half] each, computed once a step for each Rope.
struct RopeTable {
  const Rope* rope;
  float *cos, *sin;
  int64_t n;
  Range cos_range() const { return {cos, n}; }
  Range sin_range() const { return {sin, n}; }
};
inline void rope_angles(const Rope& rope, int32_t position, float* cos, float* sin) {
  for (size_t i = 0; i < rope.inverse_frequencies.size(); i++) {
    const float angle = static_cast<float>(position) * rope.inverse_frequencies[i];
    cos[i] = std::cos(angle) * rope.magnitude;
    sin[i] = std::sin(angle) * rope.magnitude;
  }
}
inline void rotate_head(const float* x, int64_t dim, const float* cos, const float* sin, int64_t half, RopePairs pairs, float* y) {
  if (pairs == RopePairs::halves) {
    for (int64_t i = 0; i < half; i++) {
      y[i] = x[i] * cos[i] - x[i + half] * sin[i];
      y[i + half] = x[i + half] * cos[i] + x[i] * sin[i];
    }
  } else {
    for (int64_t i = 0; i < half; i++) {
      y[2 * i] = x[2 * i] * cos[i] - x[2 * i + 1] * sin[i];
      y[2 * i + 1] = x[2 * i + 1] * cos[i] + x[2 * i] * sin[i];
    }
  }
  std::memcpy(y + 2 * half, x + 2 * half, static_cast<size_t>(dim - 2 * half) * sizeof(float));
}

}  // namespace cpu
