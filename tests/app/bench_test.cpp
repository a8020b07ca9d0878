// bench_test: ids, digests, shares and processor times: the arithmetic that bench's figures rest on.
#include "app/bench.h"
#include <gtest/gtest.h>
#include <thread>
#include "app/console.h"

TEST(Bench, IdsAreLilys) {
  EXPECT_EQ(bench_ids(5, 1000), (std::vector<TokenId>{0, 761, 2654435761u * 2u % 1000, 2654435761u * 3u % 1000, 2654435761u * 4u % 1000}));
  EXPECT_TRUE(bench_ids(0, 1000).empty());
}

TEST(Bench, DigestIsFnv1a) {
  EXPECT_EQ(ids_digest({}), 0xcbf29ce484222325u);
  EXPECT_EQ(ids_digest(std::vector<TokenId>{'a', 'b'}), ids_digest(std::vector<TokenId>{'a', 'b'}));
  EXPECT_NE(ids_digest(std::vector<TokenId>{'a', 'b'}), ids_digest(std::vector<TokenId>{'b', 'a'}));
  const std::vector<TokenId> one{0x61626364};  // the four bytes "dcba"
  EXPECT_EQ(ids_digest(one), 0x7379236726592e75u);
}

TEST(Bench, MedianOfEvenAndOddCounts) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
}

TEST(Bench, SharesPairEachSampleWithItsOwnCalibration) {
  BenchCase decode{true, 8, 0, 1, 100, 0, {{1, {200, 0}}, {2, {250, 0}}, {1, {100, 0}}}, {1, 1, 1}};
  EXPECT_DOUBLE_EQ(share_of(decode), 0.8);
  EXPECT_EQ(rates(decode), (std::vector<double>{1, 2, 1}));
  EXPECT_TRUE(decode.repeats());
  decode.digests[1] = 2;
  EXPECT_FALSE(decode.repeats());
  const BenchCase prefill{false, 8, 0, 1, 0, 50, {{10, {0, 1000}}}, {1}};
  EXPECT_DOUBLE_EQ(share_of(prefill), 0.5);
}

TEST(Bench, ProcessorTimes) {
  const CpuTimes t = parse_cpu_times("cpu  10 1 5 70 4 2 1 7 3 0");
  EXPECT_EQ(t.total, 100);
  EXPECT_EQ(t.busy, 26);
  EXPECT_EQ(parse_cpu_times("intr 5").total, 0);
  EXPECT_EQ(parse_cpu_times("").total, 0);
  const ForeignShare share;
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_GE(share.measure(), 0);
  EXPECT_LE(share.measure(), 1);
}

TEST(Bench, StateTrafficStopsAtTheWindow) {
  const StateTraffic state{{{10, 0}, {10, 100}}, 1000};
  EXPECT_EQ(state.bytes_at(0), 2000);
  EXPECT_EQ(state.bytes_at(50), 3000);
  EXPECT_EQ(state.bytes_at(200), 5000);
}
