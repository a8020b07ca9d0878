// pack: every byte that packing writes is the one that the first packer wrote, which went row by row and byte by byte.
#include <gtest/gtest.h>
#include "device/cpu/team.h"
#include "device/device.h"
#include "matrices.h"
#include "packed_bytes.h"

namespace {

using namespace cpu;

class Pack : public testing::TestWithParam<std::string> {};

TEST_P(Pack, EveryByteIsThatOfTheFirstPacker) {
  for (const int threads : {1, 3}) {
    Team team(threads, false);
    uint64_t digest = 1469598103934665603u;
    for (const PackCase& c : pack_cases(GetParam())) {
      auto packed = pack(c.source(), team);
      ASSERT_TRUE(packed) << packed.error().message;
      digest = fold(digest, {(*packed)->data, (*packed)->bytes});
    }
    EXPECT_EQ(digest, first_packers_digests().at(GetParam())) << threads << " threads";
  }
}

TEST_P(Pack, ScalesThatAreNoNumbersAreRefused) {
  PackCase c = std::move(pack_cases(GetParam()).front());
  std::vector<std::byte>& where = c.matrix.scale.empty() ? c.matrix.codes : c.matrix.scale;
  std::ranges::fill(where, std::byte{0xff});
  Team team(2, false);
  const auto packed = pack(c.source(), team);
  const bool has_scales = find_format(GetParam())->scales != Scales::none && GetParam() != "NVFP4";  // whose NaN means 0
  ASSERT_EQ(packed.has_value(), !has_scales);
  if (has_scales) {
    EXPECT_EQ(packed.error().message, "finite scales expected, NaN or infinity found");
  }
}

// A matrix of one row is kept as floats and never packed.
TEST(Upload, OneRowIsRefusedToo) {
  TestMatrix m = random_matrix("Q8_0", 1, 64, 1);
  const auto device = make_cpu_device({});
  ASSERT_TRUE(device);
  EXPECT_TRUE((*device)->upload({{m.stored}, {}, 1}));
  std::ranges::fill(m.codes, std::byte{0xff});
  const auto weight = (*device)->upload({{m.stored}, {}, 1});
  ASSERT_FALSE(weight);
  EXPECT_EQ(weight.error().message, "finite scales expected, NaN or infinity found");
}

INSTANTIATE_TEST_SUITE_P(EveryFormat, Pack, testing::ValuesIn(weight_formats()), [](const auto& info) { return info.param; });

}  // namespace
