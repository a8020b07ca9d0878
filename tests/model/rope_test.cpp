// rope: frequencies of each kind of scaling against their formulas at hand-picked pairs.
#include <cmath>
#include <gtest/gtest.h>
#include "model/rope.h"

namespace {

TEST(Rope, DefaultAndLinear) {
  RopeSettings s;
  s.theta = 10000;
  const Rope plain = make_rope(s, 8);
  ASSERT_EQ(plain.inverse_frequencies.size(), 4u);
  EXPECT_FLOAT_EQ(plain.inverse_frequencies[0], 1);
  EXPECT_FLOAT_EQ(plain.inverse_frequencies[2], 0.01f);
  s.type = "linear", s.factor = 8;
  EXPECT_FLOAT_EQ(make_rope(s, 8).inverse_frequencies[2], 0.01f / 8);
}

TEST(Rope, PartialTablesAreShort) {
  RopeSettings s;
  s.theta = 1e7, s.partial = 0.25;
  const Rope rope = make_rope(s, 256);
  ASSERT_EQ(rope.inverse_frequencies.size(), 32u);
  EXPECT_FLOAT_EQ(rope.inverse_frequencies[16], static_cast<float>(std::pow(1e7, -0.5)));
}

TEST(Rope, ProportionalKeepsTheFullWidth) {
  RopeSettings s;
  s.type = "proportional", s.theta = 1e6, s.partial = 0.25;
  const Rope rope = make_rope(s, 512);
  ASSERT_EQ(rope.inverse_frequencies.size(), 256u);
  EXPECT_FLOAT_EQ(rope.inverse_frequencies[63], static_cast<float>(std::pow(1e6, -126.0 / 512)));
  EXPECT_EQ(rope.inverse_frequencies[64], 0);
}

TEST(Rope, DivisorsUnrotate) {
  RopeSettings s;
  s.theta = 100, s.divisors = {1, 2, 1e30f, 4};
  const Rope rope = make_rope(s, 8);
  EXPECT_FLOAT_EQ(rope.inverse_frequencies[1], static_cast<float>(std::pow(100, -0.25)) / 2);
  EXPECT_EQ(rope.inverse_frequencies[2], 0);
}

TEST(Rope, Llama3MixesInTheMiddle) {
  RopeSettings s;
  s.type = "llama3", s.theta = 500000, s.factor = 8, s.low_freq = 1, s.high_freq = 4, s.original_positions = 8192;
  const Rope rope = make_rope(s, 128);
  EXPECT_FLOAT_EQ(rope.inverse_frequencies[0], 1);                                                        // many turns: unchanged
  EXPECT_FLOAT_EQ(rope.inverse_frequencies[63], static_cast<float>(std::pow(500000, -126.0 / 128) / 8));  // less than one turn
}

TEST(Rope, YarnRampsAndScales) {
  RopeSettings s;
  s.type = "yarn", s.theta = 10000, s.factor = 4, s.original_positions = 64, s.magnitude = 1 + 0.1 * std::log(4.0);
  const Rope rope = make_rope(s, 40);
  EXPECT_FLOAT_EQ(rope.inverse_frequencies[0], 1);
  EXPECT_FLOAT_EQ(rope.inverse_frequencies[19], static_cast<float>(std::pow(10000, -38.0 / 40) / 4));
  EXPECT_FLOAT_EQ(rope.magnitude, 1.1386294f);
}

}  // namespace
