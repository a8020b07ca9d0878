// sample: ids drawn on the GPU against sorting and adding up in double; and steps that take them from each other without the host.
#include <gtest/gtest.h>
#include <cmath>
#include <numeric>
#include <random>
#include "cuda/gpu.h"
#include "engine/draw.h"

namespace {

enum class Logits { flat, peaked, ties, few, equal, n_kinds };
std::vector<float> logits_of(Logits kind, size_t n, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) {
    v = 2 * normal(random);
    if (kind == Logits::peaked) v = random() % 1000 == 0 ? v + 10 : v - 8;
    if (kind == Logits::ties) v = std::round(2 * v) / 2;
    if (kind == Logits::few && random() % 3) v = -INFINITY;
    if (kind == Logits::equal) v = 1.5f;
  }
  return x;
}
SampleSpec some_spec(std::mt19937_64& random, int32_t row, int32_t n_valid) {
  constexpr float temperatures[] = {0, 0.05f, 0.3f, 0.7f, 1, 1, 2}, top_ps[] = {1, 1, 0.95f, 0.9f, 0.5f, 0.1f, 0}, min_ps[] = {0, 0, 0, 0.001f, 0.05f, 0.5f, 1};
  constexpr int32_t top_ks[] = {0, 0, 1, 5, 40, 1000, 300000};
  const auto one_of = [&](const auto& values) { return values[random() % std::size(values)]; };
  return {row, n_valid, one_of(top_ks), one_of(temperatures), one_of(top_ps), one_of(min_ps), static_cast<double>(random() >> 11) * 0x1p-53};
}

// Logits enter as rows of a lookup table.
std::unique_ptr<Weight> upload(Device& device, std::span<const float> rows, int64_t width) {
  StoredMatrix m;
  m.format = find_format("F32");
  m.shape = {std::ssize(rows) / width, width};
  m.codes = std::as_bytes(rows);
  auto weight = device.upload_lookup(m);
  if (!weight) throw std::runtime_error(weight.error().message);
  std::vector<std::string> notes;
  if (const Status ended = device.end_uploads(notes); !ended) throw std::runtime_error(ended.error().message);
  return std::move(*weight);
}
std::vector<TokenId> drawn(Device& device) {
  const auto ids = device.await();
  if (!ids) throw std::runtime_error(ids.error().message);
  return {ids->begin(), ids->end()};
}

TEST(Sample, IdsAreThoseOfSortingInDouble) {
  std::mt19937_64 random(1);
  Device& device = Gpu::of(Precision::exact).device();
  int n = 0, others = 0;
  for (const auto& [width, n_valid, rows] : {std::array{97, 90, 64}, {2048, 2048, 64}, {2049, 2049, 33}, {5001, 4999, 64}, {151936, 151669, 5}, {248320, 248077, 10}}) {
    std::vector<float> table;
    std::vector<SampleSpec> specs;
    for (int row = 0; row < rows; ++row) {
      const auto x = logits_of(static_cast<Logits>(row % static_cast<int>(Logits::n_kinds)), static_cast<size_t>(width), random);
      table.insert(table.end(), x.begin(), x.end());
      specs.push_back(some_spec(random, row, n_valid));
    }
    const auto weight = upload(device, table, width);
    std::vector<TokenId> rows_of(static_cast<size_t>(rows)), first;
    std::iota(rows_of.begin(), rows_of.end(), 0);
    for (int repetition = 0; repetition < 3; ++repetition) {
      Encoder& e = device.begin();
      e.sample(e.embed(*weight, rows_of), specs);
      ASSERT_TRUE(device.submit());
      const auto ids = drawn(device);
      ASSERT_EQ(ids.size(), specs.size());
      if (repetition == 0) first = ids;
      EXPECT_EQ(ids, first) << width;
    }
    for (size_t i = 0; i < specs.size(); ++i, ++n) {
      const TokenId truth = sorted_draw(std::span(table).subspan(i * static_cast<size_t>(width), static_cast<size_t>(width)), specs[i]);
      if (first[i] == truth) continue;
      ++others;
      const SampleSpec& s = specs[i];
      ADD_FAILURE_AT(__FILE__, __LINE__) << width << " row " << i << ": " << first[i] << " instead of " << truth << " at temperature " << s.temperature << " top_k " << s.top_k << " top_p " << s.top_p << " min_p " << s.min_p
                                         << " uniform " << s.uniform;
    }
  }
  EXPECT_EQ(others, 0) << "of " << n;
}

TEST(Sample, RowsWithoutNumbersGiveNoId) {
  Device& device = Gpu::of(Precision::exact).device();
  constexpr int32_t width = 5000;
  std::vector<float> table(4 * width, 1.0f);
  table[100] = NAN;
  std::fill_n(table.begin() + width, width, -INFINITY);
  table[2 * width + 4321] = INFINITY;
  table[3 * width + 4999] = NAN;  // no valid id
  table[3 * width + 17] = 50;
  const auto weight = upload(device, table, width);
  const std::vector<TokenId> rows{0, 1, 2, 3};
  for (const float temperature : {0.0f, 1.0f})
    for (const float top_p : {1.0f, 0.9f}) {
      std::vector<SampleSpec> specs;
      for (int32_t row = 0; row < 4; ++row) specs.push_back({row, row == 3 ? 4999 : width, 0, temperature, top_p, 0, 0.5});
      Encoder& e = device.begin();
      e.sample(e.embed(*weight, rows), specs);
      ASSERT_TRUE(device.submit());
      EXPECT_EQ(drawn(device), (std::vector<TokenId>{-1, -1, 4321, 17}));
    }
}

// A chain of steps, each looking up what the one before drew: submitted one ahead, and with the host in between.
TEST(Sample, StepsTakeIdsFromEachOther) {
  std::mt19937_64 random(2);
  for (const Precision precision : {Precision::exact, Precision::fast}) {
    Device& device = Gpu::of(precision).device();
    constexpr int32_t width = 320, rows = 7, steps = 40;
    const auto table = logits_of(Logits::flat, size_t{width} * width, random);
    const auto weight = upload(device, table, width);
    const auto record = [&](std::span<const TokenId> ids, int step) {
      std::mt19937_64 of_step(static_cast<uint64_t>(step));
      std::vector<SampleSpec> specs;
      for (int32_t row = 0; row < rows; ++row) specs.push_back(some_spec(of_step, row, width));
      Encoder& e = device.begin();
      e.sample(e.embed(*weight, ids), specs);
      ASSERT_TRUE(device.submit());
    };
    std::vector<std::vector<TokenId>> alone, behind;
    std::vector<TokenId> ids(rows, 3);
    for (int step = 0; step < steps; ++step) {
      record(ids, step);
      alone.push_back(ids = drawn(device));
    }
    std::ranges::fill(ids, 3);
    record(ids, 0);
    for (int32_t row = 0; row < rows; ++row) ids[static_cast<size_t>(row)] = sampled_before(row);
    for (int step = 1; step < steps; ++step) {
      record(ids, step);
      behind.push_back(drawn(device));
    }
    behind.push_back(drawn(device));
    EXPECT_EQ(behind, alone);
  }
}

}  // namespace
