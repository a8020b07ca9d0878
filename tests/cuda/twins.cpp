// twins: sums in double, shared out over the cores; distances are remembered by the first word of what was compared.
#include "cuda/twins.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include "core/half.h"

namespace {

constexpr double kMostOverMean = 8;

struct Farthest { double mean = 0, most = 0, bound = 0; std::string where; };
std::map<std::string, Farthest>& farthest() {
  static std::map<std::string, Farthest> all;
  return all;
}

void remember(const std::string& what, double mean, double most, double bound) {
  Farthest& f = farthest()[what.substr(0, what.find(':'))];
  if (mean >= f.mean) f.mean = mean, f.bound = bound, f.where = what;
  f.most = std::max(f.most, most);
}

}  // namespace

float storable(float x) { return f16_to_float(float_to_f16(std::nearbyint(x * 0x1p14f) * 0x1p-14f)); }

std::vector<float> noise(int64_t n, unsigned seed, float size, float mean) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean, size);
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = storable(normal(random));
  return x;
}

void in_parallel(int64_t n, const std::function<void(int64_t)>& work) {
  std::atomic<int64_t> next = 0;
  std::vector<std::jthread> team;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); t++)
    team.emplace_back([&] {
      for (int64_t i = next++; i < n; i = next++) work(i);
    });
}

std::vector<float> decoded(const StoredMatrix& m) {
  const int64_t rows = m.shape.rows(), cols = m.shape.back();
  std::vector<float> w(static_cast<size_t>(rows * cols));
  in_parallel(rows, [&](int64_t r) { decode_row(m, r, &w[static_cast<size_t>(r * cols)]); });
  return w;
}

double dot(const float* a, const float* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += double{a[i]} * double{b[i]};
  return sum;
}

double activate(Activation a, double x) {
  if (a == Activation::silu) return x * sigmoid(x);
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

void expect_close(std::span<const float> got, std::span<const double> want, int64_t width, double bound, const std::string& what, std::span<const double> size) {
  ASSERT_EQ(got.size(), want.size()) << what;
  if (size.empty()) size = want;
  double worst_mean = 0, worst_most = 0;
  int64_t worst_row = 0, worst_element = 0;
  for (int64_t row = 0; row < std::ssize(got) / width; row++) {
    double square = 0, size_square = 0, most = 0;
    int64_t at = 0;
    for (int64_t i = row * width; i < (row + 1) * width; i++) {
      const auto k = static_cast<size_t>(i);
      double off = std::fabs(double{got[k]} - want[k]);
      if (!(off < 1e30)) off = 1e30;  // NaN too
      square += off * off, size_square += size[k] * size[k];
      if (off > most) most = off, at = i - row * width;
    }
    const double scale = std::sqrt(size_square / static_cast<double>(width)) + 1e-30, mean = std::sqrt(square / static_cast<double>(width)) / scale;
    if (mean > worst_mean) worst_mean = mean, worst_row = row;
    if (most / scale > worst_most) worst_most = most / scale, worst_element = at;
  }
  remember(what, worst_mean, worst_most, bound);
  EXPECT_LE(worst_mean, bound) << what << ": row " << worst_row;
  EXPECT_LE(worst_most, kMostOverMean * bound) << what << ": element " << worst_element << " of a row";
}

void expect_product(std::span<const float> y, const Product& p, double bound, const std::string& what) {
  const int64_t rows = std::ssize(p.x) / p.cols, outs = std::ssize(p.w) / p.cols;
  ASSERT_EQ(std::ssize(y), rows * outs) << what;
  ASSERT_TRUE(std::ranges::all_of(y, [](float v) { return std::isfinite(v); })) << what << ": not every element is a number";
  const auto check_rows = [&](const std::vector<int64_t>& some, int64_t stride, const std::string& which) {
    std::vector<int64_t> columns;
    for (int64_t o = 0; o < outs; o += stride) columns.push_back(o);
    if (columns.back() != outs - 1) columns.push_back(outs - 1);
    const auto width = std::ssize(columns);
    std::vector<double> want(some.size() * columns.size()), size(want.size());
    std::vector<float> got(want.size());
    in_parallel(width, [&](int64_t c) {
      const int64_t o = columns[static_cast<size_t>(c)];
      const float* w = &p.w[static_cast<size_t>(o * p.cols)];
      for (size_t i = 0; i < some.size(); i++) {
        const float* x = &p.x[static_cast<size_t>(some[i] * p.cols)];
        const size_t at = i * columns.size() + static_cast<size_t>(c);
        double sum = p.bias.empty() ? 0 : double{p.bias[static_cast<size_t>(o)]}, square = sum * sum;
        for (int64_t k = 0; k < p.cols; k++) {
          const double term = double{x[k]} * double{w[k]};
          sum += term, square += term * term;
        }
        want[at] = sum, size[at] = std::sqrt(square), got[at] = y[static_cast<size_t>(some[i] * outs + o)];
      }
    });
    expect_close(got, want, width, bound, what + which, size);
  };
  std::vector<int64_t> all;
  for (int64_t r = 0; r < rows; r++) all.push_back(r);
  if (rows * outs * p.cols <= int64_t{40} << 20) return check_rows(all, 1, "");
  check_rows({0, rows / 2, rows - 1}, 1, ", three rows");
  check_rows(all, outs < 331 ? 17 : 331, ", some outputs");
}

void expect_same_bits(std::span<const float> got, std::span<const float> want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); i++) ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want[i])) << what << ": element " << i << " of " << got.size() << ": " << got[i] << " and " << want[i];
}

void print_distances() {
  std::cout << "largest distances from double precision (mean, most, allowed mean)\n";
  for (const auto& [name, f] : farthest()) std::printf("  %-28s %.1e  %.1e  %.0e  %s\n", name.c_str(), f.mean, f.most, f.bound, f.where.c_str());
}
