// ops: attention, delta rule, convolution, norms and gates of every ISA against plain double-precision twins.
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include "isas.h"

namespace {

using namespace cpu;

std::vector<float> noise(size_t n, unsigned seed, float size = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, size);
  std::vector<float> x(n);
  for (float& v : x) v = normal(random);
  return x;
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Elementwise, EqualsDouble) {
  for (const size_t n : {1u, 15u, 16u, 77u, 256u}) {
    std::vector<float> a = noise(n, 1, 4), b = noise(n, 2, 4), y(n);
    if (n > 15) a[3] = 90, a[4] = -90, a[5] = 0, a[6] = 1e-4f, a[7] = -200;
    for (const IsaEntry& isa : runnable_isas()) {
      const Kernels& k = *isa.kernels;
      const auto expect = [&](const char* what, auto twin, double tolerance) {
        for (size_t i = 0; i < n; i++) ASSERT_NEAR(y[i], twin(a[i], b[i]), tolerance * (1 + std::fabs(twin(a[i], b[i])))) << isa.name << " " << what << " " << a[i];
      };
      const int64_t m = static_cast<int64_t>(n);
      k.gate(a.data(), b.data(), m, Activation::silu, y.data());
      expect("silu", [](double g, double u) { return g * sigmoid(g) * u; }, 1e-6);
      k.gate(a.data(), b.data(), m, Activation::gelu_tanh, y.data());
      expect("gelu", [](double g, double u) { return 0.5 * g * (1 + std::tanh(0.7978845608028654 * (g + 0.044715 * g * g * g))) * u; }, 2e-6);
      k.sigmoid_gate(a.data(), b.data(), m, y.data());
      expect("sigmoid", [](double x, double g) { return x * sigmoid(g); }, 1e-6);
      k.softcap(a.data(), 30, m, y.data());
      expect("softcap", [](double x, double) { return 30 * std::tanh(x / 30); }, 1e-6);
      double square = 0;
      for (float v : a) square += double{v} * v;
      k.rms_norm(a.data(), b.data(), 1e-6f, m, y.data());
      expect("rms", [&](double x, double g) { return x / std::sqrt(square / static_cast<double>(n) + 1e-6) * g; }, 2e-6);
    }
  }
}

struct Cache {
  static constexpr int kPage = 16, kKv = 2;
  int dk, dv, length;
  std::vector<float> keys, values;
  std::vector<int32_t> pages;
  Cache(int dk_, int dv_, int length_) : dk(dk_), dv(dv_), length(length_) {
    const int n = (length + kPage - 1) / kPage;
    keys = noise(static_cast<size_t>(n * kPage * kKv * dk), 5);
    values = noise(static_cast<size_t>(n * kPage * kKv * dv), 6);
    for (int i = 0; i < n; i++) pages.push_back((i * 7 + 3) % n);
    if (n % 7 == 0) for (int i = 0; i < n; i++) pages[static_cast<size_t>(i)] = i;
  }
  CacheView view() { return {keys.data(), values.data(), false, kPage, kKv, dk, dv}; }
  const float* at(const std::vector<float>& from, int index, int head, int dim) const {
    return &from[static_cast<size_t>(((pages[static_cast<size_t>(index / kPage)] * kPage + index % kPage) * kKv + head) * dim)];
  }
};

TEST(Attention, EqualsSoftmaxInDoubleAndDoesNotDependOnTheCut) {
  for (const auto& [dk, dv, length, window] : {std::tuple{64, 64, 150, 0}, {48, 32, 130, 16}, {256, 256, 70, 0}, {32, 32, 5, 3}}) {
    Cache cache(dk, dv, length);
    const CacheView view = cache.view();
    constexpr int kHeads = 3, kRows = 5;
    const std::vector<float> q = noise(static_cast<size_t>(kRows * kHeads * dk), 8);
    std::vector<float> scratch(static_cast<size_t>(attention_scratch_floats(dk, dv)));
    for (const IsaEntry& isa : runnable_isas()) {
      std::vector<float> out(static_cast<size_t>(kRows * kHeads * dv)), single(static_cast<size_t>(kHeads * dv));
      AttentionArgs a;
      a.cache = &view;
      a.pages = cache.pages.data();
      a.kv_head = 1;
      a.q = q.data();
      a.out = out.data();
      a.q_row_stride = kHeads * dk;
      a.out_row_stride = kHeads * dv;
      a.n_rows = kRows;
      a.heads = kHeads;
      a.index = length - kRows;
      a.length = length;
      a.scale = 0.25f;
      a.window = window;
      a.scratch = scratch.data();
      isa.kernels->attention(a);
      for (int row = 0; row < kRows; row++) {
        const int last = length - kRows + row, from = window > 0 ? std::max(0, last + 1 - window) : 0;
        for (int h = 0; h < kHeads; h++) {
          std::vector<double> weights, want(static_cast<size_t>(dv));
          double total = 0;
          for (int i = from; i <= last; i++) {
            double dot = 0;
            for (int d = 0; d < dk; d++) dot += double{q[static_cast<size_t>((row * kHeads + h) * dk + d)]} * cache.at(cache.keys, i, 1, dk)[d];
            weights.push_back(std::exp(dot * 0.25));
            total += weights.back();
          }
          for (int i = from; i <= last; i++)
            for (int d = 0; d < dv; d++) want[static_cast<size_t>(d)] += weights[static_cast<size_t>(i - from)] / total * cache.at(cache.values, i, 1, dv)[d];
          for (int d = 0; d < dv; d++) ASSERT_NEAR(out[static_cast<size_t>((row * kHeads + h) * dv + d)], want[static_cast<size_t>(d)], 2e-5) << isa.name << " row " << row;
        }
      }
      a.n_rows = 1;
      a.index = length - 1;
      a.q = q.data() + (kRows - 1) * kHeads * dk;
      a.out = single.data();
      isa.kernels->attention(a);
      for (size_t i = 0; i < single.size(); i++) ASSERT_EQ(single[i], out[static_cast<size_t>((kRows - 1) * kHeads * dv) + i]) << isa.name;
    }
  }
}

TEST(DeltaRule, EqualsTheRecurrenceInDouble) {
  for (const auto& [dk, dv] : {std::pair{32, 32}, {128, 128}, {17, 20}}) {
    constexpr int kRows = 9;
    const int width = 2 * dk + dv;
    const std::vector<float> x = noise(static_cast<size_t>(kRows * width), 1), a = noise(kRows, 2), b = noise(kRows, 3);
    for (const IsaEntry& isa : runnable_isas()) {
      std::vector<float> state = noise(static_cast<size_t>(dk * dv), 4), out(static_cast<size_t>(kRows * dv)), scratch(static_cast<size_t>(2 * dk + 32));
      std::vector<double> s(state.begin(), state.end());
      isa.kernels->delta({x.data(), x.data() + dk, x.data() + 2 * dk, width, a.data(), b.data(), 1, -0.7f, 0.3f, kRows, dk, dv, state.data(), out.data(), dv, scratch.data()});
      for (int t = 0; t < kRows; t++) {
        const float *q = &x[static_cast<size_t>(t * width)], *k = q + dk, *v = k + dk;
        double nq = 0, nk = 0;
        for (int i = 0; i < dk; i++) nq += double{q[i]} * q[i], nk += double{k[i]} * k[i];
        nq = 1 / std::sqrt(nq + 1e-6) / std::sqrt(dk);
        nk = 1 / std::sqrt(nk + 1e-6);
        const double decay = std::exp(-0.7 * std::log1p(std::exp(double{a[static_cast<size_t>(t)]} + 0.3))), beta = sigmoid(b[static_cast<size_t>(t)]);
        for (double& v2 : s) v2 *= decay;
        for (int j = 0; j < dv; j++) {
          double m = 0, o = 0;
          for (int i = 0; i < dk; i++) m += s[static_cast<size_t>(i * dv + j)] * k[i] * nk;
          const double d = (v[j] - m) * beta;
          for (int i = 0; i < dk; i++) s[static_cast<size_t>(i * dv + j)] += k[i] * nk * d;
          for (int i = 0; i < dk; i++) o += s[static_cast<size_t>(i * dv + j)] * q[i] * nq;
          ASSERT_NEAR(out[static_cast<size_t>(t * dv + j)], o, 2e-5) << isa.name << " token " << t;
        }
      }
      for (size_t i = 0; i < s.size(); i++) ASSERT_NEAR(state[i], s[i], 5e-5) << isa.name;
    }
  }
}

TEST(Convolution, KeepsItsHistoryForAnyCut) {
  constexpr int kChannels = 37, kRows = 9, kKernel = 4;
  const std::vector<float> x = noise(kChannels * kRows, 1), taps = noise(kChannels * kKernel, 2);
  for (const IsaEntry& isa : runnable_isas())
    for (const int cut : {1, 2, 4, 9}) {
      std::vector<float> state(kChannels * (kKernel - 1)), out(kChannels * kRows);
      for (int row = 0; row < kRows; row += cut)
        isa.kernels->conv({x.data() + row * kChannels, out.data() + row * kChannels, kChannels, taps.data(), state.data(), kChannels, 0, kChannels, std::min(cut, kRows - row), kKernel});
      for (int row = 0; row < kRows; row++)
        for (int c = 0; c < kChannels; c++) {
          double sum = 0;
          for (int j = 0; j < kKernel; j++)
            if (row - 3 + j >= 0) sum += double{taps[static_cast<size_t>(j * kChannels + c)]} * x[static_cast<size_t>((row - 3 + j) * kChannels + c)];
          ASSERT_NEAR(out[static_cast<size_t>(row * kChannels + c)], sum * sigmoid(sum), 1e-5) << isa.name << " cut " << cut << " row " << row;
        }
    }
}

}  // namespace
