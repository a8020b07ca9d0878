// host: what of the NVIDIA device needs no GPU: refusals, the arithmetic of layouts, and what work costs at least.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <set>
#include "device/cuda/cost.h"

namespace cuda {
namespace {

TEST(Host, WithoutAGpuDeviceAndCalibrationSayWhy) {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) GTEST_SKIP() << "there is a GPU";
  const auto device = make_cuda_device({});
  ASSERT_FALSE(device);
  EXPECT_TRUE(device.error().message.starts_with("cannot use an NVIDIA GPU: ")) << device.error().message;
  EXPECT_GT(device.error().message.size(), 40u);
  const auto calibration = make_cuda_calibration({});
  ASSERT_FALSE(calibration);
  EXPECT_TRUE(calibration.error().message.starts_with("cannot measure the GPU: ")) << calibration.error().message;
  DeviceOptions options;
  options.device = "auto";
  const auto other = make_device(options);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_TRUE((*other)->name().starts_with("cpu ")) << (*other)->name();
}

TEST(Host, HalvesPutEveryElementInAPlaceOfItsOwn) {
  constexpr int rows = 24, cols = 192;
  std::set<int64_t> places;
  for (int r = 0; r < rows; r++)
    for (int k = 0; k < cols; k++) places.insert(half_at(rows, r, k));
  EXPECT_EQ(std::ssize(places), rows * cols);
  EXPECT_EQ(*places.rbegin(), rows * cols - 1);
  EXPECT_EQ(half_at(rows, 0, 1), 1);       // 8 inputs of a row lie together
  EXPECT_EQ(half_at(rows, 1, 0), 8);       // then the next row
  EXPECT_EQ(half_at(rows, 0, 64), rows * 64);
}

TEST(Host, BlocksOfStripsCanBeCopiedInPiecesOf16Bytes) {
  int kinds = 0;
#define CALLA_CHECK_KIND(c, s, g)                                                 \
  EXPECT_EQ(block_bytes(Codes::c, Scales::s, g) % 16, 0) << #c << " " << #s;        \
  EXPECT_TRUE((for_kind<bool>({Codes::c, Scales::s, g, 0}, []<class K>(K) { return std::is_same_v<K, Kind<Codes::c, Scales::s, g>>; }))); \
  kinds++;
  CALLA_STRIP_KINDS(CALLA_CHECK_KIND)
#undef CALLA_CHECK_KIND
  EXPECT_EQ(kinds, 12);
  EXPECT_FALSE((for_kind<bool>({Codes::u6, Scales::f16, 4, 0}, [](auto) { return true; })));
}

TEST(Host, CostsCountWeightsOnceAndExpertsAsOftenAsTheyAreTaken) {
  DeviceMatrix w, expert;
  w.form = DeviceMatrix::Form::floats, w.rows = 100, w.cols = 50;
  expert.form = DeviceMatrix::Form::floats, expert.rows = 10, expert.cols = 20, expert.n_experts = 6;
  const DeviceState state;
  const Tables tables;
  Costs costs{};
  const Op linear = LinearOp{nullptr, &w, nullptr, nullptr, 3};
  add_costs({&linear, 1}, tables, state, costs);
  EXPECT_EQ(costs[static_cast<size_t>(Work::matrices)].bytes, 4 * 100 * 50 + 4 * 3 * 150);
  EXPECT_EQ(costs[static_cast<size_t>(Work::matrices)].macs, 3 * 100 * 50);
  for (const auto& [rows, taken] : {std::pair{1, 2}, {2, 4}, {50, 6}}) {
    costs = {};
    const Op experts = ExpertsOp{nullptr, {nullptr, nullptr, rows, 2}, &expert, &expert, &expert, nullptr, Activation::silu};
    add_costs({&experts, 1}, tables, state, costs);
    EXPECT_EQ(costs[static_cast<size_t>(Work::experts)].bytes, 3 * (4 * 200 * taken + 4 * 2 * rows * 30)) << rows;
    EXPECT_EQ(costs[static_cast<size_t>(Work::experts)].macs, 3 * 2 * rows * 200) << rows;
  }
}

}  // namespace
}  // namespace cuda
