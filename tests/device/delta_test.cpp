// delta: the gated delta rule with its convolution, norm and gate on every ISA against a twin in double precision, and the same bits for every
// way of cutting the work: chunks (few rows are one operation, many are three), threads, batches.
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include "device/cpu/state_ops.h"
#include "isas.h"

namespace {

using namespace cpu;

std::vector<float> noise(int64_t n, unsigned seed, float mean = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean, 1);
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = normal(random);
  return x;
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

constexpr float kEps = 1e-6f;

struct Case {
  DeltaDims d;
  int kernel, rows;
  float decay;  // size of neg_exp_a
  int64_t keys() const { return int64_t{d.n_key_heads} * d.key_dim; }
  int64_t values() const { return int64_t{d.n_value_heads} * d.value_dim; }
  int64_t channels() const { return 2 * keys() + values(); }
};

struct Data {
  std::vector<float> qkv, z, a, b, taps, neg_exp_a, dt_bias, gain;
  explicit Data(const Case& c)
      : qkv(noise(c.rows * c.channels(), 1)), z(noise(c.rows * c.values(), 2)), a(noise(int64_t{c.rows} * c.d.n_value_heads, 3)), b(noise(int64_t{c.rows} * c.d.n_value_heads, 4)),
        taps(noise(c.kernel * c.channels(), 5)), neg_exp_a(noise(c.d.n_value_heads, 6)), dt_bias(noise(c.d.n_value_heads, 7)), gain(noise(c.d.value_dim, 8, 1)) {
    for (float& x : neg_exp_a) x = -c.decay * std::exp(x);
  }
};

std::vector<double> twin(const Case& c, const Data& x) {
  const DeltaDims& d = c.d;
  const int64_t width = c.channels();
  std::vector<double> state(static_cast<size_t>(c.values() * d.key_dim)), out(static_cast<size_t>(c.rows * c.values())), y(static_cast<size_t>(width));
  for (int t = 0; t < c.rows; t++) {
    for (int64_t i = 0; i < width; i++) {
      double sum = 0;
      for (int j = 0; j < c.kernel; j++)
        if (const int from = t - c.kernel + 1 + j; from >= 0) sum += double{x.taps[static_cast<size_t>(j * width + i)]} * x.qkv[static_cast<size_t>(from * width + i)];
      y[static_cast<size_t>(i)] = sum * sigmoid(sum);
    }
    for (int h = 0; h < d.n_value_heads; h++) {
      const int key_head = d.tiled ? h % d.n_key_heads : h / (d.n_value_heads / d.n_key_heads);
      const double *q = &y[static_cast<size_t>(key_head * d.key_dim)], *k = q + c.keys(), *v = &y[static_cast<size_t>(2 * c.keys() + h * d.value_dim)];
      double nq = 0, nk = 0, square = 0;
      for (int i = 0; i < d.key_dim; i++) nq += q[i] * q[i], nk += k[i] * k[i];
      nq = 1 / std::sqrt(nq + 1e-6) / std::sqrt(d.key_dim), nk = 1 / std::sqrt(nk + 1e-6);
      const auto at = static_cast<size_t>(t * d.n_value_heads + h);
      const double decay = std::exp(x.neg_exp_a[static_cast<size_t>(h)] * std::log1p(std::exp(double{x.a[at]} + x.dt_bias[static_cast<size_t>(h)]))), beta = sigmoid(x.b[at]);
      double* const o = &out[at * static_cast<size_t>(d.value_dim)];
      for (int j = 0; j < d.value_dim; j++) {
        double* const s = &state[static_cast<size_t>((h * d.value_dim + j) * d.key_dim)];
        double m = 0;
        for (int i = 0; i < d.key_dim; i++) m += (s[i] *= decay) * k[i] * nk;
        for (int i = 0; i < d.key_dim; i++) o[j] += (s[i] += k[i] * nk * (v[j] - m) * beta) * q[i] * nq;
        square += o[j] * o[j];
      }
      for (int j = 0; j < d.value_dim; j++) {
        const double z = x.z[at * static_cast<size_t>(d.value_dim) + static_cast<size_t>(j)];
        o[j] *= x.gain[static_cast<size_t>(j)] / std::sqrt(square / d.value_dim + kEps) * z * sigmoid(z);
      }
    }
  }
  return out;
}

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
