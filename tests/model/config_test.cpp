// config: settings under every generation of key names, and each absurd value refused before anything is uploaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "fakes.h"
#include "model/config.h"

using testing::HasSubstr;

namespace {

void expect_refused(const std::string& key, const Json& value, const std::string& message) {
  MemoryFile f = tiny_qwen3();
  f.json[key] = value;
  FakeDevice device;
  const auto loaded = load_model(f, device);
  ASSERT_FALSE(loaded) << key << " = " << value.dump();
  EXPECT_THAT(loaded.error().message, HasSubstr(message)) << key << " = " << value.dump();
  EXPECT_TRUE(device.uploads.empty());
}

TEST(Config, LoadsTheTinyModel) { EXPECT_EQ(load_error(tiny_qwen3()), ""); }

TEST(Config, AbsurdNumbersAreNamed) {
  for (const auto& bad : {Json(0), Json(-8), Json(int64_t{1} << 40)}) {
    for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size",
                            "intermediate_size", "max_position_embeddings"})
      expect_refused(key, bad, std::string(key) + " = " + bad.dump().substr(0, 2));
  }
  expect_refused("num_key_value_heads", 3, "a multiple of num_key_value_heads = 3");
  expect_refused("hidden_size", "eight", "hidden_size: an integer expected");
  expect_refused("hidden_size", 8.5, "hidden_size: an integer expected");
  expect_refused("rms_norm_eps", 0, "rms_norm_eps = 0");
  expect_refused("rms_norm_eps", -1e-6, "rms_norm_eps = -1e-06");
  expect_refused("rms_norm_eps", 3.5, "rms_norm_eps = 3.5");
  expect_refused("rope_theta", 0, "rope_theta = 0");
  expect_refused("rope_theta", -10000, "rope_theta = -10000");
  expect_refused("rope_theta", "x", "rope_theta: a number expected");
}

TEST(Config, NanIsNotJsonAndRefusedInGguf) {
  MemoryFile f = tiny_qwen3();
  f.raw_config = R"({"model_type": "qwen3", "rms_norm_eps": NaN})";
  EXPECT_THAT(load_error(f), HasSubstr("config.json"));
  MemoryFile g;
  g.kind = Container::gguf;
  g.metadata["general.architecture"] = {std::string_view("qwen3")};
  for (const char* key : {"embedding_length", "block_count", "attention.head_count", "vocab_size", "feed_forward_length"})
    g.metadata["qwen3." + std::string(key)] = {int64_t{8}};
  g.metadata["qwen3.attention.layer_norm_rms_epsilon"] = {std::nan("")};
  g.metadata["qwen3.rope.freq_base"] = {std::nan("")};
  EXPECT_THAT(load_error(g), HasSubstr("qwen3.attention.layer_norm_rms_epsilon = nan"));
  g.metadata["qwen3.attention.layer_norm_rms_epsilon"] = {1e-6};
  g.metadata["qwen3.attention.key_length"] = {int64_t{4}};
  EXPECT_THAT(load_error(g), HasSubstr("rope.freq_base = nan"));
}

TEST(Config, MissingKeysAreListedTogether) {
  MemoryFile f = tiny_qwen3();
  f.json.erase("hidden_size");
  f.json.erase("vocab_size");
  const std::string message = load_error(f);
  EXPECT_THAT(message, HasSubstr("hidden_size is missing"));
  EXPECT_THAT(message, HasSubstr("vocab_size is missing"));
}

TEST(Config, UnknownThingsAreNamed) {
  expect_refused("model_type", "mamba9", "architecture mamba9");
  expect_refused("hidden_act", "relu", "hidden_act = relu");
  expect_refused("layer_types", Json::array({"banana_attention"}), "layer_types[0] = banana_attention");
  expect_refused("layer_types", Json::array({"full_attention", "full_attention"}), "layer_types: 1 entries expected, 2 found");
  expect_refused("layer_types", Json::array({"linear_attention"}), "linear_attention");
  expect_refused("layer_types", Json::array({"sliding_attention"}), "sliding_window is missing");
  expect_refused("quantization_config", {{"quant_method", "awq"}}, "quant_method awq");
  expect_refused("quantization", {{"mode", "fancy"}, {"bits", 4}}, "mode fancy");
  expect_refused("architectures", Json::array({"Qwen3ForSequenceClassification"}), "Qwen3ForSequenceClassification");
  expect_refused("architectures", Json::array({"Qwen3ForTokenClassification"}), "id2label");
  expect_refused("is_causal", false, "is_causal");
  expect_refused("rope_scaling", {{"rope_type", "dynamic"}, {"factor", 2.0}}, "rope_type = dynamic");
  expect_refused("rope_scaling", {{"type", "longrope"}, {"factor", 2.0}}, "rope_type = longrope");
  expect_refused("rope_scaling", {{"rope_type", "linear"}}, "factor is missing");
  expect_refused("rope_scaling", {{"rope_type", "linear"}, {"factor", 0}}, "factor = 0");
  expect_refused("rope_scaling", {{"rope_type", "llama3"}, {"factor", 8}, {"low_freq_factor", 4}, {"high_freq_factor", 1}}, "high_freq_factor");
  expect_refused("partial_rotary_factor", 1.5, "partial_rotary_factor = 1.5");
}

TEST(Config, LabelsAreChecked) {
  MemoryFile f = tiny_qwen3();
  f.json["architectures"] = Json::array({"Qwen3ForTokenClassification"});
  f.json["id2label"] = {{"0", "O"}, {"2", "B-X"}};
  EXPECT_THAT(load_error(f), HasSubstr("id2label.1: a text expected"));
  f.json["id2label"] = {{"0", "O"}, {"1", "B-X"}};
  EXPECT_THAT(load_error(f), HasSubstr("score.weight"));
}

TEST(Config, WindowsAreChecked) {
  MemoryFile f = tiny_qwen3();
  f.json["use_sliding_window"] = true;
  for (const int bad : {0, -5}) {
    f.json["sliding_window"] = bad;
    EXPECT_THAT(load_error(f), HasSubstr("sliding_window = " + std::to_string(bad)));
  }
  f.json["use_sliding_window"] = false;
  EXPECT_EQ(load_error(f), "");
}

TEST(Config, MixturesAreChecked) {
  const auto error_with = [](const char* key, const Json& value) {
    MemoryFile f = tiny_qwen35moe();
    f.json["text_config"][key] = value;
    return load_error(f);
  };
  EXPECT_EQ(load_error(tiny_qwen35moe()), "");
  EXPECT_THAT(error_with("num_experts", 0), HasSubstr("num_experts = 0"));
  EXPECT_THAT(error_with("num_experts", -3), HasSubstr("num_experts = -3"));
  EXPECT_THAT(error_with("num_experts_per_tok", 4), HasSubstr("num_experts_per_tok = 4: 1 to 3"));
  EXPECT_THAT(error_with("num_experts_per_tok", 0), HasSubstr("num_experts_per_tok = 0"));
  EXPECT_THAT(error_with("moe_intermediate_size", -1), HasSubstr("moe_intermediate_size = -1"));
  EXPECT_THAT(error_with("linear_num_key_heads", 3), HasSubstr("a multiple of linear_num_key_heads = 3"));
  EXPECT_THAT(error_with("linear_conv_kernel_dim", 1), HasSubstr("linear_conv_kernel_dim = 1"));
  EXPECT_THAT(error_with("full_attention_interval", 0), HasSubstr("full_attention_interval = 0"));
  EXPECT_THAT(error_with("rope_parameters", nullptr), HasSubstr("rope_theta is missing"));
}

TEST(Config, OldAndNewNamesMeanTheSame) {
  MemoryFile f = tiny_qwen35moe();
  f.json["text_config"].erase("num_experts");
  f.json["text_config"]["num_local_experts"] = 3;
  f.json["text_config"].erase("full_attention_interval");
  f.json["text_config"]["layer_types"] = {"linear_attention", "full_attention"};
  const auto report = inspect_model(f);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->config.n_experts, 3);
  EXPECT_EQ(report->states[0].kind, StateSpec::Kind::recurrent);
  EXPECT_EQ(report->states[1].kind, StateSpec::Kind::paged_kv);
  EXPECT_EQ(report->states[0].conv_channels, 16);
}

TEST(Config, GgufMustNameItsArchitecture) {
  MemoryFile g;
  g.kind = Container::gguf;
  EXPECT_THAT(load_error(g), HasSubstr("general.architecture is missing"));
  g.metadata["general.architecture"] = {std::string_view("rwkv")};
  EXPECT_THAT(load_error(g), HasSubstr("architecture rwkv"));
}

TEST(Config, GemmaSettingsAreChecked) {
  const auto error_with = [](const char* type, const char* key, const Json& value) {
    MemoryFile f;
    f.json = {{"model_type", type},       {"hidden_size", 8}, {"num_hidden_layers", 3},  {"num_attention_heads", 2},
              {"num_key_value_heads", 1}, {"head_dim", 4},    {"intermediate_size", 12}, {"vocab_size", 10}};
    f.json["layer_types"] = {"sliding_attention", "full_attention", "full_attention"};
    f.json[key] = value;
    return load_error(f);
  };
  EXPECT_THAT(error_with("gemma4", "num_kv_shared_layers", 3), HasSubstr("num_kv_shared_layers = 3: 0 to 2"));
  EXPECT_THAT(error_with("gemma4", "num_kv_shared_layers", -1), HasSubstr("num_kv_shared_layers = -1"));
  EXPECT_THAT(error_with("gemma4", "layer_types", Json::array({"full_attention", "sliding_attention", "full_attention"})), HasSubstr("missing"));
  EXPECT_THAT(error_with("gemma4", "global_head_dim", 0), HasSubstr("global_head_dim = 0"));
  EXPECT_THAT(error_with("gemma4", "enable_moe_block", true), HasSubstr("enable_moe_block"));
  EXPECT_THAT(error_with("gemma4", "use_bidirectional_attention", "all"), HasSubstr("use_bidirectional_attention"));
  EXPECT_THAT(error_with("gemma4", "final_logit_softcapping", -30), HasSubstr("final_logit_softcapping = -30"));
  EXPECT_THAT(error_with("gemma4", "sliding_window", -1), HasSubstr("sliding_window = -1"));
  EXPECT_THAT(error_with("gemma4", "hidden_activation", "relu"), HasSubstr("hidden_activation = relu"));
  EXPECT_THAT(error_with("gemma3_text", "query_pre_attn_scalar", 0), HasSubstr("query_pre_attn_scalar = 0"));
  EXPECT_THAT(error_with("gemma3_text", "attn_logit_softcapping", 50), HasSubstr("attn_logit_softcapping"));
  EXPECT_THAT(error_with("gemma3_text", "rope_local_base_freq", -1), HasSubstr("rope_local_base_freq = -1"));
  EXPECT_THAT(error_with("gemma3_text", "use_bidirectional_attention", true), HasSubstr("use_bidirectional_attention"));
}

TEST(Config, SharingNeedsAnEarlierLayerOfTheKind) {
  MemoryFile f;
  f.json = {{"model_type", "gemma4"}, {"hidden_size", 8},        {"num_hidden_layers", 3}, {"num_attention_heads", 2}, {"num_key_value_heads", 1},
            {"head_dim", 4},          {"intermediate_size", 12}, {"vocab_size", 10},       {"num_kv_shared_layers", 1}};
  f.json["layer_types"] = {"sliding_attention", "sliding_attention", "full_attention"};
  EXPECT_THAT(load_error(f), HasSubstr("no earlier layer of the kind of layer 2"));
}

}  // namespace
