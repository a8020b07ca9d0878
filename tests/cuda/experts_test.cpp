// experts: routes and the sum over the chosen experts, in formats and shapes of real models, against double.
#include <algorithm>
#include <bit>
#include <gtest/gtest.h>
#include <numeric>
#include "cuda/bounds.h"
#include "cuda/gpu.h"
#include "cuda/twins.h"
#include "device/matrices.h"

namespace {

struct HostRoutes { std::vector<int32_t> experts; std::vector<float> weights; };

HostRoutes read(Gpu& gpu, const Routes& r) {
  const Shape shape{r.rows, r.top_k};
  HostRoutes host;
  host.weights = gpu.read({r.weights, shape});
  for (const float bits : gpu.read({reinterpret_cast<float*>(r.experts), shape})) host.experts.push_back(std::bit_cast<int32_t>(bits));
  return host;
}

// Softmax over all experts, then the best; of equal ones the first.
HostRoutes best(std::span<const float> scores, int64_t n, int top_k, bool renormalise) {
  HostRoutes r;
  for (int64_t row = 0; row < std::ssize(scores) / n; row++) {
    const std::span<const float> s = scores.subspan(static_cast<size_t>(row * n), static_cast<size_t>(n));
    std::vector<int32_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return s[static_cast<size_t>(a)] > s[static_cast<size_t>(b)]; });
    double all = 0, kept = 0;
    for (int64_t i = 0; i < n; i++) {
      const double p = std::exp(double{s[static_cast<size_t>(order[static_cast<size_t>(i)])]} - s[static_cast<size_t>(order[0])]);
      all += p, kept += i < top_k ? p : 0;
    }
    for (int i = 0; i < top_k; i++) {
      r.experts.push_back(order[static_cast<size_t>(i)]);
      r.weights.push_back(static_cast<float>(std::exp(double{s[static_cast<size_t>(order[static_cast<size_t>(i)])]} - s[static_cast<size_t>(order[0])]) / (renormalise ? kept : all)));
    }
  }
  return r;
}

TEST(Route, TakesTheBestAndTheFirstOfEqualOnes) {
  struct Form { int64_t n; int top_k; };
  for (const Form& form : {Form{256, 8}, {128, 8}, {60, 4}, {7, 7}, {1, 1}, {1000, 32}, {33, 2}})
    for (const int64_t rows : {1, 5, 64, 300})
      for (const bool renormalise : {false, true})
        for (const Precision precision : kPrecisions) {
          std::vector<float> scores = noise(rows * form.n, 5, 2);
          for (size_t i = 0; i < scores.size(); i++)
            if (i / static_cast<size_t>(form.n) % 3 == 1) scores[i] = std::round(scores[i]);  // many equal ones
          Gpu& gpu = Gpu::of(precision);
          Routes routes;
          gpu.run([&](Encoder& e) { routes = e.route(gpu.input(e, scores, {rows, form.n}), form.top_k, renormalise); });
          const HostRoutes got = read(gpu, routes), want = best(scores, form.n, form.top_k, renormalise);
          const std::string what = std::to_string(form.top_k) + " of " + std::to_string(form.n) + ", rows " + std::to_string(rows);
          for (size_t i = 0; i < got.weights.size(); i++) {
            ASSERT_NEAR(got.weights[i], want.weights[i], 2e-6) << what;
            if (got.experts[i] == want.experts[i]) continue;
            const size_t row = i / static_cast<size_t>(form.top_k) * static_cast<size_t>(form.n);
            const float a = scores[row + static_cast<size_t>(got.experts[i])], b = scores[row + static_cast<size_t>(want.experts[i])];
            ASSERT_TRUE(a != b && std::fabs(a - b) < 1e-5f) << what << ": expert " << got.experts[i] << " with " << a << ", " << want.experts[i] << " with " << b << " expected";  // equal only once they are probabilities
          }
        }
}

struct Stack { TestMatrix gate, up, down; int64_t n, hidden, ffn; };

Stack stack(const char* first, const char* second, int64_t n, int64_t hidden, int64_t ffn) {
  return {random_matrix(first, n * ffn, hidden, 1), random_matrix(first, n * ffn, hidden, 2), random_matrix(second, n * hidden, ffn, 3), n, hidden, ffn};
}

// The rows `which` of the result, in double, and how large what was added up is, errors of the first products included.
struct Twin { std::vector<double> value, size; };
struct Sum { double value, size; };
Sum product(const float* w, const float* x, int64_t n) {
  double value = 0, square = 0;
  for (int64_t i = 0; i < n; i++) {
    const double term = double{w[i]} * double{x[i]};
    value += term, square += term * term;
  }
  return {value, std::sqrt(square)};
}
Twin twin(const Stack& s, std::span<const float> x, const HostRoutes& r, int top_k, std::span<const int64_t> which, Activation activation) {
  Twin y{std::vector<double>(which.size() * static_cast<size_t>(s.hidden)), {}};
  y.size = y.value;
  in_parallel(std::ssize(which), [&](int64_t i) {
    const int64_t row = which[static_cast<size_t>(i)];
    const float* in = &x[static_cast<size_t>(row * s.hidden)];
    std::vector<float> w(static_cast<size_t>(std::max(s.hidden, s.ffn)));
    std::vector<Sum> middle(static_cast<size_t>(s.ffn));
    for (int k = 0; k < top_k; k++) {
      const auto slot = static_cast<size_t>(row * top_k + k);
      const int64_t e = r.experts[slot];
      for (int64_t j = 0; j < s.ffn; j++) {
        decode_row(s.gate.stored, e * s.ffn + j, w.data());
        const Sum gate = product(w.data(), in, s.hidden);
        decode_row(s.up.stored, e * s.ffn + j, w.data());
        const Sum up = product(w.data(), in, s.hidden);
        const double opened = activate(activation, gate.value);
        middle[static_cast<size_t>(j)] = {opened * up.value, std::fabs(opened) * up.size + gate.size * std::fabs(up.value)};
      }
      for (int64_t j = 0; j < s.hidden; j++) {
        decode_row(s.down.stored, e * s.hidden + j, w.data());
        double sum = 0, square = 0;
        for (int64_t l = 0; l < s.ffn; l++) {
          const Sum& m = middle[static_cast<size_t>(l)];
          const double weight = double{w[static_cast<size_t>(l)]};
          sum += m.value * weight, square += m.size * m.size * weight * weight;
        }
        const auto at = static_cast<size_t>(i * s.hidden + j);
        y.value[at] += double{r.weights[slot]} * sum, y.size[at] += double{r.weights[slot]} * std::sqrt(square);
      }
    }
  });
  return y;
}

struct Uploaded { std::unique_ptr<Weight> gate, up, down; };
Uploaded upload(Gpu& gpu, const Stack& s) {
  const auto n = static_cast<int32_t>(s.n);
  return {gpu.upload(s.gate.stored, false, n), gpu.upload(s.up.stored, false, n), gpu.upload(s.down.stored, false, n)};
}

struct Answer { std::vector<float> y; HostRoutes routes; };
Answer run(Gpu& gpu, const Stack& s, const Uploaded& w, std::span<const float> x, std::span<const float> scores, int top_k, Activation activation) {
  const int64_t rows = std::ssize(x) / s.hidden;
  Tensor y;
  Routes routes;
  gpu.run([&](Encoder& e) {
    routes = e.route(gpu.input(e, scores, {rows, s.n}), top_k, true);
    y = e.experts(gpu.input(e, x, {rows, s.hidden}), routes, *w.gate, *w.up, *w.down, activation);
  });
  return {gpu.read(y), read(gpu, routes)};
}

void check(const char* first, const char* second, int64_t n, int64_t hidden, int64_t ffn, int top_k, std::initializer_list<int64_t> some_rows, Activation activation = Activation::silu) {
  const Stack s = stack(first, second, n, hidden, ffn);
  for (const Precision precision : kPrecisions) {
    Gpu& gpu = Gpu::of(precision);
    const Uploaded w = upload(gpu, s);
    for (const int64_t rows : some_rows) {
      const std::vector<float> x = noise(rows * hidden, 9, 1 / std::sqrt(static_cast<float>(hidden))), scores = noise(rows * n, 10, 2);
      const Answer got = run(gpu, s, w, x, scores, top_k, activation);
      const std::string what = std::string("experts ") + word(precision) + ": " + first + " and " + second + ", " + std::to_string(n) + " x " + std::to_string(ffn) + " x " + std::to_string(hidden) + ", rows " + std::to_string(rows);
      ASSERT_EQ(got.routes.experts, best(scores, n, top_k, true).experts) << what;
      ASSERT_TRUE(std::ranges::all_of(got.y, [](float v) { return std::isfinite(v); })) << what;
      std::vector<int64_t> which;  // about a hundred million products in double
      const int64_t count = std::clamp<int64_t>((int64_t{100} << 20) / (3 * hidden * ffn * top_k), 2, rows);
      for (int64_t i = 0; i < std::min(count, rows); i++) which.push_back(rows == 1 ? 0 : i * (rows - 1) / std::max<int64_t>(1, count - 1));
      std::vector<float> picked;
      for (const int64_t row : which) picked.insert(picked.end(), got.y.begin() + row * hidden, got.y.begin() + (row + 1) * hidden);
      const Twin want = twin(s, x, got.routes, top_k, which, activation);
      expect_close(picked, want.value, hidden, bounds(precision).chain, what, want.size);
    }
  }
}

class Experts : public testing::TestWithParam<std::string> {};
TEST_P(Experts, EqualDouble) {
  const Format& f = *find_format(GetParam());
  const int64_t unit = std::max<int64_t>({32, f.block_weights, f.group});
  check(GetParam().c_str(), GetParam().c_str(), 6, 2 * unit, unit, 2, {1, 3, 16, 33, 150});
}
INSTANTIATE_TEST_SUITE_P(EveryFormat, Experts, testing::ValuesIn(weight_formats()), [](const auto& info) { return info.param; });

TEST(Experts, EqualDoubleInRealShapes) {
  const std::initializer_list<int64_t> rows = {1, 2, 9, 64, 65, 1000};
  check("Q4_0", "Q4_0", 256, 2048, 512, 8, rows);
  check("affine4g64", "affine4g64", 256, 2048, 512, 8, rows);
  check("Q4_K", "Q6_K", 64, 2048, 768, 8, rows);
  check("Q4_K", "Q5_K", 16, 1024, 256, 4, rows);
  check("Q8_0", "Q4_0", 5, 96, 160, 3, rows, Activation::gelu_tanh);
}

TEST(Experts, ARowsBitsDoNotDependOnItsStep) {
  for (const char* format : {"Q4_0", "affine4g64", "Q4_K", "Q8_0"}) {
    const Stack s = stack(format, format, 32, 512, 256);
    for (const Precision precision : kPrecisions) {
      Gpu& gpu = Gpu::of(precision);
      const Uploaded w = upload(gpu, s);
      const std::vector<float> x = noise(64 * s.hidden, 9), scores = noise(64 * s.n, 10);
      const auto some = [&](int64_t first, int64_t rows) {
        return run(gpu, s, w, std::span(x).subspan(static_cast<size_t>(first * s.hidden), static_cast<size_t>(rows * s.hidden)),
                   std::span(scores).subspan(static_cast<size_t>(first * s.n), static_cast<size_t>(rows * s.n)), 8, Activation::silu).y;
      };
      const std::vector<float> all = some(0, 64), half = some(0, 32);
      expect_same_bits(half, std::span(all).first(half.size()), std::string(format) + " " + word(precision) + " 32 rows of 64");
      for (const int64_t row : {0, 5, 31, 63})
        expect_same_bits(some(row, 1), std::span(all).subspan(static_cast<size_t>(row * s.hidden), static_cast<size_t>(s.hidden)), std::string(format) + " " + word(precision) + " row " + std::to_string(row));
    }
  }
}

}  // namespace
