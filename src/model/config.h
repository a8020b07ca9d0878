// config: the settings that several architectures share, read and checked before anything is allocated.
#pragma once
#include "model/keys.h"
#include "model/model.h"

inline constexpr int64_t max_dim = int64_t{1} << 20;  // any extent of a tensor but the vocabulary
inline constexpr int64_t max_layers = 1024;
inline constexpr int64_t max_heads = 1024;
inline constexpr int64_t max_head_dim = 4096;

enum class LayerKind : uint8_t { full, sliding, linear };

// Values that Hugging Face's classes fill in when a file leaves them out; 0: the key is required.
struct ConfigDefaults {
  int n_heads = 0, n_kv_heads = 0, head_dim = 0, vocab_size = 0;
};
ModelConfig read_config(Keys& keys, std::string_view architecture, const ConfigDefaults& defaults = {});

// layer_types, or what `derived` says for a layer when the file has none. Never of another length than n_layers.
std::vector<LayerKind> read_layer_kinds(Keys& keys, int n_layers, const std::function<LayerKind(int)>& derived);

// One value per layer: GGUF may store a list, otherwise the same value everywhere.
std::vector<int64_t> read_per_layer(Keys& keys, std::string_view key, int n_layers, int64_t low, int64_t high);

// The window of each layer: 0 sees everything. Follows layer_types, use_sliding_window and max_window_layers.
std::vector<int> read_windows(Keys& keys, int n_layers);

// "silu" or "gelu_pytorch_tanh": anything but `expected` is refused by name.
void expect_activation(Keys& keys, std::string_view key, std::string_view expected);

// Refuses quantisations that cannot be read (GPTQ, AWQ, ...) and heads that are not a causal language model's.
void expect_readable(Keys& keys);

// Whether the output head is the embedding table. `head_stored`: the file has a head of its own.
bool read_tied(const Keys& keys, bool head_stored);
