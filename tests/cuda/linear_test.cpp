// linear: every stored format, shapes odd and real, few and many rows, several matrices on one input, against the reference decoder in double.
#include <algorithm>
#include <gtest/gtest.h>
#include "cuda/bounds.h"
#include "cuda/gpu.h"
#include "cuda/twins.h"
#include "device/matrices.h"

namespace {

std::vector<float> multiply(Gpu& gpu, std::span<const float> x, int64_t rows, const Weight& w, const Weight* bias = nullptr) {
  Tensor y;
  gpu.run([&](Encoder& e) { y = e.linear(gpu.input(e, x, {rows, std::ssize(x) / rows}), w, bias); });
  return gpu.read(y);
}

struct Case { int64_t outs, cols; std::vector<int64_t> rows; };

void check(const std::string& format, const Case& c, DType scale_type = DType::bf16) {
  const TestMatrix m = random_matrix(format, c.outs, c.cols, 7, scale_type);
  const std::vector<float> w = decoded(m.stored), bias = noise(c.outs, 11);
  for (const Precision precision : kPrecisions) {
    Gpu& gpu = Gpu::of(precision);
    const auto weight = gpu.upload(m.stored), offset = gpu.vector(bias);
    for (const int64_t rows : c.rows) {
      const std::vector<float> x = noise(rows * c.cols, static_cast<unsigned>(rows));
      const std::string what = std::string("linear ") + word(precision) + ": " + format + " " + std::to_string(c.outs) + " x " + std::to_string(c.cols) + ", rows " + std::to_string(rows);
      expect_product(multiply(gpu, x, rows, *weight), {x, w, {}, c.cols}, bounds(precision).product, what);
      if (rows == 1 || rows == 65) expect_product(multiply(gpu, x, rows, *weight, offset.get()), {x, w, bias, c.cols}, bounds(precision).product, what + ", bias");
    }
  }
}

class Linear : public testing::TestWithParam<std::string> {};

TEST_P(Linear, EqualsDouble) {
  const Format& f = *find_format(GetParam());
  const int64_t unit = std::max<int64_t>({32, f.block_weights, f.group});
  const std::vector<int64_t> some = {1, 2, 7, 8, 9, 16, 31, 64, 65, 200};
  check(GetParam(), {40, 3 * unit, some});
  check(GetParam(), {1, unit, {1, 9, 70}});
  check(GetParam(), {300, 1024 + unit, {1, 8, 33, 512}});
  if (GetParam().starts_with("affine"))
    for (const DType scales : {DType::f16, DType::f32}) check(GetParam(), {33, 2 * unit, {1, 16, 65}}, scales);
  if (f.scales == Scales::none) check(GetParam(), {19, 1000, {1, 3, 64, 100}});  // a float row has no unit
}
INSTANTIATE_TEST_SUITE_P(EveryFormat, Linear, testing::ValuesIn(weight_formats()), [](const auto& info) { return info.param; });

class FastFormat : public testing::TestWithParam<const char*> {};
constexpr const char* kFullSpeed[] = {"affine4g64", "affine4g32", "affine8g64", "affine8g32", "Q4_0", "Q4_K", "Q5_K", "Q6_K", "Q8_0", "F16", "BF16"};

TEST_P(FastFormat, EqualsDoubleInRealShapes) {
  check(GetParam(), {12352, 2048, {1, 7, 64, 1000}});
  check(GetParam(), {2048, 4096, {1, 2, 31, 65, 512}});
  check(GetParam(), {512, 2048, {8, 16}});
}

// A row alone and among others: the same bits. Steps of up to 64 rows are what decodes; more rows are a prompt.
TEST_P(FastFormat, ARowsBitsDoNotDependOnItsStep) {
  for (const auto& [outs, cols] : {std::pair<int64_t, int64_t>{2048, 2048}, {100, 512}}) {
    const TestMatrix m = random_matrix(GetParam(), outs, cols, 5);
    for (const Precision precision : kPrecisions) {
      Gpu& gpu = Gpu::of(precision);
      const auto w = gpu.upload(m.stored);
      for (const int64_t most : {32, 64}) {
        const std::vector<float> x = noise(most * cols, 3), all = multiply(gpu, x, most, *w);
        for (const int64_t row : {int64_t{0}, int64_t{17}, most - 1}) {
          const std::span<const float> own = std::span(x).subspan(static_cast<size_t>(row * cols), static_cast<size_t>(cols));
          expect_same_bits(multiply(gpu, own, 1, *w), std::span(all).subspan(static_cast<size_t>(row * outs), static_cast<size_t>(outs)),
                           std::string(word(precision)) + " row " + std::to_string(row) + " of " + std::to_string(most));
        }
      }
      const std::vector<float> x = noise(300 * cols, 4), all = multiply(gpu, x, 300, *w);
      expect_same_bits(multiply(gpu, std::span(x).subspan(static_cast<size_t>(100 * cols)), 200, *w), std::span(all).subspan(static_cast<size_t>(100 * outs)), std::string(word(precision)) + " 200 of 300 rows");
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, FastFormat, testing::ValuesIn(kFullSpeed), [](const auto& info) { return info.param; });

TEST(Linears, OfSeveralFormatsShareAnInput) {
  constexpr int64_t kCols = 2048;
  const std::vector<TestMatrix> stored = [] {
    std::vector<TestMatrix> all;
    for (const auto& [name, outs] : {std::pair{"Q4_0", 4096}, {"Q8_0", 256}, {"Q4_0", 40}, {"F32", 1}, {"BF16", 32}, {"affine4g64", 513}}) all.push_back(random_matrix(name, outs, kCols, static_cast<unsigned>(outs)));
    return all;
  }();
  for (const Precision precision : kPrecisions) {
    Gpu& gpu = Gpu::of(precision);
    std::vector<std::unique_ptr<Weight>> owned;
    std::vector<const Weight*> weights;
    for (const TestMatrix& m : stored) weights.push_back(owned.emplace_back(gpu.upload(m.stored, m.stored.shape.rows() <= 32)).get());
    for (const int64_t rows : {1, 5, 40, 130}) {
      const std::vector<float> x = noise(rows * kCols, 21);
      std::vector<Tensor> out(weights.size());
      gpu.run([&](Encoder& e) { e.linears(gpu.input(e, x, {rows, kCols}), weights, out); });
      for (size_t i = 0; i < out.size(); i++)
        expect_product(gpu.read(out[i]), {x, decoded(stored[i].stored), {}, kCols}, bounds(precision).product, std::string("linears ") + word(precision) + ": matrix " + std::to_string(i) + ", rows " + std::to_string(rows));
    }
  }
}

// Rows picked and joined while they are uploaded: two parts, backwards.
TEST(Linear, OfPartsInAnotherOrder) {
  const TestMatrix a = random_matrix("Q4_0", 24, 256, 1), b = random_matrix("Q4_0", 24, 256, 2);
  MatrixSource source;
  source.parts = {a.stored, b.stored};
  std::vector<float> w;
  const std::vector<float> first = decoded(a.stored), second = decoded(b.stored);
  for (int32_t i = 47; i >= 0; i--) {
    source.row_order.push_back(i);
    const auto& from = i < 24 ? first : second;
    const auto at = from.begin() + (i < 24 ? i : i - 24) * 256;
    w.insert(w.end(), at, at + 256);
  }
  for (const Precision precision : kPrecisions) {
    Gpu& gpu = Gpu::of(precision);
    const auto weight = gpu.upload(source);
    for (const int64_t rows : {1, 20, 100}) {
      const std::vector<float> x = noise(rows * 256, 3);
      expect_product(multiply(gpu, x, rows, *weight), {x, w, {}, 256}, bounds(precision).product, std::string("linear of parts ") + word(precision) + ": rows " + std::to_string(rows));
    }
  }
}

// Large activations must saturate and not become infinite: half precision ends at 65504.
TEST(Linear, OfLargeActivationsStaysFinite) {
  const TestMatrix m = random_matrix("Q4_0", 64, 512, 9);
  Gpu& gpu = Gpu::of(Precision::fast);
  const auto w = gpu.upload(m.stored);
  for (const int64_t rows : {1, 20, 100}) {
    std::vector<float> x = noise(rows * 512, 3);
    for (size_t i = 0; i < x.size(); i += 97) x[i] = i % 2 ? 1e6f : -1e6f;
    EXPECT_TRUE(std::ranges::all_of(multiply(gpu, x, rows, *w), [](float v) { return std::isfinite(v); })) << rows;
  }
}

}  // namespace
