// rows: words that work row by row or element by element, alone and folded into their neighbours, against double.
#include <algorithm>
#include <gtest/gtest.h>
#include "cuda/bounds.h"
#include "cuda/gpu.h"
#include "cuda/twins.h"
#include "device/matrices.h"

namespace {

constexpr int64_t kRows[] = {1, 2, 9, 64, 65, 500};
constexpr int64_t kWidths[] = {2048, 1000, 96, 33, 4096, 1};

using Of = std::function<double(size_t)>;
void expect(std::span<const float> got, const Of& want, int64_t width, const std::string& what, const Of& size = {}) {
  std::vector<double> all(got.size()), sizes(size ? got.size() : 0);
  for (size_t i = 0; i < all.size(); i++) all[i] = want(i);
  for (size_t i = 0; i < sizes.size(); i++) sizes[i] = size(i);
  expect_close(got, all, width, bounds(Precision::fast).plain, what, sizes);
}

// The norm of every row, in double.
std::vector<double> normed(std::span<const double> x, int64_t width, std::span<const float> gain, double eps) {
  std::vector<double> y(x.size());
  for (size_t row = 0; row < x.size(); row += static_cast<size_t>(width)) {
    double square = 0;
    for (size_t i = 0; i < static_cast<size_t>(width); i++) square += x[row + i] * x[row + i];
    for (size_t i = 0; i < static_cast<size_t>(width); i++) y[row + i] = x[row + i] / std::sqrt(square / static_cast<double>(width) + eps) * (gain.empty() ? 1.0 : double{gain[i]});
  }
  return y;
}

TEST(Rows, ElementwiseWordsEqualDouble) {
  for (const Precision precision : kPrecisions)
    for (const int64_t n : kWidths)
      for (const int64_t rows : kRows) {
        Gpu& gpu = Gpu::of(precision);
        const Shape shape{rows, n};
        std::vector<float> a = noise(rows * n, 1, 4), b = noise(rows * n, 2, 4), g = noise(rows, 3, 2);
        if (n > 90) a[3] = 90, a[4] = -90, a[5] = 0, a[6] = 0x1p-13f, a[7] = -200;
        Tensor silu, gelu, gated, scaled, capped, sum, gated_sum, some;
        gpu.run([&](Encoder& e) {
          const Tensor ta = gpu.input(e, a, shape), tb = gpu.input(e, b, shape), tg = gpu.input(e, g, {rows, 1});
          silu = e.gate(ta, tb, Activation::silu), gelu = e.gate(ta, tb, Activation::gelu_tanh);
          gated = e.sigmoid_gate(ta, tb), scaled = e.scale(ta, 0.37f), capped = e.softcap(ta, 30);
          sum = e.add(ta, tb), gated_sum = e.add_gated(ta, tb, tg);
          some = e.columns(ta, n / 3, n - n / 3);
        });
        const std::string what = std::to_string(rows) + " x " + std::to_string(n) + " " + word(precision);
        const Of product = [&](size_t i) { return double{a[i]} * b[i]; };
        expect(gpu.read(silu), [&](size_t i) { return activate(Activation::silu, a[i]) * b[i]; }, n, "silu gate: " + what, product);
        expect(gpu.read(gelu), [&](size_t i) { return activate(Activation::gelu_tanh, a[i]) * b[i]; }, n, "gelu gate: " + what, product);  // 1 + tanh cancels far below zero
        expect(gpu.read(gated), [&](size_t i) { return a[i] * sigmoid(b[i]); }, n, "sigmoid gate: " + what);
        expect(gpu.read(scaled), [&](size_t i) { return a[i] * double{0.37f}; }, n, "scale: " + what);
        expect(gpu.read(capped), [&](size_t i) { return 30 * std::tanh(a[i] / 30.0); }, n, "softcap: " + what);
        expect(gpu.read(sum), [&](size_t i) { return double{a[i]} + b[i]; }, n, "add: " + what);
        expect(gpu.read(gated_sum), [&](size_t i) { return a[i] + b[i] * sigmoid(g[i / static_cast<size_t>(n)]); }, n, "add gated: " + what);
        const int64_t count = n - n / 3;
        expect(gpu.read(some), [&](size_t i) { return a[i / static_cast<size_t>(count) * static_cast<size_t>(n) + static_cast<size_t>(n / 3) + i % static_cast<size_t>(count)]; }, count, "columns: " + what);
      }
}

TEST(Rows, NormsEqualDoubleAloneAndBehindAdditions) {
  for (const Precision precision : kPrecisions)
    for (const int64_t n : {2048, 1000, 96, 128, 17, 5376})
      for (const int64_t rows : kRows) {
        Gpu& gpu = Gpu::of(precision);
        const std::vector<float> a = noise(rows * n, 1), b = noise(rows * n, 2), c = noise(rows * n, 3), g = noise(rows, 4), gain = noise(n, 5, 0.3f, 1);
        const auto weight = gpu.vector(gain);
        const Shape shape{rows, n};
        Tensor alone, plain, sum, behind, behind_two, sum_two;
        gpu.run([&](Encoder& e) {
          const Tensor ta = gpu.input(e, a, shape), tb = gpu.input(e, b, shape), tc = gpu.input(e, c, shape), tg = gpu.input(e, g, {rows, 1});
          alone = e.rms_norm(ta, weight.get(), 1e-6f), plain = e.rms_norm(ta, nullptr, 1e-5f);
          sum = e.add(ta, tb), behind = e.rms_norm(sum, weight.get(), 1e-6f);
          sum_two = e.add(tc, e.add_gated(ta, tb, tg)), behind_two = e.rms_norm(sum_two, weight.get(), 1e-6f);
        });
        const std::string what = std::to_string(rows) + " x " + std::to_string(n) + " " + word(precision);
        std::vector<double> one(a.begin(), a.end()), two(one), three(one);
        for (size_t i = 0; i < one.size(); i++) two[i] += b[i], three[i] += c[i] + b[i] * sigmoid(g[i / static_cast<size_t>(n)]);
        const double bound = bounds(precision).plain;
        expect_close(gpu.read(alone), normed(one, n, gain, 1e-6), n, bound, "norm: " + what);
        expect_close(gpu.read(plain), normed(one, n, {}, 1e-5), n, bound, "norm: " + what + ", no gain");
        expect_close(gpu.read(behind), normed(two, n, gain, 1e-6), n, bound, "norm of a sum: " + what);
        expect_close(gpu.read(behind_two), normed(three, n, gain, 1e-6), n, bound, "norm of sums: " + what);
        expect_close(gpu.read(sum), two, n, bound, "sum before a norm: " + what);
        expect_close(gpu.read(sum_two), three, n, bound, "sums before a norm: " + what);
      }
}

TEST(Rows, NormsOfHeads) {  // over the last extent of [rows, heads, dim]
  for (const Precision precision : kPrecisions)
    for (const int64_t rows : {1, 33, 200}) {
      Gpu& gpu = Gpu::of(precision);
      const std::vector<float> x = noise(rows * 18 * 256, 1), gain = noise(256, 5, 0.3f, 1);
      const auto weight = gpu.vector(gain);
      Tensor y;
      gpu.run([&](Encoder& e) { y = e.rms_norm(gpu.input(e, x, {rows, 18, 256}), weight.get(), 1e-6f); });
      expect_close(gpu.read(y), normed(std::vector<double>(x.begin(), x.end()), 256, gain, 1e-6), 256, bounds(precision).plain, "norm of heads: " + std::to_string(rows) + " rows " + word(precision));
    }
}

TEST(Rows, RopeTurnsPairsByTheirPositions) {
  struct Form { int64_t heads, dim, pairs; RopePairs kind; float magnitude; };
  for (const Form& f : {Form{18, 256, 32, RopePairs::halves, 1}, {4, 64, 32, RopePairs::adjacent, 1}, {3, 80, 20, RopePairs::halves, 1.3f}, {1, 128, 64, RopePairs::halves, 1}, {2, 96, 16, RopePairs::adjacent, 1.1f}}) {
    Rope rope;
    for (int64_t i = 0; i < f.pairs; i++) rope.inverse_frequencies.push_back(i == 3 ? 0.0f : std::pow(10000.0f, -static_cast<float>(i) / static_cast<float>(f.pairs)));
    rope.magnitude = f.magnitude, rope.pairs = f.kind;
    for (const Precision precision : kPrecisions)
      for (const int32_t rows : {1, 40, 300}) {
        static std::vector<std::unique_ptr<Rope>> owned;  // a device may remember a table by its address
        const Rope& table = *owned.emplace_back(std::make_unique<Rope>(rope));
        Gpu& gpu = Gpu::of(precision);
        const Step::Part part[] = {{rows, 1234, 0}};
        const Step step(part);
        const std::vector<float> x = noise(rows * f.heads * f.dim, 1);
        Tensor y;
        gpu.run([&](Encoder& e) {
          y = gpu.input(e, x, {rows, f.heads, f.dim});
          e.rope(y, step.batch(), table);
        });
        std::vector<double> want(x.begin(), x.end());
        for (int64_t r = 0; r < rows; r++)
          for (int64_t h = 0; h < f.heads; h++)
            for (int64_t i = 0; i < f.pairs; i++) {
              const int64_t base = (r * f.heads + h) * f.dim, first = base + (f.kind == RopePairs::halves ? i : 2 * i), second = base + (f.kind == RopePairs::halves ? i + f.pairs : 2 * i + 1);
              const double angle = static_cast<double>(1234 + r) * double{rope.inverse_frequencies[static_cast<size_t>(i)]}, c = std::cos(angle) * double{f.magnitude}, s = std::sin(angle) * double{f.magnitude};
              const double a = x[static_cast<size_t>(first)], b = x[static_cast<size_t>(second)];
              want[static_cast<size_t>(first)] = a * c - b * s, want[static_cast<size_t>(second)] = b * c + a * s;
            }
        expect_close(gpu.read(y), want, f.dim, 2e-4, std::string("rope ") + word(precision) + ": dim " + std::to_string(f.dim) + ", rows " + std::to_string(rows));  // angles in float32
      }
  }
}

TEST(Rows, LookupsOfEveryFormatAreWhatIsStored) {
  for (const std::string& format : weight_formats()) {
    const Format& f = *find_format(format);
    const int64_t unit = std::max<int64_t>({32, f.block_weights, f.group}), cols = 3 * unit;
    const TestMatrix m = random_matrix(format, 50, cols, 3);
    const std::vector<float> w = decoded(m.stored);
    for (const Precision precision : kPrecisions) {
      Gpu& gpu = Gpu::of(precision);
      const auto loaded = gpu.device().upload_lookup(m.stored);
      ASSERT_TRUE(loaded) << format << ": " << loaded.error().message;
      const std::vector<TokenId> ids = {49, 0, 17, 17, 1, 50, 31};  // those out of range give row 0
      Tensor y;
      gpu.run([&](Encoder& e) { y = e.embed(**loaded, ids, 1.5f); });
      std::vector<double> want;
      for (const TokenId id : ids)
        for (int64_t k = 0; k < cols; k++) want.push_back(1.5 * double{w[static_cast<size_t>((id < 0 || id >= 50 ? 0 : id) * cols + k)]});
      const bool rounded = precision == Precision::fast && f.codes == Codes::f32;  // kept as halves
      expect_close(gpu.read(y), want, cols, rounded ? 5e-4 : 2e-6, std::string("lookup ") + word(precision) + ": " + format);
    }
  }
}

TEST(Rows, PickingAndCarryingCopies) {
  for (const Precision precision : kPrecisions)
    for (const int64_t rows : {1, 30, 400}) {
      Gpu& gpu = Gpu::of(precision);
      constexpr int64_t kWidth = 2050;
      const std::vector<float> a = noise(rows * kWidth, 1), b = noise(rows * kWidth, 2);
      std::vector<int32_t> which;
      for (int64_t i = 0; i < rows; i += 1 + rows / 7) which.push_back(static_cast<int32_t>(i));
      Tensor picked, carried;
      gpu.run([&](Encoder& e) {
        const Tensor start = gpu.input(e, a, {rows, kWidth}), other = gpu.input(e, b, {rows, kWidth});
        Tensor x = e.carry(start);
        for (int layer = 0; layer < 5; layer++) x = e.carry(e.add(e.scale(x, 0.5f), layer == 0 ? e.scale(other, 1) : e.scale(x, 2)));  // layers that leave rubbish behind
        carried = x;
        picked = e.rows(x, which);
      });
      std::vector<double> want;
      for (size_t i = 0; i < a.size(); i++) want.push_back((0.5 * double{a[i]} + double{b[i]}) * 2.5 * 2.5 * 2.5 * 2.5);
      expect_close(gpu.read(carried), want, kWidth, 1e-6, std::string("carry ") + word(precision) + ": rows " + std::to_string(rows));
      std::vector<double> some;
      for (const int32_t row : which) some.insert(some.end(), want.begin() + row * kWidth, want.begin() + (row + 1) * kWidth);
      expect_close(gpu.read(picked), some, kWidth, 1e-6, std::string("picked rows ") + word(precision) + ": of " + std::to_string(rows));
    }
}

}  // namespace
