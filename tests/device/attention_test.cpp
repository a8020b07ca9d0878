// attention: every ISA and kind of cache against softmax in double precision, and the same bits for every way of cutting the work:
// chunks, threads, batches, append apart or inside.
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include "core/half.h"
#include "device/cpu/state_ops.h"
#include "isas.h"

namespace {

using namespace cpu;

std::vector<float> noise(int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = normal(random);
  return x;
}

struct Form { int n_kv, heads, dk, dv, length, window; bool causal; CacheType type; };

// What the cache gives back for a row.
std::vector<float> stored(const float* x, int n, CacheType type) {
  std::vector<float> y(x, x + n);
  float peak = 0;
  for (float v : y) peak = std::max(peak, std::fabs(v));
  for (float& v : y) {
    if (type == CacheType::half) v = f16_to_float(float_to_f16(v));
    if (type == CacheType::int8) v = std::nearbyint(v * (127 / peak)) * (peak / 127);
  }
  return y;
}

// Two sequences of the same rows, the second one shorter, in one device state.
class Rig {
 public:
  Rig(const Form& s, const Kernels& kernels, int threads) : s_(s), kernels_(kernels), team_(threads, false), step_(threads), scratch_(static_cast<size_t>(threads)) {
    StateSpec spec;
    spec.kind = StateSpec::Kind::paged_kv;
    spec.n_kv_heads = s.n_kv, spec.key_dim = s.dk, spec.value_dim = s.dv;
    constexpr int kPage = 16;
    const int n = (s.length + kPage - 1) / kPage;
    EXPECT_TRUE(state_.allocate({&spec, 1}, {2 * n, kPage, 0}, s.type));
    for (auto& x : scratch_) x.assign(static_cast<size_t>(state_scratch_floats({&spec, 1})), std::nanf(""));  // nothing may be read before it is written
    for (int i = 0; i < 2 * n; i++) pages_.push_back((i * 7 + 3) % (2 * n));
    if (2 * n % 7 == 0) std::iota(pages_.begin(), pages_.end(), 0);
    second_ = n;
  }
  // Rows [past, past + rows) of sequence 0 and, of the second, those below its length; results of sequence 0.
  void run(std::span<const float> q, std::span<const float> k, std::span<const float> v, int past, int rows, bool fused, std::span<float> out, int second_length = 0) {
    const int others = std::clamp(second_length - past, 0, rows), all = rows + others;
    const auto gather = [&](std::span<const float> x, int width) {
      std::vector<float> y(x.begin() + int64_t{past} * width, x.begin() + int64_t{past + rows} * width);
      y.insert(y.end(), x.begin() + int64_t{past} * width, x.begin() + int64_t{past + others} * width);
      return y;
    };
    std::vector<float> qs = gather(q, s_.n_kv * s_.heads * s_.dk), ks = gather(k, s_.n_kv * s_.dk), vs = gather(v, s_.n_kv * s_.dv);
    const int width = s_.n_kv * s_.heads * s_.dv;
    std::vector<float> y(static_cast<size_t>(all * width), std::nanf(""));
    const SequenceRows rows_of[] = {{0, rows, past, pages_.data(), 0}, {rows, others, past, pages_.data() + second_, 0}};
    const std::vector<TokenId> ids(static_cast<size_t>(all));
    const Batch batch{ids, {}, std::span(rows_of, others > 0 ? 2 : 1), {}};
    const Tensor tq{qs.data(), {all, s_.n_kv * s_.heads, s_.dk}}, tk{ks.data(), {all, s_.n_kv, s_.dk}}, tv{vs.data(), {all, s_.n_kv, s_.dv}};
    const AttentionOptions options{0.25f, s_.window, s_.causal};
    step_.reset();
    if (fused) {
      record_append_attention(step_, state_, {0}, tk, tv, tq, batch, options, y.data());
    } else {
      record_append(step_, state_, {0}, tk, tv, batch);
      record_attention(step_, state_, {0}, tq, batch, options, y.data());
    }
    step_.replay(team_, kernels_, scratch_);
    std::copy_n(y.begin(), rows * width, out.begin() + int64_t{past} * width);
    EXPECT_TRUE(std::equal(y.begin(), y.begin() + others * width, y.begin() + rows * width) || !s_.causal) << "second sequence";
  }

 private:
  Form s_;
  const Kernels& kernels_;
  State state_;
  Team team_;
  Step step_;
  std::vector<std::vector<float>> scratch_;
  std::vector<int32_t> pages_;
  int second_ = 0;
};

TEST(Attention, EqualsSoftmaxInDoubleHoweverItIsCut) {
  const Form shapes[] = {
      {2, 8, 64, 64, 1100, 0, true, CacheType::half}, {1, 3, 80, 48, 700, 0, true, CacheType::f32},     {2, 2, 32, 32, 600, 70, true, CacheType::half},
      {1, 8, 256, 256, 514, 0, true, CacheType::int8}, {1, 5, 20, 17, 530, 0, true, CacheType::half},    {1, 1, 96, 80, 140, 0, false, CacheType::f32},
      {1, 40, 16, 16, 90, 0, true, CacheType::int8},   {1, 2, 17, 33, 1030, 600, true, CacheType::int8}, {2, 1, 128, 128, 3, 0, true, CacheType::half}};
  for (const Form& s : shapes) {
    const int width = s.n_kv * s.heads * s.dv;
    const std::vector<float> q = noise(int64_t{s.length} * s.n_kv * s.heads * s.dk, 1), k = noise(int64_t{s.length} * s.n_kv * s.dk, 2), v = noise(int64_t{s.length} * s.n_kv * s.dv, 3);
    std::vector<float> keys, values;
    for (int64_t r = 0; r < int64_t{s.length} * s.n_kv; r++) {
      const auto one = stored(&k[static_cast<size_t>(r * s.dk)], s.dk, s.type), two = stored(&v[static_cast<size_t>(r * s.dv)], s.dv, s.type);
      keys.insert(keys.end(), one.begin(), one.end()), values.insert(values.end(), two.begin(), two.end());
    }
    for (const IsaEntry& isa : runnable_isas()) {
      std::vector<float> whole(static_cast<size_t>(s.length * width));
      Rig(s, *isa.kernels, 1).run(q, k, v, 0, s.length, false, whole);
      for (const int row : {0, 1, 62, 63, 64, 65, 127, 510, 511, 512, 513, 1023, 1024, s.length - 1}) {
        if (row >= s.length) continue;
        const int to = s.causal ? row + 1 : s.length, from = s.window > 0 ? std::max(0, row + 1 - s.window) : 0;
        for (int h = 0; h < s.n_kv * s.heads; h++) {
          std::vector<double> weights, want(static_cast<size_t>(s.dv));
          double total = 0;
          for (int i = from; i < to; i++) {
            double dot = 0;
            for (int d = 0; d < s.dk; d++)
              dot += double{q[static_cast<size_t>((row * s.n_kv * s.heads + h) * s.dk + d)]} * keys[static_cast<size_t>((i * s.n_kv + h / s.heads) * s.dk + d)];
            weights.push_back(std::exp(dot * 0.25));
            total += weights.back();
          }
          for (int i = from; i < to; i++)
            for (int d = 0; d < s.dv; d++)
              want[static_cast<size_t>(d)] += weights[static_cast<size_t>(i - from)] / total * values[static_cast<size_t>((i * s.n_kv + h / s.heads) * s.dv + d)];
          for (int d = 0; d < s.dv; d++)
            ASSERT_NEAR(whole[static_cast<size_t>(row * width + h * s.dv + d)], want[static_cast<size_t>(d)], 5e-5) << isa.name << " dk " << s.dk << " row " << row << " head " << h;
        }
      }
      if (!s.causal) continue;
      struct Cut { int chunk, threads; bool fused; int second; };
      for (const Cut& cut : {Cut{1, 1, true, 0}, {1, 3, true, s.length / 2}, {4, 2, true, 77}, {7, 2, false, 0}, {64, 2, true, 100}, {513, 3, true, s.length}}) {
        Rig rig(s, *isa.kernels, cut.threads);
        std::vector<float> cut_out(whole.size());
        for (int row = 0; row < s.length; row += cut.chunk) rig.run(q, k, v, row, std::min(cut.chunk, s.length - row), cut.fused, cut_out, cut.second);
        for (size_t i = 0; i < whole.size(); i++)
          ASSERT_EQ(whole[i], cut_out[i]) << isa.name << " dk " << s.dk << " chunks of " << cut.chunk << " row " << i / static_cast<size_t>(width);
      }
    }
  }
}

}  // namespace
