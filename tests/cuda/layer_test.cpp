// layer: whole layers of real width, as models record them between two calls of carry(), where neighbours become one kernel: fast against exact
// precision, whose words are held against double one by one.
#include <algorithm>
#include <gtest/gtest.h>
#include "cuda/bounds.h"
#include "cuda/gpu.h"
#include "cuda/twins.h"
#include "device/matrices.h"

namespace {

constexpr int64_t kHidden = 2048, kFfn = 512, kExperts = 64;
constexpr int kTopK = 8, kHeads = 16, kKvHeads = 2, kHeadDim = 256, kPage = 32, kPagesEach = 12, kSequences = 64;
constexpr DeltaDims kDelta{16, 32, 128, 128, true};
constexpr float kEps = 1e-6f, kBetweenLayers = 5e-3f, kInput = 300;  // large beside what a layer adds, so that errors of one hardly change the routes of the next
constexpr int64_t kChannels = 2 * 16 * 128 + 32 * 128, kValues = 32 * 128;

TestMatrix floats(int64_t rows, int64_t cols, unsigned seed, float size) {  // small and sensitive ones
  TestMatrix m;
  const std::vector<float> values = noise(rows * cols, seed, size);
  const auto bytes = std::as_bytes(std::span(values));
  m.codes.assign(bytes.begin(), bytes.end());
  m.stored.format = find_format("F32");
  m.stored.shape = {rows, cols};
  m.stored.codes = m.codes;
  return m;
}

// Around zero, as real weights are: otherwise every output is the same large sum. Of formats with a bias of each group.
TestMatrix centred(TestMatrix m) {
  const int bits = 8 * m.stored.format->block_bytes / m.stored.format->block_weights;
  for (size_t i = 0; i < m.bias.size() / 2; i++) {
    uint16_t scale = 0;
    std::memcpy(&scale, &m.scale[2 * i], 2);
    const uint16_t bias = float_to_bf16(-0.5f * static_cast<float>((1 << bits) - 1) * bf16_to_float(scale));
    std::memcpy(&m.bias[2 * i], &bias, 2);
  }
  m.stored.bias = m.bias, m.stored.scale = m.scale, m.stored.codes = m.codes;
  return m;
}

// Everything that a delta-rule layer and an attention layer with a mixture of experts behind each need, in one format.
struct Stored {
  TestMatrix qkv, z, delta_out, a, b, q, gate, k, v, out, router, share, shared_gate, shared_up, shared_down, expert_gate, expert_up, expert_down;
  explicit Stored(const std::string& format) {
    unsigned seed = 1;
    const auto matrix = [&](int64_t rows, int64_t cols) { return centred(random_matrix(format, rows, cols, seed++)); };
    qkv = matrix(kChannels, kHidden), z = matrix(kValues, kHidden), delta_out = matrix(kHidden, kValues);
    a = floats(32, kHidden, 50, 1), b = floats(32, kHidden, 51, 1);
    q = matrix(kHeads * kHeadDim, kHidden), gate = matrix(kHeads * kHeadDim, kHidden), k = matrix(kKvHeads * kHeadDim, kHidden), v = matrix(kKvHeads * kHeadDim, kHidden), out = matrix(kHidden, kHeads * kHeadDim);
    router = floats(kExperts, kHidden, 52, 2), share = floats(1, kHidden, 53, 1);
    shared_gate = matrix(kFfn, kHidden), shared_up = matrix(kFfn, kHidden), shared_down = matrix(kHidden, kFfn);
    expert_gate = matrix(kExperts * kFfn, kHidden), expert_up = matrix(kExperts * kFfn, kHidden), expert_down = matrix(kExperts * kHidden, kFfn);
  }
};

// The same on a device, and how models record it.
class Layers {
 public:
  Layers(Gpu& gpu, const Stored& s) : gpu_(gpu) {
    const auto up = [&](const TestMatrix& m) { return gpu.upload(m.stored); };
    const auto precise = [&](const TestMatrix& m) { return gpu.upload(m.stored, true); };
    const auto stack = [&](const TestMatrix& m) { return gpu.upload(m.stored, false, kExperts); };
    qkv_ = up(s.qkv), z_ = up(s.z), delta_out_ = up(s.delta_out), a_ = precise(s.a), b_ = precise(s.b);
    q_ = up(s.q), gate_ = up(s.gate), k_ = up(s.k), v_ = up(s.v), out_ = up(s.out), router_ = precise(s.router), share_ = precise(s.share);
    shared_gate_ = up(s.shared_gate), shared_up_ = up(s.shared_up), shared_down_ = up(s.shared_down);
    expert_gate_ = stack(s.expert_gate), expert_up_ = stack(s.expert_up), expert_down_ = stack(s.expert_down);
    norm_ = gpu.vector(noise(kHidden, 60, 0.005f, 1 / 45.0f)), head_norm_ = gpu.vector(noise(kHeadDim, 61, 0.1f, 1));  // matrices have values of order one: their inputs are small
    taps_ = gpu.vector(noise(4 * kChannels, 62)), dt_bias_ = gpu.vector(noise(32, 63)), delta_norm_ = gpu.vector(noise(128, 64, 0.1f, 1));
    std::vector<float> decay = noise(32, 65);
    for (float& x : decay) x = -0.1f * std::exp(x);
    neg_exp_a_ = gpu.vector(decay);
    for (int i = 0; i < 32; i++) rope_.inverse_frequencies.push_back(std::pow(1e6f, -static_cast<float>(i) / 32));
    StateSpec recurrent, paged;
    recurrent.kind = StateSpec::Kind::recurrent;
    recurrent.conv_channels = kChannels, recurrent.conv_kernel = 4, recurrent.n_heads = 32, recurrent.head_key_dim = recurrent.head_value_dim = 128;
    paged.kind = StateSpec::Kind::paged_kv;
    paged.n_kv_heads = kKvHeads, paged.key_dim = paged.value_dim = kHeadDim;
    const StateSpec states[] = {recurrent, paged};
    pages_ = scattered_pages(kSequences * kPagesEach);
    gpu.allocate_state(states, {kSequences * kPagesEach, kPage, kSequences});
  }
  // Two layers over these rows of `x`.
  std::vector<float> step(std::span<const float> x, std::span<const Step::Part> parts) {
    const Step step(parts, pages_, kPagesEach);
    Tensor y;
    gpu_.run([&](Encoder& e) {
      y = e.carry(gpu_.input(e, x, {step.rows(), kHidden}));
      y = e.carry(e.add(y, delta(e, normed(e, y), step.batch())));
      y = e.carry(e.add(y, mixture(e, normed(e, y))));
      y = e.carry(e.add(y, attention(e, normed(e, y), step.batch())));
      y = e.carry(e.add(y, mixture(e, normed(e, y))));
    });
    return gpu_.read(y);
  }

 private:
  Tensor normed(Encoder& e, const Tensor& x) { return e.rms_norm(x, norm_.get(), kEps); }
  Tensor delta(Encoder& e, const Tensor& x, const Batch& batch) {
    const Weight* const w[] = {qkv_.get(), z_.get(), b_.get(), a_.get()};
    Tensor in[4];
    e.linears(x, w, in);
    return e.linear(e.gated_delta(in[0], in[1], in[3], in[2], {taps_.get(), neg_exp_a_.get(), dt_bias_.get(), delta_norm_.get(), kEps}, kDelta, {0}, batch), *delta_out_);
  }
  Tensor attention(Encoder& e, const Tensor& x, const Batch& b) {
    const int64_t rows = x.shape[0];
    const Weight* const w[] = {q_.get(), k_.get(), v_.get(), gate_.get()};
    Tensor in[4];
    e.linears(x, w, in);
    Tensor q = e.rms_norm(e.reshape(in[0], {rows, kHeads, kHeadDim}), head_norm_.get(), kEps), k = e.rms_norm(e.reshape(in[1], {rows, kKvHeads, kHeadDim}), head_norm_.get(), kEps);
    e.rope(q, b, rope_), e.rope(k, b, rope_);
    const Tensor y = e.append_attention(k, e.reshape(in[2], {rows, kKvHeads, kHeadDim}), q, {1}, b, {1 / 16.0f, 0, true});
    return e.linear(e.sigmoid_gate(e.reshape(y, {rows, kHeads * kHeadDim}), in[3]), *out_);
  }
  Tensor mixture(Encoder& e, const Tensor& x) {
    const Tensor scores = e.linear(x, *router_), share = e.linear(x, *share_);
    const Weight* const w[] = {shared_gate_.get(), shared_up_.get()};
    Tensor in[2];
    e.linears(x, w, in);
    const Tensor shared = e.linear(e.gate(in[0], in[1], Activation::silu), *shared_down_);
    return e.add_gated(e.experts(x, e.route(scores, kTopK, true), *expert_gate_, *expert_up_, *expert_down_, Activation::silu), shared, share);
  }

  Gpu& gpu_;
  std::unique_ptr<Weight> qkv_, z_, delta_out_, a_, b_, q_, gate_, k_, v_, out_, router_, share_, shared_gate_, shared_up_, shared_down_, expert_gate_, expert_up_, expert_down_;
  std::unique_ptr<Weight> norm_, head_norm_, taps_, dt_bias_, delta_norm_, neg_exp_a_;
  Rope rope_;
  std::vector<int32_t> pages_;
};

// A row whose eighth and ninth expert are all but equal may take the other one: such rows are few, and far off.
// Held against each other is what the layers add to `x`.
void expect_close_rows(std::span<const float> got, std::span<const float> want, std::span<const float> x, const std::string& what) {
  ASSERT_TRUE(std::ranges::all_of(got, [](float v) { return std::isfinite(v); })) << what << ": not every element is a number";
  const int64_t rows = std::ssize(want) / kHidden;
  std::vector<float> near;
  std::vector<double> wanted;
  int64_t other_experts = 0;
  for (int64_t r = 0; r < rows; r++) {
    double off = 0, size = 0;
    for (int64_t i = r * kHidden; i < (r + 1) * kHidden; i++) {
      const double a = got[static_cast<size_t>(i)], b = want[static_cast<size_t>(i)], added = b - x[static_cast<size_t>(i)];
      off += (a - b) * (a - b), size += added * added;
    }
    if (rows >= 8 && off > size * 1e-3 && off < size) {
      other_experts++;
      continue;
    }
    for (auto i = static_cast<size_t>(r * kHidden); i < static_cast<size_t>((r + 1) * kHidden); i++) near.push_back(got[i] - x[i]), wanted.push_back(double{want[i]} - x[i]);
  }
  expect_close(near, wanted, kHidden, kBetweenLayers, what);
  EXPECT_LE(other_experts, 1 + rows / 16) << what;
}

class RealLayers : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Formats, RealLayers, testing::Values("Q4_0", "affine4g64", "Q4_K", "Q6_K", "Q8_0", "BF16"), [](const auto& info) { return info.param; });

TEST_P(RealLayers, FastEqualsExactInPromptsAndDecoding) {
  const Stored stored(GetParam());
  Layers exact(Gpu::of(Precision::exact), stored), fast(Gpu::of(Precision::fast), stored);
  std::vector<int32_t> past(kSequences);
  unsigned seed = 0;
  // Rows that each sequence gets in a step: a prompt, prompts beside a decoding sequence, decoding alone and together.
  const std::vector<std::vector<int32_t>> plans = {{300}, {1}, {1, 70, 9}, {1, 1, 1, 2}, std::vector<int32_t>(8, 1), std::vector<int32_t>(33, 1), std::vector<int32_t>(64, 1), {1}, {5}, {40, 40}};
  for (const std::vector<int32_t>& plan : plans) {
    std::vector<Step::Part> parts;
    int32_t rows = 0;
    std::string what = std::string("layers: ") + GetParam() + ", rows";
    for (int32_t s = 0; s < std::ssize(plan); s++) {
      parts.push_back({plan[static_cast<size_t>(s)], past[static_cast<size_t>(s)], s});
      past[static_cast<size_t>(s)] += plan[static_cast<size_t>(s)], rows += plan[static_cast<size_t>(s)];
      if (s < 4) what += " " + std::to_string(plan[static_cast<size_t>(s)]);
    }
    const std::vector<float> x = noise(rows * kHidden, 1000 + seed++, kInput);
    expect_close_rows(fast.step(x, parts), exact.step(x, parts), x, what + " of " + std::to_string(rows));
  }
}

// Decoding alone and among 31 others, fused as it is in a model: the same bits.
TEST_P(RealLayers, ARowsBitsDoNotDependOnItsStep) {
  const Stored stored(GetParam());
  for (const Precision precision : kPrecisions) {
    Layers together(Gpu::of(precision), stored);
    std::vector<Step::Part> parts;
    for (int32_t s = 0; s < 32; s++) parts.push_back({1, 0, s});
    const std::vector<float> x = noise(32 * kHidden, 7), all = together.step(x, parts);
    for (const int32_t s : {0, 9, 31}) {
      Layers alone(Gpu::of(precision), stored);
      const auto row = [&](std::span<const float> of) { return of.subspan(static_cast<size_t>(s * kHidden), kHidden); };
      expect_same_bits(alone.step(row(x), std::span(parts).subspan(static_cast<size_t>(s), 1)), row(all), std::string(GetParam()) + " " + word(precision) + " sequence " + std::to_string(s));
    }
  }
}

}  // namespace
