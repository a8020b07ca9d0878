// names: the same tensor under the names of every container.
#include <gtest/gtest.h>
#include "model/names.h"

namespace {

std::string safetensors(std::string_view name) { return canonical_name(name, Container::safetensors, "qwen3_5_moe").canonical; }
std::string gguf(std::string_view name, std::string_view architecture = "qwen3_5_moe") {
  return canonical_name(name, Container::gguf, architecture).canonical;
}

TEST(Names, PrefixesOfSafetensors) {
  for (const char* prefix : {"model.", "model.language_model.", "language_model.model.", ""})
    EXPECT_EQ(safetensors(std::string(prefix) + "layers.3.self_attn.q_proj.weight"), "layers.3.self_attn.q_proj.weight") << prefix;
  EXPECT_EQ(safetensors("lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(safetensors("language_model.lm_head.weight"), "lm_head.weight");
}

TEST(Names, PlanesOfQuantisedModules) {
  using Part = TensorName::Part;
  const auto name = canonical_name("language_model.model.layers.0.mlp.switch_mlp.gate_proj.scales", Container::safetensors, "");
  EXPECT_EQ(name.canonical, "layers.0.mlp.experts.gate_proj");
  EXPECT_EQ(name.part, Part::scales);
  EXPECT_EQ(canonical_name("lm_head.biases", Container::safetensors, "").part, Part::biases);
  EXPECT_EQ(canonical_name("model.layers.1.mlp.experts.4.up_proj.weight_scale_inv", Container::safetensors, "").canonical,
            "layers.1.mlp.experts.4.up_proj.weight");
  EXPECT_EQ(canonical_name("model.layers.1.mlp.experts.gate_up_proj_scale_inv", Container::safetensors, "").canonical,
            "layers.1.mlp.experts.gate_up_proj");
}

TEST(Names, SkippedTowers) {
  for (const char* name : {"model.visual.patch_embed.proj.weight", "vision_tower.blocks.0.norm1.weight", "mtp.fc.weight", "model.audio_tower.x"})
    EXPECT_EQ(canonical_name(name, Container::safetensors, "").part, TensorName::Part::skipped) << name;
}

TEST(Names, GgufWords) {
  EXPECT_EQ(gguf("token_embd.weight"), "embed_tokens.weight");
  EXPECT_EQ(gguf("output_norm.weight"), "norm.weight");
  EXPECT_EQ(gguf("output.weight"), "lm_head.weight");
  EXPECT_EQ(gguf("blk.12.attn_q.bias"), "layers.12.self_attn.q_proj.bias");
  EXPECT_EQ(gguf("blk.0.ssm_a"), "layers.0.linear_attn.A_log");
  EXPECT_EQ(gguf("blk.0.ssm_dt.bias"), "layers.0.linear_attn.dt_bias");
  EXPECT_EQ(gguf("blk.0.ffn_gate_up_exps.weight"), "layers.0.mlp.experts.gate_up_proj");
  EXPECT_EQ(gguf("blk.0.ffn_norm.weight", "llama"), "layers.0.post_attention_layernorm.weight");
  EXPECT_EQ(gguf("blk.0.ffn_norm.weight", "gemma3"), "layers.0.pre_feedforward_layernorm.weight");
  EXPECT_EQ(gguf("blk.0.post_attention_norm.weight", "gemma3"), "layers.0.post_attention_layernorm.weight");
}

TEST(Names, BackToTheFilesOwn) {
  EXPECT_EQ(stored_name("layers.3.mlp.experts.down_proj", Container::gguf, "qwen3_5_moe", ""), "blk.3.ffn_down_exps.weight");
  EXPECT_EQ(stored_name("layers.3.post_attention_layernorm.weight", Container::gguf, "gemma3", ""), "blk.3.post_attention_norm.weight");
  EXPECT_EQ(stored_name("layers.3.pre_feedforward_layernorm.weight", Container::gguf, "gemma3", ""), "blk.3.ffn_norm.weight");
  EXPECT_EQ(stored_name("embed_tokens.weight", Container::gguf, "llama", ""), "token_embd.weight");
  EXPECT_EQ(stored_name("layers.3.self_attn.q_proj.weight", Container::safetensors, "llama", "model."), "model.layers.3.self_attn.q_proj.weight");
}

TEST(Names, LayerNumbers) {
  EXPECT_EQ(layer_of("layers.41.x"), 41);
  EXPECT_EQ(layer_of("norm.weight"), -1);
}

}  // namespace
