// delta: prompts in chunks, decoding behind them and several sequences in a step, against the recurrence in double, token by token.
#include <algorithm>
#include <gtest/gtest.h>
#include "cuda/bounds.h"
#include "cuda/gpu.h"
#include "cuda/twins.h"
#include "device/delta_twin.h"

namespace {

using delta_twin::Case;
using delta_twin::Data;

constexpr float kEps = delta_twin::kEps;

Data data_of(const Case& c, unsigned seed = 0) {
  Data x(c, seed);
  for (std::vector<float>* input : {&x.qkv, &x.z, &x.a, &x.b})
    for (float& v : *input) v = storable(v);
  return x;
}

struct Weights {
  std::unique_ptr<Weight> taps, neg_exp_a, dt_bias, gain;
  Weights(Gpu& gpu, const Data& x) : taps(gpu.vector(x.taps)), neg_exp_a(gpu.vector(x.neg_exp_a)), dt_bias(gpu.vector(x.dt_bias)), gain(gpu.vector(x.gain)) {}
  DeltaWeights all() const { return {taps.get(), neg_exp_a.get(), dt_bias.get(), gain.get(), kEps}; }
};

class Rig {
 public:
  Rig(Gpu& gpu, const Case& c, std::vector<const Data*> sequences) : gpu_(gpu), c_(c), sequences_(std::move(sequences)), weights_(gpu, *sequences_[0]) {
    StateSpec spec;
    spec.kind = StateSpec::Kind::recurrent;
    spec.conv_channels = static_cast<int32_t>(c.channels()), spec.conv_kernel = c.kernel;
    spec.n_heads = c.d.n_value_heads, spec.head_key_dim = c.d.key_dim, spec.head_value_dim = c.d.value_dim;
    gpu.allocate_state({&spec, 1}, {0, 32, static_cast<int32_t>(sequences_.size())});
    out.assign(sequences_.size(), std::vector<float>(static_cast<size_t>(c.rows * c.values()), std::nanf("")));
  }
  void feed(std::span<const Step::Part> parts) {
    const Step step(parts);
    std::vector<float> qkv, z, a, b;
    for (const Step::Part& p : parts) {
      const Data& x = *sequences_[static_cast<size_t>(p.sequence)];
      const auto add = [&](std::vector<float>& to, const std::vector<float>& from, int64_t width) { to.insert(to.end(), from.begin() + p.past * width, from.begin() + (p.past + p.rows) * width); };
      add(qkv, x.qkv, c_.channels()), add(z, x.z, c_.values()), add(a, x.a, c_.d.n_value_heads), add(b, x.b, c_.d.n_value_heads);
    }
    const int64_t n = step.rows();
    Tensor y;
    gpu_.run([&](Encoder& e) {
      y = e.gated_delta(gpu_.input(e, qkv, {n, c_.channels()}), gpu_.input(e, z, {n, c_.values()}), gpu_.input(e, a, {n, c_.d.n_value_heads}), gpu_.input(e, b, {n, c_.d.n_value_heads}), weights_.all(), c_.d, {0}, step.batch());
    });
    const std::vector<float> all = gpu_.read(y);
    int64_t row = 0;
    for (const Step::Part& p : parts) {
      std::copy_n(all.begin() + row * c_.values(), p.rows * c_.values(), out[static_cast<size_t>(p.sequence)].begin() + p.past * c_.values());
      row += p.rows;
    }
  }
  std::vector<std::vector<float>> out;

 private:
  Gpu& gpu_;
  Case c_;
  std::vector<const Data*> sequences_;
  Weights weights_;
};

std::string describe(const Case& c, const char* test, Precision p) {
  return std::string(test) + " " + word(p) + ": heads " + std::to_string(c.d.n_key_heads) + ", " + std::to_string(c.d.n_value_heads) + " dims " + std::to_string(c.d.key_dim) + ", " + std::to_string(c.d.value_dim) + (c.d.tiled ? ", tiled" : "") + ", decay " + std::to_string(c.decay);
}

const Case kCases[] = {{{16, 32, 128, 128, false}, 4, 600, 0.05f}, {{2, 4, 128, 128, true}, 4, 1200, 0.002f}, {{2, 6, 32, 48, true}, 4, 300, 1.0f}, {{3, 3, 17, 20, false}, 2, 150, 6.0f}, {{1, 2, 64, 33, true}, 3, 260, 0.3f}, {{4, 4, 128, 128, false}, 4, 300, 40.0f}};

TEST(GatedDelta, OfAPromptInChunksAndWhatFollowsEqualsDouble) {
  for (const Case& c : kCases) {
    const Data x = data_of(c);
    const std::vector<double> want = delta_twin::twin(c, x, in_parallel);
    for (const Precision precision : kPrecisions) {
      for (const std::vector<int>& chunks : {std::vector{c.rows}, {1}, {c.rows - 20, 1}, {64, 1, 2}, {97, 33, 1}, {65, 63}}) {
        if (chunks[0] == 1 && c.rows > 300) continue;
        Rig rig(Gpu::of(precision), c, {&x});
        size_t next = 0;
        for (int past = 0; past < c.rows; next = chunks.size() == 2 && chunks[1] == 1 ? 1 : (next + 1) % chunks.size()) {  // a prompt and then single tokens, or pieces in turn
          const int rows = std::min(chunks[next], c.rows - past);
          const Step::Part part[] = {{rows, past, 0}};
          rig.feed(part);
          past += rows;
        }
        expect_close(rig.out[0], want, c.values(), bounds(precision).chain, describe(c, "delta", precision) + ", chunks from " + std::to_string(chunks[0]));
      }
    }
  }
}

TEST(GatedDelta, OfSeveralSequencesInAStep) {
  for (Case c : {kCases[0], kCases[2]}) {
    c.rows = 200;
    const Data a = data_of(c), b = data_of(c, 100), d = data_of(c, 200);
    for (const Precision precision : kPrecisions) {
      Rig rig(Gpu::of(precision), c, {&a, &b, &d});
      const Step::Part prompts[] = {{130, 0, 0}, {2, 0, 1}, {64, 0, 2}}, mixed[] = {{1, 130, 0}, {100, 2, 1}, {65, 64, 2}}, decode[] = {{1, 102, 1}, {1, 131, 0}, {1, 129, 2}}, rest[] = {{68, 132, 0}, {97, 103, 1}, {70, 130, 2}};
      rig.feed(prompts), rig.feed(mixed), rig.feed(decode), rig.feed(rest);
      size_t i = 0;
      for (const Data* x : {&a, &b, &d}) {
        expect_close(rig.out[i], delta_twin::twin(c, *x, in_parallel), c.values(), bounds(precision).chain, describe(c, "delta together", precision) + ", sequence " + std::to_string(i));
        i++;
      }
    }
  }
}

// Decoding alone and among others, and a chunk alone and beside another sequence: the same bits.
TEST(GatedDelta, ARowsBitsDoNotDependOnItsStep) {
  Case c = kCases[0];
  c.rows = 80;
  std::vector<Data> data;
  std::vector<const Data*> all;
  for (unsigned i = 0; i < 32; i++) data.push_back(data_of(c, 100 * i));
  for (const Data& x : data) all.push_back(&x);
  for (const Precision precision : kPrecisions) {
    Rig together(Gpu::of(precision), c, all);
    std::vector<Step::Part> prompts, last;
    for (int32_t i = 0; i < 32; i++) prompts.push_back({70 + i % 9, 0, i}), last.push_back({1, 70 + i % 9, i});
    together.feed(prompts), together.feed(last);
    for (const int32_t i : {0, 7, 31}) {
      Rig alone(Gpu::of(precision), c, all);
      alone.feed(std::span(prompts).subspan(static_cast<size_t>(i), 1)), alone.feed(std::span(last).subspan(static_cast<size_t>(i), 1));
      const auto n = static_cast<size_t>((71 + i % 9) * c.values());
      expect_same_bits(std::span(alone.out[static_cast<size_t>(i)]).first(n), std::span(together.out[static_cast<size_t>(i)]).first(n), describe(c, "alone", precision) + ", sequence " + std::to_string(i));
    }
  }
}

}  // namespace
