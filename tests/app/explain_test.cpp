// explain_test: which facts lead to which words.
#include "app/explain.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using testing::HasSubstr;

namespace {
SpeedFacts quiet_machine() {
  SpeedFacts f;
  f.decode_share = 0.83, f.prefill_share = 0.31;
  f.read_bytes_per_s = 27e9, f.macs_per_s = 0.965e12, f.unit = "int8";
  f.bits_per_weight = 4.5, f.bytes_per_token = 1.6e9;
  f.threads = f.physical_cores = 2;
  f.isa = f.best_isa = "avx512", f.huge_pages = "madvise";
  return f;
}
std::string suggestion(void (*change)(SpeedFacts&)) {
  SpeedFacts f = quiet_machine();
  change(f);
  return explain(f).suggestion;
}
}  // namespace

TEST(Explain, NamesTheBottleneckWithItsFigures) {
  const Explanation e = explain(quiet_machine());
  EXPECT_EQ(e.bottleneck, "decode is memory-bound at 83 % of 27.00 GB/s; prefill reaches 31 % of 1.93 TOPS (int8, avx512)");
  EXPECT_THAT(e.suggestion, HasSubstr("every memory channel"));
  EXPECT_EQ(e.disturbance, "");
  SpeedFacts slow = quiet_machine();
  slow.decode_share = 0.4, slow.prefill_share = 0.6;
  EXPECT_EQ(explain(slow).bottleneck, "decode reads at 40 % of 27.00 GB/s, so that more than memory holds it up; prefill is compute-bound at 60 % of 1.93 TOPS (int8, avx512)");
  slow.decode_share = 0;
  EXPECT_EQ(explain(slow).bottleneck, "prefill is compute-bound at 60 % of 1.93 TOPS (int8, avx512)");
}

TEST(Explain, TheMostTellingFactIsSaid) {
  EXPECT_THAT(suggestion([](SpeedFacts& f) { f.swapped_bytes = 3'000'000'000, f.foreign_share = 0.5; }), HasSubstr("3.00 GB of the model were swapped out"));
  EXPECT_THAT(suggestion([](SpeedFacts& f) { f.foreign_share = 0.2, f.isa = "avx2"; }), HasSubstr("other programs"));
  EXPECT_THAT(suggestion([](SpeedFacts& f) { f.isa = "avx2", f.threads = 1; }), HasSubstr("avx512 is the best"));
  EXPECT_EQ(suggestion([](SpeedFacts& f) { f.threads = 1; }), "1 of 2 cores were left idle: --threads 2");
  EXPECT_EQ(suggestion([](SpeedFacts& f) { f.threads = 4; }), "4 threads share 2 cores: --threads 2");
  EXPECT_THAT(suggestion([](SpeedFacts& f) { f.exact = true; }), HasSubstr("--precision fast"));
  EXPECT_THAT(suggestion([](SpeedFacts& f) { f.huge_pages = "never"; }), HasSubstr("transparent_hugepage"));
  EXPECT_THAT(suggestion([](SpeedFacts& f) { f.numa_nodes = 2, f.decode_share = 0.4; }), HasSubstr("2 nodes"));
  EXPECT_EQ(suggestion([](SpeedFacts& f) { f.state_share = 0.4, f.depth = 32768; }), "at 32768 tokens of context 40 % of the bytes are keys, values and state: a shorter context is faster");
  EXPECT_THAT(suggestion([](SpeedFacts& f) { f.bits_per_weight = 8.5; }), HasSubstr("8.5 bits"));
  EXPECT_THAT(suggestion([](SpeedFacts& f) { f.decode_share = 0.5, f.bytes_per_token = 98e6; }), HasSubstr("threads wait for each other"));
  EXPECT_THAT(suggestion([](SpeedFacts& f) { f.decode_share = 0.5, f.prefill_share = 0.6; }), HasSubstr("no AMX"));
  EXPECT_THAT(suggestion([](SpeedFacts& f) { f.decode_share = 0.5; }), HasSubstr("nothing on this machine stands out"));
}

TEST(Explain, OfAGpuIsAboutStagesAndBytes) {
  const auto gpu = [](void (*change)(SpeedFacts&)) {
    SpeedFacts f;
    f.unit = "half", f.isa = f.best_isa = "tensor cores", f.threads = f.physical_cores = 132;
    f.decode_share = 0.5, f.read_bytes_per_s = 4.2e12, f.macs_per_s = 350e12, f.bits_per_weight = 4.5, f.foreign_share = 0.4;
    change(f);
    return explain(f);
  };
  EXPECT_EQ(gpu([](SpeedFacts& f) { f.prefill_share = 0.25; }).bottleneck, "decode reads at 50 % of 4.20 TB/s, so that more than memory holds it up; prefill reaches 25 % of 700.00 TOPS (half, tensor cores)");
  EXPECT_EQ(gpu([](SpeedFacts&) {}).disturbance, "");  // the processor's cores are not what computes
  EXPECT_THAT(gpu([](SpeedFacts&) {}).suggestion, HasSubstr("chain of short stages"));
  EXPECT_THAT(gpu([](SpeedFacts& f) { f.decode_share = 0.8; }).suggestion, HasSubstr("several at once share"));
  EXPECT_THAT(gpu([](SpeedFacts& f) { f.decode_share = 0.8, f.bits_per_weight = 8.5; }).suggestion, HasSubstr("8.5 bits"));
  EXPECT_THAT(gpu([](SpeedFacts& f) { f.state_share = 0.4; }).suggestion, HasSubstr("--kv int8"));
  EXPECT_THAT(gpu([](SpeedFacts& f) { f.exact = true; }).suggestion, HasSubstr("tensor cores"));
  EXPECT_THAT(gpu([](SpeedFacts& f) { f.decode_share = 0; }).suggestion, HasSubstr("--profile"));
}

TEST(Explain, AbovePermittedForeignShareTheFiguresAreCalledDisturbed) {
  SpeedFacts f = quiet_machine();
  f.foreign_share = 0.06;
  EXPECT_EQ(explain(f).disturbance, "");
  f.foreign_share = 0.23;
  EXPECT_EQ(explain(f).disturbance, "other programs took 23 % of the cores: these figures are disturbed");
}
