// memory: which steps are taken for repetitions of one another; no GPU is needed.
#include <gtest/gtest.h>
#include "device/cuda/memory.h"

namespace cuda {
namespace {

struct Asked {
  std::vector<TokenId> ids;
  std::vector<int32_t> positions, logit_rows;
  std::vector<SequenceRows> sequences;
  std::vector<SampleSpec> specs;
  Batch batch() const { return {ids, positions, sequences, logit_rows}; }
};
// Sequences of so many rows each, so far in.
Asked rows_of(const std::vector<int32_t>& rows, int32_t past, float temperature = 0) {
  Asked a;
  for (const int32_t n : rows) {
    a.sequences.push_back({static_cast<int32_t>(a.ids.size()), n, past, nullptr, 0});
    for (int32_t i = 0; i < n; i++) a.ids.push_back(i), a.positions.push_back(past + i);
    a.logit_rows.push_back(static_cast<int32_t>(a.ids.size()) - 1);
    a.specs.push_back({});
    a.specs.back().temperature = temperature;
  }
  return a;
}
void add(StepMemory& memory, const Asked& a) { memory.add(a.batch(), a.specs, {}, a.logit_rows, {}); }
bool knows(StepMemory& memory, const Asked& a) { return memory.find(a.batch(), a.specs) != nullptr; }

TEST(Memory, KnowsStepsByWhatDecidesTheirKernels) {
  StepMemory memory;
  EXPECT_FALSE(knows(memory, rows_of({1, 1}, 100)));
  add(memory, rows_of({1, 1}, 100));
  EXPECT_TRUE(knows(memory, rows_of({1, 1}, 101)));   // other positions
  EXPECT_FALSE(knows(memory, rows_of({1, 1}, 200)));  // attention may take more blocks
  EXPECT_FALSE(knows(memory, rows_of({1}, 100)));
  EXPECT_FALSE(knows(memory, rows_of({2}, 100)));
  EXPECT_FALSE(knows(memory, rows_of({1, 1}, 100, 0.7f)));
  Asked silent = rows_of({1, 1}, 100);
  silent.logit_rows.pop_back();
  EXPECT_FALSE(knows(memory, silent));
  Asked hidden = rows_of({1, 1}, 100);
  Batch batch = hidden.batch();
  batch.hidden = true;
  EXPECT_EQ(memory.find(batch, hidden.specs), nullptr);
  memory.clear();
  EXPECT_FALSE(knows(memory, rows_of({1, 1}, 100)));
}

TEST(Memory, ForgetsWhatWasNotAskedForLongest) {
  StepMemory memory;
  add(memory, rows_of({1}, 0));
  for (int32_t n = 2; n < 40; n++) {
    EXPECT_TRUE(knows(memory, rows_of({1}, 0)));
    add(memory, rows_of({n}, 0));
  }
  EXPECT_TRUE(knows(memory, rows_of({1}, 0)));
  EXPECT_TRUE(knows(memory, rows_of({39}, 0)));
  EXPECT_FALSE(knows(memory, rows_of({2}, 0)));
}

TEST(Memory, LeavesPromptsAlone) {
  StepMemory memory;
  add(memory, rows_of({65}, 0));
  EXPECT_FALSE(knows(memory, rows_of({65}, 0)));
}

}  // namespace
}  // namespace cuda
