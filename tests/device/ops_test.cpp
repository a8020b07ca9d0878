// ops: norms and gates of every ISA against plain double-precision twins.
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

}  // namespace
