// list: the architectures, one line each.
#include "model/list.h"

std::span<const Architecture> architectures() {
  static const std::vector<Architecture> all = {
      {"qwen3_5_moe", {"qwen3_5_moe", "qwen3_5_moe_text"}, "qwen35moe", {}, make_qwen3_5_moe},
      {"qwen3_5", {"qwen3_5", "qwen3_5_text"}, "qwen35", {}, make_qwen3_5},
      {"qwen3_moe", {"qwen3_moe"}, "qwen3moe", {}, make_qwen3_moe},
      {"qwen3", {"qwen3"}, "qwen3", {}, make_qwen3},
      {"qwen2", {"qwen2"}, "qwen2", {}, make_qwen2},
      {"llama", {"llama", "mistral"}, "llama", {}, make_llama},
      {"gemma3", {"gemma3", "gemma3_text"}, "gemma3", {8, 4, 256, 262208}, make_gemma3},
      {"gemma4", {"gemma4", "gemma4_text"}, "gemma4", {}, make_gemma4},
  };
  return all;
}

const Architecture* find_architecture(std::string_view model_type, Container container) {
  for (const Architecture& a : architectures()) {
    if (container == Container::gguf && model_type == a.gguf) return &a;
    if (container == Container::gguf) continue;
    for (const char* name : a.model_types)
      if (model_type == name) return &a;
  }
  return nullptr;
}
