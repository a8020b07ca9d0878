// delta: the gated delta rule with its convolution, norm and gate on every ISA against a twin in double precision, and the same bits for every
// way of cutting the work: chunks (few rows are one operation, many are three), threads, batches.
#include <cmath>
#include <gtest/gtest.h>
#include "delta_twin.h"
#include "device/cpu/state_ops.h"
#include "isas.h"

namespace {

using namespace cpu;
using namespace delta_twin;

// Rows in chunks; a second sequence runs beside the first one, on the same rows, up to `second` of them.
std::vector<float> run(const Case& c, const Data& x, const Kernels& kernels, int threads, int chunk, int second) {
  StateSpec spec;
  spec.kind = StateSpec::Kind::recurrent;
  spec.conv_channels = static_cast<int32_t>(c.channels()), spec.conv_kernel = c.kernel;
  spec.n_heads = c.d.n_value_heads, spec.head_key_dim = c.d.key_dim, spec.head_value_dim = c.d.value_dim;
  State state;
  EXPECT_TRUE(state.allocate({&spec, 1}, {0, 32, 3}, CacheType::half));
  Team team(threads, false);
  std::vector<std::vector<float>> scratch(static_cast<size_t>(threads), std::vector<float>(static_cast<size_t>(state_scratch_floats({&spec, 1})), std::nanf("")));
  std::vector<float> out(static_cast<size_t>(c.rows * c.values()));
  Step step(threads);
  for (int past = 0; past < c.rows; past += chunk) {
    const int rows = std::min(chunk, c.rows - past), others = std::clamp(second - past, 0, rows), all = rows + others;
    const auto gather = [&](const std::vector<float>& from, int64_t width) {
      std::vector<float> y(from.begin() + past * width, from.begin() + (past + rows) * width);
      y.insert(y.end(), from.begin() + past * width, from.begin() + (past + others) * width);
      return y;
    };
    const auto qkv = gather(x.qkv, c.channels()), z = gather(x.z, c.values()), a = gather(x.a, c.d.n_value_heads), b = gather(x.b, c.d.n_value_heads);
    std::vector<float> y(static_cast<size_t>(all * c.values()));
    const SequenceRows sequences[] = {{0, rows, past, nullptr, 2}, {rows, others, past, nullptr, 0}};
    const std::vector<TokenId> ids(static_cast<size_t>(all));
    step.reset();
    record_delta_block(step, state, {0}, {qkv.data(), z.data(), a.data(), b.data(), x.taps.data(), x.neg_exp_a.data(), x.dt_bias.data(), x.gain.data(), kEps}, c.d,
                       Batch{ids, {}, std::span(sequences, others > 0 ? 2 : 1), {}}, y.data());
    step.replay(team, kernels, scratch);
    std::copy_n(y.begin(), rows * c.values(), out.begin() + past * c.values());
    EXPECT_TRUE(std::equal(y.begin(), y.begin() + others * c.values(), y.begin() + rows * c.values())) << "second sequence";
  }
  return out;
}

TEST(GatedDelta, EqualsTheRecurrenceInDoubleHoweverItIsCut) {
  const Case cases[] = {{{2, 4, 128, 128, false}, 4, 40, 0.05f}, {{2, 6, 32, 48, true}, 4, 90, 1.0f}, {{3, 3, 17, 20, false}, 2, 30, 6.0f}, {{1, 2, 64, 33, true}, 3, 70, 0.3f}};
  for (const Case& c : cases) {
    const Data x(c);
    const std::vector<double> want = twin(c, x);
    for (const IsaEntry& isa : runnable_isas()) {
      const std::vector<float> whole = run(c, x, *isa.kernels, 1, c.rows, 0);
      for (size_t i = 0; i < whole.size(); i++) ASSERT_NEAR(whole[i], want[i], 3e-4 * (1 + std::fabs(want[i]))) << isa.name << " dim " << c.d.key_dim << " at " << i;
      struct Cut { int chunk, threads, second; };
      for (const Cut& cut : {Cut{1, 1, 0}, {1, 3, 20}, {2, 2, 0}, {8, 2, 33}, {9, 2, 10}, {16, 3, c.rows}}) {
        const std::vector<float> other = run(c, x, *isa.kernels, cut.threads, cut.chunk, cut.second);
        for (size_t i = 0; i < whole.size(); i++) ASSERT_EQ(whole[i], other[i]) << isa.name << " dim " << c.d.key_dim << " chunks of " << cut.chunk << " at " << i;
      }
    }
  }
}

// What is forgotten leaves zeros and no denormals: a state that only decays costs no more than a fresh one and keeps its bits for any cut.
TEST(GatedDelta, ForgetsWithoutDenormals) {
  const Case c{{1, 1, 32, 32, false}, 2, 400, 2.0f};
  Data x(c);
  for (size_t i = 0; i < x.qkv.size(); i++)
    if (i / static_cast<size_t>(c.channels()) > 4) x.qkv[i] = i % 3 == 0 ? 0.0f : 1e-3f * x.qkv[i];
  const std::vector<double> want = twin(c, x);
  for (const IsaEntry& isa : runnable_isas()) {
    const std::vector<float> whole = run(c, x, *isa.kernels, 1, c.rows, 0), single = run(c, x, *isa.kernels, 1, 1, 0);
    for (size_t i = 0; i < whole.size(); i++) {
      ASSERT_NEAR(whole[i], want[i], 1e-3 * (1 + std::fabs(want[i]))) << isa.name << " at " << i;
      ASSERT_EQ(whole[i], single[i]) << isa.name << " at " << i;
    }
  }
}

}  // namespace
