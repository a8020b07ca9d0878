// list: every architecture, by Hugging Face's model_type and GGUF's name.
#pragma once
#include "model/arch/blocks.h"

// Reads its own settings, asks for its weights, and returns a model whose slots are still empty; null when settings were refused.
using MakeModel = std::unique_ptr<Model> (*)(Keys& keys, Weights& weights, const ModelConfig& config, bool exact);

struct Architecture {
  const char* name;                      // ModelConfig::architecture
  std::vector<const char*> model_types;  // root model_type of config.json
  const char* gguf;                      // general.architecture
  ConfigDefaults defaults;
  MakeModel make;
};
std::span<const Architecture> architectures();
const Architecture* find_architecture(std::string_view model_type, Container container);

std::unique_ptr<Model> make_qwen3_5_moe(Keys&, Weights&, const ModelConfig&, bool exact);
std::unique_ptr<Model> make_qwen3_5(Keys&, Weights&, const ModelConfig&, bool exact);
std::unique_ptr<Model> make_qwen3_moe(Keys&, Weights&, const ModelConfig&, bool exact);
std::unique_ptr<Model> make_qwen3(Keys&, Weights&, const ModelConfig&, bool exact);
std::unique_ptr<Model> make_qwen2(Keys&, Weights&, const ModelConfig&, bool exact);
std::unique_ptr<Model> make_llama(Keys&, Weights&, const ModelConfig&, bool exact);
std::unique_ptr<Model> make_gemma3(Keys&, Weights&, const ModelConfig&, bool exact);
std::unique_ptr<Model> make_gemma4(Keys&, Weights&, const ModelConfig&, bool exact);
