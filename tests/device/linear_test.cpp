// linear: every ISA and every format against a dot product in double over the reference decoder.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include "device/cpu/expert_ops.h"
#include "device/device.h"
#include "isas.h"
#include "matrices.h"

namespace {

using namespace cpu;

// x [n, cols] times the matrix through the recorded path.
std::vector<float> multiply(const Kernels& kernels, PackedMatrix& w, const std::vector<float>& x, int64_t n, bool exact, int threads = 2) {
  Team team(threads, false);
  Step step(threads);
  w.wide = kernels.wide;
  std::vector<float> y(static_cast<size_t>(n * w.rows), -1e30f);
  const PackedMatrix* const all[] = {&w};
  const Inputs in = prepare_inputs(step, x.data(), n, w.cols, all, exact);
  const LinearTarget target[] = {{&w, y.data(), nullptr}};
  record_linears(step, in, target, exact);
  std::vector<std::vector<float>> scratch(static_cast<size_t>(threads), std::vector<float>(1024));
  step.replay(team, kernels, scratch);
  return y;
}

std::vector<float> random_rows(int64_t n, int64_t cols, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(n * cols));
  for (float& v : x) v = normal(random);
  return x;
}

// The largest error of y against double, relative to the size of the terms that were summed.
double error_against_double(const StoredMatrix& m, const std::vector<float>& x, const std::vector<float>& y, int64_t n) {
  const int64_t rows = m.shape.rows(), cols = m.shape.back();
  std::vector<float> w(static_cast<size_t>(cols));
  double worst = 0;
  for (int64_t r = 0; r < rows; r++) {
    decode_row(m, r, w.data());
    for (int64_t t = 0; t < n; t++) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < cols; k++) {
        const double term = static_cast<double>(w[static_cast<size_t>(k)]) * static_cast<double>(x[static_cast<size_t>(t * cols + k)]);
        sum += term;
        size += term * term;
      }
      worst = std::max(worst, std::fabs(sum - static_cast<double>(y[static_cast<size_t>(t * rows + r)])) / (std::sqrt(size) + 1e-6));
    }
  }
  return worst;
}

class Linear : public testing::TestWithParam<std::string> {};

TEST_P(Linear, EveryIsaEqualsTheReferenceInDouble) {
  for (const DType scale_type : {DType::bf16, DType::f16, DType::f32}) {
    const bool affine = GetParam().starts_with("affine");
    if (!affine && scale_type != DType::bf16) continue;
    for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{1, 256}, {17, 512}, {40, 768}}) {
      const TestMatrix m = random_matrix(GetParam(), rows, cols, 7, scale_type);
      Team team(2, false);
      auto packed = pack({{m.stored}, {}, 1}, team);
      ASSERT_TRUE(packed);
      const std::vector<float> x = random_rows(19, cols, 3);
      for (const IsaEntry& isa : runnable_isas()) {
        EXPECT_LT(error_against_double(m.stored, x, multiply(*isa.kernels, **packed, x, 19, true), 19), 2e-5) << isa.name << " exact " << rows << " x " << cols;
        // int8 activations (and, in wide forms, weights: these random scales differ by orders of magnitude): uniform error of half a step (peak / 127) in every input of a group.
        EXPECT_LT(error_against_double(m.stored, x, multiply(*isa.kernels, **packed, x, 19, false), 19), isa.kernels->wide ? 1.2e-1 : 5e-2) << isa.name << " fast " << rows << " x " << cols;
      }
    }
  }
}

TEST_P(Linear, ARowsResultDoesNotDependOnItsBatchMatesOrTheThreads) {
  const TestMatrix m = random_matrix(GetParam(), 48, 512, 11);
  Team team(1, false);
  auto packed = pack({{m.stored}, {}, 1}, team);
  ASSERT_TRUE(packed);
  const std::vector<float> x = random_rows(37, 512, 5);
  for (const IsaEntry& isa : runnable_isas())
    for (const bool exact : {false, true}) {
      const std::vector<float> together = multiply(*isa.kernels, **packed, x, 37, exact, 3);
      for (int64_t t = 0; t < 37; t += 6) {
        const std::vector<float> one(x.begin() + t * 512, x.begin() + (t + 1) * 512);
        const std::vector<float> alone = multiply(*isa.kernels, **packed, one, 1, exact, 1);
        for (size_t r = 0; r < 48; r++) ASSERT_EQ(alone[r], together[static_cast<size_t>(t) * 48 + r]) << isa.name << " row " << t;
      }
    }
}

// Tiles and vector registers, panels and passes of every fill, a short last span.
TEST_P(Linear, EveryNumberOfRowsGivesTheSameBits) {
  const Format& format = *find_format(GetParam());
  const int64_t tail = std::max<int64_t>({32, format.block_weights, format.group});
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{40, 2048 + tail}, {305, 512}, {16, tail}}) {
    const TestMatrix m = random_matrix(GetParam(), rows, cols, 17);
    Team team(2, false);
    auto packed = pack({{m.stored}, {}, 1}, team);
    ASSERT_TRUE(packed);
    const std::vector<float> x = random_rows(150, cols, 19);
    for (const IsaEntry& isa : runnable_isas()) {
      if (std::string_view(isa.name) == "scalar") continue;  // one form for all, and slow
      const std::vector<float> want = multiply(*isa.kernels, **packed, x, 150, false);
      for (const int64_t n : {1, 2, 3, 4, 5, 7, 8, 16, 21, 64, 65, 128}) {
        const std::vector<float> got = multiply(*isa.kernels, **packed, x, n, false);
        for (size_t i = 0; i < got.size(); i++) ASSERT_EQ(want[i], got[i]) << isa.name << " " << rows << " x " << cols << " times " << n << " at " << i;
      }
    }
  }
}

TEST_P(Linear, PackingLosesNothing) {
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{19, 512}, {33, 256}}) {
    const TestMatrix m = random_matrix(GetParam(), rows, cols, 13);
    Team team(2, false);
    std::vector<int32_t> backwards(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; i++) backwards[static_cast<size_t>(i)] = static_cast<int32_t>(rows - 1 - i);
    auto packed = pack({{m.stored}, backwards, 1}, team);
    ASSERT_TRUE(packed);
    std::vector<float> want(static_cast<size_t>(cols)), got(static_cast<size_t>(cols));
    for (int64_t r = 0; r < rows; r++) {
      decode_row(m.stored, rows - 1 - r, want.data());
      unpack_row(**packed, r, got.data());
      for (int64_t k = 0; k < cols; k++)
        ASSERT_NEAR(got[static_cast<size_t>(k)], want[static_cast<size_t>(k)], 1e-6 * std::fabs(want[static_cast<size_t>(k)]) + 1e-12) << r << "," << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryFormat, Linear, testing::ValuesIn(weight_formats()), [](const auto& info) { return info.param; });

TEST(Experts, EqualsTheSumOverChosenExpertsInDouble) {
  constexpr int64_t kExperts = 6, kHidden = 64, kFfn = 96, kRows = 21;
  const TestMatrix gate = random_matrix("Q8_0", kExperts * kFfn, kHidden, 1), up = random_matrix("Q8_0", kExperts * kFfn, kHidden, 2), down = random_matrix("Q8_0", kExperts * kHidden, kFfn, 3);
  Team team(2, false);
  auto g = pack({{gate.stored}, {}, kExperts}, team), u = pack({{up.stored}, {}, kExperts}, team), d = pack({{down.stored}, {}, kExperts}, team);
  ASSERT_TRUE(g && u && d);
  const std::vector<float> x = random_rows(kRows, kHidden, 9);
  std::vector<int32_t> experts;
  std::vector<float> weights;
  for (int64_t r = 0; r < kRows; r++)
    for (int k = 0; k < 2; k++) {
      experts.push_back(static_cast<int32_t>((r * 5 + k * 2) % kExperts));
      weights.push_back(0.25f + 0.5f * static_cast<float>(k));
    }
  std::vector<double> want(static_cast<size_t>(kRows * kHidden));
  std::vector<float> wg(kHidden), wu(kHidden), wd(kFfn);
  for (int64_t r = 0; r < kRows; r++)
    for (int k = 0; k < 2; k++) {
      const int64_t e = experts[static_cast<size_t>(2 * r + k)];
      std::vector<double> h(kFfn);
      for (int64_t i = 0; i < kFfn; i++) {
        decode_row(gate.stored, e * kFfn + i, wg.data());
        decode_row(up.stored, e * kFfn + i, wu.data());
        double a = 0, b = 0;
        for (int64_t j = 0; j < kHidden; j++) a += double{wg[static_cast<size_t>(j)]} * x[static_cast<size_t>(r * kHidden + j)], b += double{wu[static_cast<size_t>(j)]} * x[static_cast<size_t>(r * kHidden + j)];
        h[static_cast<size_t>(i)] = a / (1 + std::exp(-a)) * b;
      }
      for (int64_t i = 0; i < kHidden; i++) {
        decode_row(down.stored, e * kHidden + i, wd.data());
        double y = 0;
        for (int64_t j = 0; j < kFfn; j++) y += double{wd[static_cast<size_t>(j)]} * h[static_cast<size_t>(j)];
        want[static_cast<size_t>(r * kHidden + i)] += double{weights[static_cast<size_t>(2 * r + k)]} * y;
      }
    }
  for (const IsaEntry& isa : runnable_isas()) {
    Step step(team.size());
    std::vector<float> y(static_cast<size_t>(kRows * kHidden));
    const PackedMatrix* const first[] = {g->get(), u->get()};
    const Inputs in = prepare_inputs(step, x.data(), kRows, kHidden, first, true);
    record_experts(step, in, {experts.data(), weights.data(), kRows, 2}, {g->get(), u->get(), d->get(), Activation::silu}, y.data(), true);
    std::vector<std::vector<float>> scratch(2, std::vector<float>(kExpertScratchFloats));
    step.replay(team, *isa.kernels, scratch);
    for (size_t i = 0; i < y.size(); i++) ASSERT_NEAR(y[i], want[i], 1e-3 * (1 + std::fabs(want[i]))) << isa.name << " " << i;
  }
}

}  // namespace
