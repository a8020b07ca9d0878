// delta_twin: the gated delta rule with its convolution, norm and gate in double precision, token by token, and random data for it.
#pragma once
#include <cmath>
#include <random>
#include <vector>
#include "device/device.h"

namespace delta_twin {

inline std::vector<float> noise(int64_t n, unsigned seed, float mean = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean, 1);
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = normal(random);
  return x;
}
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

inline constexpr float kEps = 1e-6f;

struct Case {
  DeltaDims d;
  int kernel, rows;
  float decay;  // size of neg_exp_a
  int64_t keys() const { return int64_t{d.n_key_heads} * d.key_dim; }
  int64_t values() const { return int64_t{d.n_value_heads} * d.value_dim; }
  int64_t channels() const { return 2 * keys() + values(); }
};

struct Data {
  std::vector<float> qkv, z, a, b, taps, neg_exp_a, dt_bias, gain;
  explicit Data(const Case& c, unsigned seed = 0)  // of what a sequence says; the weights are always the same
      : qkv(noise(c.rows * c.channels(), seed + 1)), z(noise(c.rows * c.values(), seed + 2)), a(noise(int64_t{c.rows} * c.d.n_value_heads, seed + 3)), b(noise(int64_t{c.rows} * c.d.n_value_heads, seed + 4)),
        taps(noise(c.kernel * c.channels(), 5)), neg_exp_a(noise(c.d.n_value_heads, 6)), dt_bias(noise(c.d.n_value_heads, 7)), gain(noise(c.d.value_dim, 8, 1)) {
    for (float& x : neg_exp_a) x = -c.decay * std::exp(x);
  }
};

// for_each(n, f) calls f(0) to f(n - 1), in any order: value heads have nothing to do with each other.
template <class ForEach> std::vector<double> twin(const Case& c, const Data& x, ForEach&& for_each) {
  const DeltaDims& d = c.d;
  const int64_t width = c.channels();
  std::vector<double> out(static_cast<size_t>(c.rows * c.values())), mixed(static_cast<size_t>(c.rows * width));
  for_each(c.rows, [&](int64_t t) {
    for (int64_t i = 0; i < width; i++) {
      double sum = 0;
      for (int j = 0; j < c.kernel; j++)
        if (const int64_t from = t - c.kernel + 1 + j; from >= 0) sum += double{x.taps[static_cast<size_t>(j * width + i)]} * x.qkv[static_cast<size_t>(from * width + i)];
      mixed[static_cast<size_t>(t * width + i)] = sum * sigmoid(sum);
    }
  });
  for_each(d.n_value_heads, [&](int64_t h) {
    std::vector<double> state(static_cast<size_t>(d.value_dim * d.key_dim));
    const int64_t key_head = d.tiled ? h % d.n_key_heads : h / (d.n_value_heads / d.n_key_heads);
    for (int64_t t = 0; t < c.rows; t++) {
      const double* const y = &mixed[static_cast<size_t>(t * width)];
      const double *q = y + key_head * d.key_dim, *k = q + c.keys(), *v = y + 2 * c.keys() + h * d.value_dim;
      double nq = 0, nk = 0, square = 0;
      for (int i = 0; i < d.key_dim; i++) nq += q[i] * q[i], nk += k[i] * k[i];
      nq = 1 / std::sqrt(nq + 1e-6) / std::sqrt(d.key_dim), nk = 1 / std::sqrt(nk + 1e-6);
      const auto at = static_cast<size_t>(t * d.n_value_heads + h);
      const double decay = std::exp(x.neg_exp_a[static_cast<size_t>(h)] * std::log1p(std::exp(double{x.a[at]} + x.dt_bias[static_cast<size_t>(h)]))), beta = sigmoid(x.b[at]);
      double* const o = &out[at * static_cast<size_t>(d.value_dim)];
      for (int j = 0; j < d.value_dim; j++) {
        double* const s = &state[static_cast<size_t>(j * d.key_dim)];
        double m = 0;
        for (int i = 0; i < d.key_dim; i++) m += (s[i] *= decay) * k[i] * nk;
        for (int i = 0; i < d.key_dim; i++) o[j] += (s[i] += k[i] * nk * (v[j] - m) * beta) * q[i] * nq;
        square += o[j] * o[j];
      }
      for (int j = 0; j < d.value_dim; j++) {
        const double z = x.z[at * static_cast<size_t>(d.value_dim) + static_cast<size_t>(j)];
        o[j] *= x.gain[static_cast<size_t>(j)] / std::sqrt(square / d.value_dim + kEps) * z * sigmoid(z);
      }
    }
  });
  return out;
}
inline std::vector<double> twin(const Case& c, const Data& x) {
  return twin(c, x, [](int64_t n, auto&& f) { for (int64_t i = 0; i < n; i++) f(i); });
}

}  // namespace delta_twin
