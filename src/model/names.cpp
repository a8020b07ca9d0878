// names: prefixes of safetensors, GGUF's words, and parts of quantised modules.
#include "model/names.h"

#include <charconv>
#include <optional>
#include <utility>

namespace {

struct Pair {
  std::string_view gguf, canonical;
};

// Whole GGUF names (after "blk.N." for the ones inside a layer) whose suffix changes too.
constexpr Pair whole_names[] = {
    {"ssm_a", "linear_attn.A_log"},
    {"ssm_dt.bias", "linear_attn.dt_bias"},
    {"layer_output_scale.weight", "layer_scalar"},
    {"ffn_gate_exps.weight", "mlp.experts.gate_proj"},
    {"ffn_up_exps.weight", "mlp.experts.up_proj"},
    {"ffn_down_exps.weight", "mlp.experts.down_proj"},
    {"ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj"},
};

// GGUF stems; ".weight" and ".bias" stay. Gemma's own meanings come first.
constexpr Pair gemma_stems[] = {
    {"ffn_norm", "pre_feedforward_layernorm"},
};
constexpr Pair stems[] = {
    {"attn_norm", "input_layernorm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"attn_qkv", "linear_attn.in_proj_qkv"},
    {"attn_gate", "linear_attn.in_proj_z"},
    {"ssm_alpha", "linear_attn.in_proj_a"},
    {"ssm_beta", "linear_attn.in_proj_b"},
    {"ssm_conv1d", "linear_attn.conv1d"},
    {"ssm_norm", "linear_attn.norm"},
    {"ssm_out", "linear_attn.out_proj"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"ffn_gate_inp", "mlp.gate"},
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
    {"inp_gate", "per_layer_input_gate"},
    {"proj", "per_layer_projection"},
    {"post_norm", "post_per_layer_input_norm"},
};
constexpr Pair top_stems[] = {
    {"token_embd", "embed_tokens"},
    {"output_norm", "norm"},
    {"output", "lm_head"},
    {"per_layer_token_embd", "embed_tokens_per_layer"},
    {"per_layer_model_proj", "per_layer_model_projection"},
    {"per_layer_proj_norm", "per_layer_projection_norm"},
};

// Prefixes of the text model in safetensors, longest first. The head has none, or language_model alone.
constexpr std::string_view text_prefixes[] = {"model.language_model.model.", "model.language_model.", "language_model.model.", "language_model.",
                                              "model."};

struct Skipped {
  std::string_view prefix;
  const char* what;
};
constexpr Skipped skipped_prefixes[] = {
    {"model.visual.", "vision tower"},
    {"visual.", "vision tower"},
    {"vision_tower.", "vision tower"},
    {"model.vision_tower.", "vision tower"},
    {"multi_modal_projector.", "vision tower"},
    {"model.multi_modal_projector.", "vision tower"},
    {"model.embed_vision.", "vision tower"},
    {"embed_vision.", "vision tower"},
    {"v.", "vision tower"},
    {"model.vision_embedder.", "vision tower"},
    {"vision_embedder.", "vision tower"},
    {"mm.", "vision tower"},
    {"model.audio_tower.", "audio tower"},
    {"audio_tower.", "audio tower"},
    {"model.embed_audio.", "audio tower"},
    {"embed_audio.", "audio tower"},
    {"mtp.", "multi-token prediction head"},
    {"model.mtp.", "multi-token prediction head"},
    {"language_model.mtp.", "multi-token prediction head"},
};

std::optional<std::string> swap_word(std::span<const Pair> table, std::string_view word) {
  for (const Pair& pair : table)
    if (pair.gguf == word) return std::string(pair.canonical);
  return std::nullopt;
}

std::pair<std::string_view, std::string_view> split_suffix(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == name.npos ? std::pair{name, std::string_view()} : std::pair{name.substr(0, dot), name.substr(dot)};
}

std::string gguf_name(std::string_view stored, bool gemma) {
  std::string_view rest = stored;
  std::string layer;
  if (stored.starts_with("blk.")) {
    const size_t dot = stored.find('.', 4);
    if (dot == stored.npos) return std::string(stored);
    layer = "layers." + std::string(stored.substr(4, dot - 3));
    rest = stored.substr(dot + 1);
    if (const auto whole = swap_word(whole_names, rest)) return layer + *whole;
  }
  const auto [stem, suffix] = split_suffix(rest);
  auto word = layer.empty() ? swap_word(top_stems, stem) : gemma ? swap_word(gemma_stems, stem) : std::nullopt;
  if (!word && !layer.empty()) word = swap_word(stems, stem);
  return word ? layer + *word + std::string(suffix) : std::string(stored);
}

bool cut_suffix(std::string& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  name.resize(name.size() - suffix.size());
  return true;
}

// Stacks of experts lose their ".weight", so that every container calls them the same.
void unify_experts(std::string& name) {
  if (const size_t at = name.find(".switch_mlp."); at != name.npos) name.replace(at, 12, ".experts.");
  for (const char* word : {".experts.gate_proj.weight", ".experts.up_proj.weight", ".experts.down_proj.weight", ".experts.gate_up_proj.weight"})
    if (name.ends_with(word)) cut_suffix(name, ".weight");
}

TensorName safetensors_name(std::string_view stored) {
  using Part = TensorName::Part;
  std::string name(stored);
  for (const std::string_view prefix : text_prefixes)
    if (stored.starts_with(prefix)) {
      name = stored.substr(prefix.size());
      break;
    }
  Part part = Part::main;
  if (cut_suffix(name, ".scales"))
    part = Part::scales;
  else if (cut_suffix(name, ".biases"))
    part = Part::biases;
  else if (cut_suffix(name, ".weight_scale_inv") || cut_suffix(name, "_scale_inv"))
    part = Part::block_scales;
  else if (cut_suffix(name, ".global_scale"))
    part = Part::global_scale;
  if (part != Part::main) name += ".weight";
  unify_experts(name);
  return {part, name};
}

}  // namespace

TensorName canonical_name(std::string_view stored, Container container, std::string_view architecture) {
  if (container == Container::gguf) return {TensorName::Part::main, gguf_name(stored, architecture.starts_with("gemma"))};
  for (const Skipped& skip : skipped_prefixes)
    if (stored.starts_with(skip.prefix)) return {TensorName::Part::skipped, std::string(stored), skip.what};
  if (stored.ends_with("rotary_emb.inv_freq")) return {TensorName::Part::skipped, std::string(stored), "stored rotary frequencies"};
  return safetensors_name(stored);
}

std::string stored_name(const std::string& canonical, Container container, std::string_view architecture, const std::string& prefix) {
  if (container == Container::safetensors) return canonical.starts_with("lm_head") || canonical.starts_with("score.") ? canonical : prefix + canonical;
  const bool inside = canonical.starts_with("layers.");
  const size_t dot = inside ? canonical.find('.', 7) : std::string::npos;
  if (inside && dot == std::string::npos) return canonical;
  const std::string layer = inside ? "blk." + canonical.substr(7, dot - 6) : "", rest = inside ? canonical.substr(dot + 1) : canonical;
  const auto back = [&](std::span<const Pair> table, std::string_view word) -> std::optional<std::string> {
    for (const Pair& pair : table)
      if (pair.canonical == word && !(architecture.starts_with("qwen3_5") && pair.gguf == "ffn_norm") &&
          gguf_name(layer + std::string(pair.gguf) + ".weight", architecture.starts_with("gemma")).find(word) != std::string::npos)
        return std::string(pair.gguf);
    return std::nullopt;
  };
  for (const Pair& pair : whole_names)
    if (inside && pair.canonical == rest) return layer + std::string(pair.gguf);
  const auto [stem, suffix] = split_suffix(rest);
  auto word = inside ? back(gemma_stems, stem) : back(top_stems, stem);
  if (!word && inside) word = back(stems, stem);
  return word ? layer + *word + std::string(suffix) : canonical;
}

int layer_of(std::string_view canonical) {
  int layer = -1;
  if (canonical.starts_with("layers.")) std::from_chars(canonical.data() + 7, canonical.data() + canonical.size(), layer);
  return layer;
}
