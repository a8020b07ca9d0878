// weights: repairs at load, every missing, extra and mis-shaped tensor named, NaN refused with the tensor's name.
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include "fakes.h"

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

const std::string layer0 = "model.language_model.layers.0.", layer1 = "model.language_model.layers.1.";

TEST(Weights, ListsMissingExtraAndMisshapen) {
  MemoryFile f = tiny_qwen3();
  f.remove("model.layers.0.self_attn.k_proj.weight");
  f.remove("model.norm.weight");
  f.add("model.norm.weight", {9});
  f.add("model.layers.0.banana.weight", {3});
  f.add("model.layers.7.input_layernorm.weight", {8});
  const std::string message = load_error(f);
  EXPECT_THAT(message, HasSubstr("tensor model.layers.0.self_attn.k_proj.weight: missing"));
  EXPECT_THAT(message, HasSubstr("tensor model.norm.weight: 8 expected from the configuration, 9 found"));
  EXPECT_THAT(message, HasSubstr("tensor model.layers.0.banana.weight: not part of qwen3"));
  EXPECT_THAT(message, HasSubstr("tensor model.layers.7.input_layernorm.weight: not part of qwen3"));
}

TEST(Weights, LongListsAreCut) {
  MemoryFile f = tiny_qwen3();
  for (int i = 0; i < 1050; i++) f.add("model.extra." + std::to_string(i), {1});
  EXPECT_THAT(load_error(f), HasSubstr("and 50 more"));
}

TEST(Weights, TransposedMatricesAreRefused) {
  MemoryFile f = tiny_qwen3();
  f.remove("model.layers.0.mlp.down_proj.weight");
  f.add("model.layers.0.mlp.down_proj.weight", {12, 8});
  EXPECT_THAT(load_error(f), HasSubstr("down_proj.weight: 8 x 12 expected from the configuration, 12 x 8 found"));
}

TEST(Weights, IntegersAreNoWeights) {
  MemoryFile f = tiny_qwen3();
  f.remove("model.norm.weight");
  f.add_bytes("model.norm.weight", "I32", {8}, std::vector<std::byte>(32));
  EXPECT_THAT(load_error(f), HasSubstr("model.norm.weight: weights expected, elements of kind I32 found"));
}

TEST(Weights, NanInVectorsIsRefusedByName) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    MemoryFile f = tiny_qwen3();
    f.set("model.layers.0.self_attn.q_norm.weight", 2, bad);
    EXPECT_THAT(load_error(f), HasSubstr("model.layers.0.self_attn.q_norm.weight: finite numbers expected"));
  }
}

TEST(Weights, TiedHeadIsUploadedOnce) {
  FakeDevice tied, untied;
  MemoryFile f = tiny_qwen3();
  ASSERT_TRUE(load_model(f, tied));
  EXPECT_TRUE(tied.starting_with('m', 1));
  EXPECT_EQ(tied.uploads.size(), 13u);
  f.json["tie_word_embeddings"] = false;
  EXPECT_THAT(load_error(f), HasSubstr("tensor lm_head.weight: missing"));
  f.add("lm_head.weight", {10, 8}, 50);
  ASSERT_TRUE(load_model(f, untied));
  EXPECT_TRUE(untied.starting_with('m', 50));
  EXPECT_FALSE(untied.starting_with('m', 1));
}

TEST(Weights, NormsGetOneUnlessTheConvolutionIsMlx) {
  FakeDevice raw, shifted;
  MemoryFile f = tiny_qwen35moe();
  ASSERT_TRUE(load_model(f, raw)) << load_error(f);
  for (const float norm : {3.f, 101.f, 102.f, 24.f, 25.f}) EXPECT_TRUE(raw.starting_with('v', norm + 1)) << norm;
  EXPECT_TRUE(raw.starting_with('v', 16)) << "the norm inside the delta rule is used as it is";
  EXPECT_TRUE(raw.starting_with('v', -std::exp(0.5f)));
  f.remove(layer0 + "linear_attn.conv1d.weight");
  f.add(layer0 + "linear_attn.conv1d.weight", {16, 3, 1}, 14);
  ASSERT_TRUE(load_model(f, shifted)) << load_error(f);
  for (const float norm : {3.f, 101.f, 102.f, 24.f, 25.f}) EXPECT_TRUE(shifted.starting_with('v', norm)) << norm;
}

TEST(Weights, QueryAndGateAreInterleavedPerHead) {
  FakeDevice device;
  ASSERT_TRUE(load_model(tiny_qwen35moe(), device));
  const auto row = [](float base, int r) { return base + static_cast<float>(r * 8) / 1000; };
  const auto* query = device.starting_with('m', row(20, 0));
  const auto* gate = device.starting_with('m', row(20, 8));
  ASSERT_TRUE(query && gate);
  EXPECT_EQ(query->values.size(), 16u * 8);
  EXPECT_FLOAT_EQ(query->values[8 * 8], row(20, 16));  // second head's query
  EXPECT_FLOAT_EQ(gate->values[8 * 8], row(20, 24));
}

TEST(Weights, FusedAndSplitExpertsGiveTheSame) {
  FakeDevice fused, split;
  MemoryFile f = tiny_qwen35moe();
  ASSERT_TRUE(load_model(f, fused));
  const StoredTensor gate_up = *f.find(layer0 + "mlp.experts.gate_up_proj"), down = *f.find(layer0 + "mlp.experts.down_proj");
  const auto rows = [](const StoredTensor& t, size_t first, size_t count, size_t cols) {
    std::vector<float> out(count * cols);
    std::memcpy(out.data(), t.bytes.data() + first * cols * 4, out.size() * 4);
    return out;
  };
  for (size_t e = 0; e < 3; e++) {
    const std::string name = layer0 + "mlp.experts." + std::to_string(e) + ".";
    f.add(name + "gate_proj.weight", {5, 8}, rows(gate_up, e * 10, 5, 8));
    f.add(name + "up_proj.weight", {5, 8}, rows(gate_up, e * 10 + 5, 5, 8));
    f.add(name + "down_proj.weight", {8, 5}, rows(down, e * 8, 8, 5));
  }
  f.remove(gate_up.name);
  f.remove(down.name);
  ASSERT_TRUE(load_model(f, split)) << load_error(f);
  ASSERT_EQ(fused.uploads.size(), split.uploads.size());
  for (size_t i = 0; i < fused.uploads.size(); i++) {
    EXPECT_EQ(fused.uploads[i].values, split.uploads[i].values);
    EXPECT_EQ(fused.uploads[i].n_experts, split.uploads[i].n_experts);
  }
  f.remove(layer0 + "mlp.experts.1.up_proj.weight");
  EXPECT_THAT(load_error(f), HasSubstr("mlp.experts.1.up_proj.weight: missing"));
}

TEST(Weights, TowersAreSkippedWithANote) {
  const auto report = inspect_model(tiny_qwen35moe());
  ASSERT_TRUE(report);
  EXPECT_THAT(report->notes, ElementsAre("multi-token prediction head skipped (1 tensor)", "vision tower skipped (1 tensor)"));
}

TEST(Weights, ReportsPartsAndProgress) {
  FakeDevice device;
  size_t calls = 0, last = 0, total = 0;
  const auto loaded = load_model(tiny_qwen35moe(), device, {[&](const LoadProgress& p) { calls++, last = p.done_bytes, total = p.total_bytes; }});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(calls, device.uploads.size());
  EXPECT_EQ(last, total);
  size_t experts = 0, per_token = 0;
  for (const PartBytes& part : loaded->parts)
    if (part.part == "experts") experts = part.total_bytes, per_token = part.per_token_bytes;
  EXPECT_EQ(experts, 2u * 3 * (10 * 8 + 8 * 5) * 4);
  EXPECT_NEAR(static_cast<double>(per_token), static_cast<double>(experts) * 2 / 3, 8);
  for (const PartBytes& part : loaded->parts) {
    EXPECT_TRUE(part.part != "experts" || part.macs == 2 * 2 * (10 * 8 + 8 * 5)) << part.macs;
    EXPECT_EQ(part.head, part.part == "head") << part.part;
  }
}

// MLX: 4-bit codes in groups of 32 for a 4 x 64 key projection.
MemoryFile quantised(int words, int groups, const char* kind, bool biases) {
  MemoryFile f = tiny_qwen3();
  f.remove("model.layers.0.mlp.down_proj.weight");
  f.remove("model.layers.0.mlp.gate_proj.weight");
  f.remove("model.layers.0.mlp.up_proj.weight");
  f.json["intermediate_size"] = 64;
  f.add("model.layers.0.mlp.gate_proj.weight", {64, 8});
  f.add("model.layers.0.mlp.up_proj.weight", {64, 8});
  const size_t size = std::string_view(kind) == "U8" ? 1 : std::string_view(kind) == "F32" ? 4 : 2;
  f.add_bytes("model.layers.0.mlp.down_proj.weight", "U32", {8, words}, std::vector<std::byte>(static_cast<size_t>(8 * words * 4), std::byte{0x21}));
  f.add_bytes("model.layers.0.mlp.down_proj.scales", kind, {8, groups},
              std::vector<std::byte>(static_cast<size_t>(8 * groups) * size, std::byte{0x3f}));
  if (biases)
    f.add_bytes("model.layers.0.mlp.down_proj.biases", kind, {8, groups},
                std::vector<std::byte>(static_cast<size_t>(8 * groups) * size, std::byte{0x3f}));
  return f;
}

TEST(Weights, MlxFormatsFollowFromShapes) {
  const auto formats = [](const MemoryFile& f) {
    const auto report = inspect_model(f);
    EXPECT_TRUE(report) << report.error().message;
    if (report)
      for (const PartBytes& part : report->parts)
        if (part.part == "ffn") return part.formats;
    return std::string();
  };
  EXPECT_EQ(formats(quantised(8, 2, "BF16", true)), "F32, affine4g32");
  EXPECT_EQ(formats(quantised(8, 1, "F16", true)), "F32, affine4g64");
  EXPECT_EQ(formats(quantised(16, 2, "F32", true)), "F32, affine8g32");
  EXPECT_EQ(formats(quantised(6, 1, "BF16", true)), "F32, affine3g64");
  EXPECT_EQ(formats(quantised(8, 2, "U8", false)), "F32, mlx_mxfp4");
  EXPECT_EQ(formats(quantised(16, 2, "U8", false)), "F32, mlx_mxfp8");
  EXPECT_EQ(formats(quantised(8, 4, "U8", false)), "F32, mlx_nvfp4");
}

TEST(Weights, UnreadableMlxFormatsAreNamed) {
  EXPECT_THAT(load_error(quantised(14, 2, "BF16", true)), HasSubstr("no format of 7 bits in groups of 32"));
  EXPECT_THAT(load_error(quantised(8, 3, "BF16", true)), HasSubstr("3 groups found"));
  EXPECT_THAT(load_error(quantised(8, 1, "U8", false)), HasSubstr("no format of 4 bits in groups of 64 without biases"));
  EXPECT_THAT(load_error(quantised(8, 2, "U8", true)), HasSubstr("float scales expected"));
}

TEST(Weights, NanScalesAreRefusedByName) {
  MemoryFile f = quantised(8, 2, "BF16", true);
  const StoredTensor* scales = f.find("model.layers.0.mlp.down_proj.scales");
  auto* at = const_cast<std::byte*>(scales->bytes.data());
  at[6] = std::byte{0xc0}, at[7] = std::byte{0x7f};
  EXPECT_THAT(load_error(f), HasSubstr("tensor model.layers.0.mlp.down_proj.weight: finite scales expected, NaN"));
  MemoryFile m = quantised(8, 2, "U8", false);
  const_cast<std::byte*>(m.find("model.layers.0.mlp.down_proj.scales")->bytes.data())[3] = std::byte{0xff};
  EXPECT_THAT(load_error(m), HasSubstr("finite scales expected"));
}

TEST(Weights, NanBlockScalesAreRefusedByName) {
  MemoryFile f = quantised(8, 2, "BF16", true);
  for (const char* part : {"weight", "scales", "biases"}) f.remove(std::string("model.layers.0.mlp.down_proj.") + part);
  std::vector<std::byte> blocks(8 * 2 * 34);
  blocks[34 * 5 + 1] = std::byte{0x7c};  // infinity as the scale of block 5
  f.add_bytes("model.layers.0.mlp.down_proj.weight", "Q8_0", {8, 64}, blocks);
  EXPECT_THAT(load_error(f), HasSubstr("down_proj.weight: finite scales expected"));
}

TEST(Weights, Fp8BlocksNeedTheirScales) {
  MemoryFile f = quantised(8, 2, "BF16", true);
  for (const char* part : {"weight", "scales", "biases"}) f.remove(std::string("model.layers.0.mlp.down_proj.") + part);
  const char* fp8 = nullptr;
  for (const Format* format : formats())
    if (format->codes == Codes::e4m3 && format->scales == Scales::none) fp8 = format->name;
  ASSERT_TRUE(fp8);
  f.add_bytes("model.layers.0.mlp.down_proj.weight", fp8, {8, 64}, std::vector<std::byte>(512, std::byte{0x38}));
  EXPECT_THAT(load_error(f), HasSubstr("down_proj.weight: weights expected"));
  f.add("model.layers.0.mlp.down_proj.weight_scale_inv", {1, 1}, 2);
  FakeDevice device;
  ASSERT_TRUE(load_model(f, device)) << load_error(f);
  EXPECT_TRUE(device.starting_with('m', 2));  // 1.0 in E4M3, times 2
}

}  // namespace
