// lower: which kernels a layer becomes, seen without a GPU: words go in, the names of launches come out.
#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>
#include "device/cuda/attention.h"
#include "device/cuda/encoder.h"
#include "device/cuda/repack.h"

namespace cuda {
namespace {

constexpr int kHidden = 2048, kHeads = 16, kKvHeads = 2, kHeadDim = 256, kExperts = 256, kTopK = 8, kWidth = 512;

// A model's weights without numbers, and an encoder that only counts.
class Layers {
 public:
  explicit Layers(cpu::PackScales scales = cpu::PackScales::f16, int64_t few_rows = kFewRows) : scales_(scales), limits_{false, 132, 90, 232448, few_rows}, encoder_(state_, tables_, limits_, true) {
    StateSpec delta, attention;
    delta.kind = StateSpec::Kind::recurrent, delta.conv_channels = 8192, delta.conv_kernel = 4, delta.n_heads = 32, delta.head_key_dim = delta.head_value_dim = 128;
    attention.kind = StateSpec::Kind::paged_kv, attention.n_kv_heads = kKvHeads, attention.key_dim = attention.value_dim = kHeadDim;
    const StateSpec specs[] = {delta, attention};
    state_.describe(specs, {8, 32, 8}, CacheKind::half);
    rope_.inverse_frequencies.assign(32, 0.5f);
  }
  const Weight& matrix(int rows, int cols, int n_experts = 1, bool sensitive = false) {
    auto m = std::make_unique<DeviceMatrix>();
    cpu::PackLayout packed;
    packed.codes = cpu::PackCodes::u4, packed.scales = scales_, packed.group = packed.scale_group = scales_ == cpu::PackScales::f16 ? 32 : 64, packed.block = 64, packed.offset = 8;
    m->form = sensitive ? DeviceMatrix::Form::floats : DeviceMatrix::Form::strips;
    m->rows = rows, m->cols = cols, m->n_experts = n_experts, m->strips = plan_strips(packed, rows, cols, 1);
    weights_.push_back(std::move(m));
    return *weights_.back();
  }
  const Weight& vector(int n) {
    auto v = std::make_unique<DeviceVector>();
    v->size = n;
    weights_.push_back(std::move(v));
    return *weights_.back();
  }
  // The launches of one layer of `rows` rows, of one sequence each or all of one; the embedding before it is left out.
  std::vector<std::string> layer(bool linear, int rows, bool one_sequence) {
    std::vector<TokenId> ids(static_cast<size_t>(rows));
    std::vector<int32_t> positions(static_cast<size_t>(rows));
    const std::vector<int32_t> pages(64);
    std::vector<SequenceRows> sequences;
    for (int i = 0; i < (one_sequence ? 1 : rows); i++) sequences.push_back({i, one_sequence ? rows : 1, 100, pages.data(), i});
    const Batch batch{ids, positions, sequences, {}};
    encoder_.reset();
    Tensor x = encoder_.carry(encoder_.embed(matrix(1000, kHidden), ids, 1));
    const size_t before = encoder_.recording.launches.size();
    const Tensor h = encoder_.rms_norm(x, &vector(kHidden), 1e-6f);
    x = encoder_.add(x, linear ? delta(h, batch) : attention(h, batch));
    encoder_.carry(encoder_.add(x, mixture(encoder_.rms_norm(x, &vector(kHidden), 1e-6f))));
    encoder_.end();
    EXPECT_EQ(encoder_.refusal(), nullptr) << encoder_.refusal();
    std::vector<std::string> names;
    for (size_t i = before; i < encoder_.recording.launches.size(); i++) names.emplace_back(encoder_.recording.launches[i].name);
    return names;
  }

 private:
  Tensor delta(const Tensor& h, const Batch& batch) {
    const Weight* const w[] = {&matrix(8192, kHidden), &matrix(4096, kHidden), &matrix(32, kHidden, 1, true), &matrix(32, kHidden, 1, true)};
    Tensor in[4];
    words_.linears(h, w, in);
    const DeltaWeights weights{&vector(4 * 8192), &vector(32), &vector(32), &vector(128), 1e-6f};
    return words_.linear(words_.gated_delta(in[0], in[1], in[3], in[2], weights, {16, 32, 128, 128, false}, {0}, batch), matrix(kHidden, 4096));
  }
  Tensor attention(const Tensor& h, const Batch& batch) {
    const Weight* const w[] = {&matrix(kHeads * kHeadDim, kHidden), &matrix(kKvHeads * kHeadDim, kHidden), &matrix(kKvHeads * kHeadDim, kHidden), &matrix(kHeads * kHeadDim, kHidden)};
    Tensor in[4];
    words_.linears(h, w, in);
    const int64_t rows = h.shape[0];
    Tensor q = words_.rms_norm(words_.reshape(in[0], {rows, kHeads, kHeadDim}), &vector(kHeadDim), 1e-6f), k = words_.rms_norm(words_.reshape(in[1], {rows, kKvHeads, kHeadDim}), &vector(kHeadDim), 1e-6f);
    words_.rope(q, batch, rope_);
    words_.rope(k, batch, rope_);
    const Tensor y = words_.append_attention(k, words_.reshape(in[2], {rows, kKvHeads, kHeadDim}), q, {1}, batch, {});
    return words_.linear(words_.sigmoid_gate(words_.reshape(y, {rows, kHeads * kHeadDim}), in[3]), matrix(kHidden, kHeads * kHeadDim));
  }
  Tensor mixture(const Tensor& x) {
    const Tensor scores = words_.linear(x, matrix(kExperts, kHidden, 1, true)), share = words_.linear(x, matrix(1, kHidden, 1, true));
    const Weight* const w[] = {&matrix(kWidth, kHidden), &matrix(kWidth, kHidden)};
    Tensor both[2];
    words_.linears(x, w, both);
    const Tensor shared = words_.linear(words_.gate(both[0], both[1], Activation::silu), matrix(kHidden, kWidth));
    const Tensor routed = words_.experts(x, words_.route(scores, kTopK, true), matrix(kWidth, kHidden, kExperts), matrix(kWidth, kHidden, kExperts), matrix(kHidden, kWidth, kExperts), Activation::silu);
    return words_.add_gated(routed, shared, share);
  }
  cpu::PackScales scales_;
  Limits limits_;
  DeviceState state_;
  Tables tables_;
  CudaEncoder encoder_;
  Encoder& words_ = encoder_;
  Rope rope_;
  std::vector<std::unique_ptr<Weight>> weights_;
};

using Names = std::vector<std::string>;

TEST(Lower, ADecodedRowTakesSixStagesALayer) {
  for (const auto scales : {cpu::PackScales::f16, cpu::PackScales::bf16_min}) {
    Layers layers(scales);
    EXPECT_EQ(layers.layer(true, 1, false), (Names{"linear and floats", "delta rule", "linear", "floats", "experts up", "experts down"}));
    EXPECT_EQ(layers.layer(false, 1, false), (Names{"linear", "attention", "linear", "floats", "experts up", "experts down"}));
  }
}

TEST(Lower, SixtyFourStreamsTakeTheSameStagesWhereTheirBitsMustNotDependOnOneAnother) {
  Layers layers(cpu::PackScales::f16, kMostFewRows);
  EXPECT_EQ(layers.layer(true, 64, false), layers.layer(true, 1, false));
  EXPECT_EQ(layers.layer(false, 64, false), layers.layer(false, 1, false));
  EXPECT_NE(layers.layer(true, 65, false), layers.layer(true, 1, false));
}

TEST(Lower, ManyStreamsGoThroughProductsOfManyRows) {
  Layers layers;
  EXPECT_EQ(layers.layer(true, 16, false), layers.layer(true, 1, false));
  const Names many = layers.layer(true, 17, false);
  EXPECT_EQ(many, layers.layer(true, 64, false));
  EXPECT_EQ(std::ranges::count(many, "sort"), 2);
}

// A step that is repeated was recorded for other contexts of the same greatest length.
TEST(Lower, AttentionHasBlocksForEveryContextUpToTheLongest) {
  for (const int32_t window : {0, 100, 512, 1000, 4096})
    for (const auto& [min_tiles, max_splits] : {std::pair{2, 120}, {1, kMaxSplits}, {2, 8}, {2, 128}}) {
      int32_t most = 0;
      for (int32_t past = 0; past < 20000; past++) {
        most = std::max(most, splits_of(past, window, min_tiles, max_splits).count);
        const int32_t said = most_splits(past, window, min_tiles, max_splits);
        ASSERT_GE(std::max(said, kCluster), most) << past << " window " << window << " of " << max_splits;
        ASSERT_LE(said, std::max(max_splits, kCluster));
        ASSERT_EQ(std::max(said, kCluster), std::max(most_splits(past / 16 * 16, window, min_tiles, max_splits), kCluster)) << past;
      }
    }
}

TEST(Lower, PromptsGoThroughProductsOfManyRows) {
  Layers layers;
  EXPECT_EQ(layers.layer(true, 3000, true), (Names{"norm", "floats", "linear", "delta prepare", "delta scan", "delta finish", "linear", "norm", "floats", "linear", "linear", "route", "sort", "sort", "gather", "experts up", "experts down",
                                                   "experts sum"}));
  EXPECT_EQ(layers.layer(false, 3000, true), (Names{"norm", "linear", "attention prepare", "attention", "linear", "norm", "floats", "linear", "linear", "route", "sort", "sort", "gather", "experts up", "experts down", "experts sum"}));
}

}  // namespace
}  // namespace cuda
