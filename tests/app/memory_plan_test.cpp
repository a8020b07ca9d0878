// memory_plan: what a model would take, on the CPU and on a GPU that need not be here, and what the refusals say.
#include "app/memory_plan.h"
#include <gtest/gtest.h>

namespace {

std::unique_ptr<WeightFile> checkpoint() {
  auto file = open_weights(std::string(CALLA_SOURCE_DIR) + "/tests/golden/models/qwen3_5_moe-Q4_0.gguf");
  EXPECT_TRUE(file);
  return std::move(*file);
}
DeviceOptions on(const char* device) {
  DeviceOptions options;
  options.device = device;
  return options;
}

TEST(MemoryPlan, RefusesWithNumbersAndSaysWhatWouldFit) {
  const auto file = checkpoint();
  EngineOptions engine;
  engine.context_tokens = 65536;
  const auto planner = MemoryPlanner::open(*file, on("cpu"), engine);
  ASSERT_TRUE(planner);
  const size_t least = planner->least_bytes();
  ASSERT_TRUE(planner->plan(least));
  const auto refused = planner->plan(least - 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::too_large);
  const int fits = planner->fitting_context(least - 1);
  ASSERT_GT(fits, 0);
  ASSERT_LT(fits, 65536);
  const std::string context = std::to_string(fits);
  EXPECT_NE(refused.error().message.find("a context of " + context + " tokens would fit (--ctx-size " + context + ")"), std::string::npos) << refused.error().message;
}

TEST(MemoryPlan, TakesFewerRowsWhereThereIsLittleRoom) {
  const auto file = checkpoint();
  EngineOptions engine;
  engine.context_tokens = 4096;
  const auto whole = MemoryPlanner::open(*file, on("cpu"), engine);
  ASSERT_TRUE(whole);
  const size_t room = whole->least_bytes() - 1;
  const auto tight = MemoryPlanner::open(*file, on("cpu"), engine, room);
  ASSERT_TRUE(tight);
  EXPECT_LE(tight->least_bytes(), room);
  const auto plan = tight->plan(room);
  ASSERT_TRUE(plan);
  EXPECT_LT(plan->engine.prefill_chunk, whole->plan(size_t{1} << 40)->engine.prefill_chunk);
  EXPECT_EQ(plan->engine.max_batch_tokens, plan->engine.prefill_chunk);  // no step has more
  engine.prefill_chunk = engine.max_batch_tokens = 2048;                 // as somebody asked for
  EXPECT_GT(MemoryPlanner::open(*file, on("cpu"), engine, 1)->least_bytes(), room / 2);
}

TEST(MemoryPlan, SaysHowSmallTheWeightsWouldHaveToBe) {
  const auto file = checkpoint();
  EngineOptions engine;
  engine.context_tokens = 256;
  const auto planner = MemoryPlanner::open(*file, on("cpu"), engine);
  ASSERT_TRUE(planner);
  const auto plan = planner->plan(planner->least_bytes());
  ASSERT_TRUE(plan);
  const size_t weights = plan->weight_bytes, without_half = planner->least_bytes() - weights / 2;
  const auto refused = planner->plan(without_half);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a quantisation 2.0 times smaller"), std::string::npos) << refused.error().message;
}

TEST(MemoryPlan, CountsAGpuWithoutOne) {
  const auto file = checkpoint();
  EngineOptions engine;
  engine.context_tokens = 512;
  engine.max_sequences = 2;
  const auto planner = MemoryPlanner::open(*file, on("cuda"), engine);
  if (!planner) {  // of a build without CUDA
    EXPECT_NE(planner.error().message.find("made without CUDA"), std::string::npos) << planner.error().message;
    return;
  }
  EXPECT_TRUE(planner->own_memory());
  const auto plan = planner->plan(size_t{8} << 30);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_GE(plan->weight_bytes, file->weight_bytes() / 2);
  EXPECT_LE(plan->weight_bytes, 2 * file->weight_bytes() + (size_t{64} << 20));  // one slab may be begun
  EXPECT_GT(plan->scratch_bytes, 0u);
  EXPECT_EQ(plan->engine.scratch_bytes, plan->scratch_bytes);  // taken at once, so that no step has to ask
  EXPECT_EQ(plan->state.state.scratch_bytes, plan->scratch_bytes);
  EngineOptions longer = engine;
  longer.context_tokens = 2048;
  const auto more = MemoryPlanner::open(*file, on("cuda"), longer);
  ASSERT_TRUE(more);
  EXPECT_GT(more->least_bytes(), planner->least_bytes());
}

}  // namespace
