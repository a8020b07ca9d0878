// config: reading and checking shared settings.
#include "model/config.h"

#include <algorithm>

namespace {

// Real GGUF files often leave vocab_size out: the token list says it.
int64_t vocab_of_tokens(const WeightFile& file) {
  const MetaValue* tokens = file.meta("tokenizer.ggml.tokens");
  const auto* list = tokens ? std::get_if<std::vector<std::string_view>>(&tokens->value) : nullptr;
  return list ? static_cast<int64_t>(list->size()) : 0;
}

int64_t read_vocab(Keys& keys, int64_t fallback) {
  constexpr int64_t most = int64_t{1} << 24;
  if (keys.gguf() && !keys.has("vocab_size")) {
    const StoredTensor* table = keys.file().find("token_embd.weight");
    const int64_t rows = table && table->shape.rank == 2 ? table->shape[0] : vocab_of_tokens(keys.file());
    return static_cast<int64_t>(keys.check("vocab_size", static_cast<double>(rows), 1, static_cast<double>(most)));
  }
  return fallback ? keys.get("vocab_size", fallback, 1, most) : keys.need("vocab_size", 1, most);
}

int read_head_dim(Keys& keys, const ModelConfig& c, int fallback) {
  if (keys.has("head_dim") || fallback) return static_cast<int>(keys.get("head_dim", fallback, 1, max_head_dim));
  if (c.hidden_dim % c.n_heads != 0)
    keys.refuse("hidden_size = " + std::to_string(c.hidden_dim) + ": a multiple of num_attention_heads = " + std::to_string(c.n_heads) + " expected");
  return std::max(1, c.hidden_dim / c.n_heads);
}

int read_layer_count(Keys& keys) {
  const int64_t blocks = keys.need("num_hidden_layers", 1, max_layers), extra = keys.meta("nextn_predict_layers").value_or(0);
  if (extra < 0 || extra >= blocks) {
    keys.refuse("nextn_predict_layers = " + std::to_string(extra) + ": 0 to " + std::to_string(blocks - 1) + " expected");
    return static_cast<int>(blocks);
  }
  return static_cast<int>(blocks - extra);
}

void read_experts(Keys& keys, ModelConfig& c) {
  c.n_experts = static_cast<int>(keys.get("num_experts", 0, 0, 65536));
  if (c.n_experts > 0) c.top_k = static_cast<int>(keys.need("num_experts_per_tok", 1, c.n_experts));
}

}  // namespace

ModelConfig read_config(Keys& keys, std::string_view architecture, const ConfigDefaults& defaults) {
  const auto heads = [&](std::string_view key, int64_t fallback) {
    return static_cast<int>(fallback ? keys.get(key, fallback, 1, max_heads) : keys.need(key, 1, max_heads));
  };
  ModelConfig c;
  c.architecture = architecture;
  c.n_layers = read_layer_count(keys);
  c.hidden_dim = static_cast<int>(keys.need("hidden_size", 1, max_dim));
  c.n_heads = heads("num_attention_heads", defaults.n_heads);
  c.n_kv_heads = heads("num_key_value_heads", defaults.n_kv_heads ? defaults.n_kv_heads : c.n_heads);
  c.head_dim = read_head_dim(keys, c, defaults.head_dim);
  c.ffn_dim = static_cast<int>(keys.get("intermediate_size", 0, 1, max_dim));
  c.vocab_size = static_cast<int>(read_vocab(keys, defaults.vocab_size));
  c.max_positions = static_cast<int>(keys.get("max_position_embeddings", 4096, 1, int64_t{1} << 30));
  c.norm_eps = static_cast<float>(keys.get_number("rms_norm_eps", 1e-6, 1e-12, 0.1));
  read_experts(keys, c);
  if (c.n_heads % c.n_kv_heads != 0)
    keys.refuse("num_attention_heads = " + std::to_string(c.n_heads) + ": a multiple of num_key_value_heads = " + std::to_string(c.n_kv_heads) +
                " expected");
  expect_readable(keys);
  return c;
}

std::vector<LayerKind> read_layer_kinds(Keys& keys, int n_layers, const std::function<LayerKind(int)>& derived) {
  std::vector<LayerKind> kinds;
  simdjson::dom::array names;
  const auto stored = keys.json("layer_types");
  if (!stored) {
    for (int i = 0; i < n_layers; i++) kinds.push_back(derived(i));
    return kinds;
  }
  if (stored->get(names) != simdjson::SUCCESS) {
    keys.refuse("layer_types: a list expected");
    return std::vector(static_cast<size_t>(n_layers), LayerKind::full);
  }
  for (const auto item : names) {
    std::string_view name;
    if (item.get(name) != simdjson::SUCCESS) name = "?";
    kinds.push_back(name == "sliding_attention" ? LayerKind::sliding : name == "linear_attention" ? LayerKind::linear : LayerKind::full);
    if (kinds.back() == LayerKind::full && name != "full_attention") {
      keys.unsupported("layer_types[" + std::to_string(kinds.size() - 1) + "] = " + std::string(name.substr(0, 60)) +
                       ": full_attention, sliding_attention or linear_attention expected");
      break;
    }
  }
  if (!keys.failed() && std::ssize(kinds) != n_layers)
    keys.refuse("layer_types: " + std::to_string(n_layers) + " entries expected, " + std::to_string(kinds.size()) + " found");
  kinds.resize(static_cast<size_t>(n_layers), LayerKind::full);
  return kinds;
}

std::vector<int64_t> read_per_layer(Keys& keys, std::string_view key, int n_layers, int64_t low, int64_t high) {
  std::vector<int64_t> values = keys.list(key);
  if (values.empty()) keys.refuse(std::string(key) + " is missing");
  if (values.size() == 1) values.resize(static_cast<size_t>(n_layers), values[0]);
  if (std::ssize(values) < n_layers)
    keys.refuse(std::string(key) + ": " + std::to_string(n_layers) + " entries expected, " + std::to_string(values.size()) + " found");
  values.resize(static_cast<size_t>(n_layers), low);
  for (int64_t& value : values)
    value = static_cast<int64_t>(keys.check(key, static_cast<double>(value), static_cast<double>(low), static_cast<double>(high)));
  return values;
}

std::vector<int> read_windows(Keys& keys, int n_layers) {
  const bool by_default = !keys.model_type().starts_with("qwen");  // Qwen files name a window that is off unless the flag says otherwise
  const bool used = keys.get_flag("use_sliding_window", by_default) && keys.has("sliding_window");
  const int window = used ? static_cast<int>(keys.get("sliding_window", 0, 1, int64_t{1} << 30)) : 0;
  const int first =
      used && !keys.gguf() && keys.has("max_window_layers") ? static_cast<int>(keys.get("max_window_layers", 0, 0, int64_t{1} << 20)) : 0;
  const auto kinds = read_layer_kinds(keys, n_layers, [&](int i) { return window > 0 && i >= first ? LayerKind::sliding : LayerKind::full; });
  std::vector<int> windows;
  for (const LayerKind kind : kinds) {
    windows.push_back(kind == LayerKind::sliding ? window : 0);
    if (kind == LayerKind::linear) keys.unsupported("layer_types: linear_attention in " + std::string(keys.model_type()));
    if (kind == LayerKind::sliding && window == 0) keys.refuse("sliding_window is missing");
    if (keys.failed()) break;
  }
  windows.resize(static_cast<size_t>(n_layers), 0);
  return windows;
}

void expect_activation(Keys& keys, std::string_view key, std::string_view expected) {
  const std::string found = keys.get_text(key, expected);
  const bool same = found == expected || (expected == "silu" && found == "swish");
  if (!same) keys.unsupported(std::string(key) + " = " + found + ": " + std::string(expected) + " expected");
}

void expect_readable(Keys& keys) {
  const auto root = keys.root();
  if (!root) return;
  simdjson::dom::array names;
  bool labels = false;  // a token classifier
  if (const auto classes = keys.json("architectures"); classes && classes->get(names) == simdjson::SUCCESS)
    for (const auto item : names) {
      std::string_view name;
      if (item.get(name) != simdjson::SUCCESS || name.find("Classification") == name.npos) continue;
      labels = name == "Qwen3ForTokenClassification" && keys.model_type() == "qwen3";
      if (!labels) keys.unsupported("architectures: " + std::string(name) + " is not a language model");
    }
  if (!labels && !keys.get_flag("is_causal", true)) keys.unsupported("is_causal = false: a causal language model expected");
  auto block = keys.json("quantization");
  if (!block) block = keys.json("quantization_config");
  if (!block) return;
  const auto method = find_string(*block, "quant_method");
  const auto mode = find_string(*block, "mode");
  if (method && *method != "fp8" && *method != "mlx")
    keys.unsupported("quantization_config: quant_method " + std::string(*method) + " cannot be read");
  if (mode && *mode != "affine" && *mode != "mxfp4" && *mode != "mxfp8" && *mode != "nvfp4")
    keys.unsupported("quantization: mode " + std::string(*mode) + " cannot be read");
}

bool read_tied(const Keys& keys, bool head_stored) {
  if (keys.gguf()) return !head_stored;
  const auto root = keys.root();
  const auto text = find(*root, "text_config");
  bool stated = false, any = false, all = true;
  const auto look = [&](JsonView object) {
    if (const auto tied = find_bool(object, "tie_word_embeddings")) stated = true, any = any || *tied, all = all && *tied;
  };
  look(*root);
  if (text) look(*text);
  if (!stated) return !head_stored;
  return head_stored ? all : any;  // where root and text_config disagree, the file decides
}
