// model: architectures. One file per architecture in arch/, written once for all devices.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include "core/core.h"
#include "device/device.h"
#include "file/file.h"

// The numbers every architecture has; what only one needs lives in its own file.
struct ModelConfig {
  std::string architecture;  // Hugging Face model_type of the text part: "qwen3_5_moe", "llama", …
  int n_layers = 0, hidden_dim = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0, ffn_dim = 0, vocab_size = 0, max_positions = 0;
  int n_experts = 0, top_k = 0;
  float norm_eps = 1e-6f;
  std::vector<std::string> labels{};  // of a token classifier: what each column of its logits says of a row; empty for what writes text
};

// Weights read per decoded token, and multiply-adds with them per row of a step, by part: what `bench` and `inspect` print.
struct PartBytes {
  std::string part;
  size_t total_bytes = 0, per_token_bytes = 0;
  std::string formats;
  uint64_t macs = 0;
  bool head = false;  // computed only for rows whose logits are wanted
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelConfig& config() const = 0;
  virtual std::span<const StateSpec> states() const = 0;               // one per layer
  virtual Tensor forward(Encoder& e, const Batch& b) const = 0;        // -> logits [logit_rows, vocab_size or labels], or hidden states [logit_rows, hidden_dim]
};

struct LoadProgress { size_t done_bytes = 0, total_bytes = 0; };
struct LoadOptions { std::function<void(const LoadProgress&)> progress; };

// Fails with every missing, extra or mis-shaped tensor named, with an unknown architecture or quantisation named, with absurd config
// values named. Never holds two copies of the weights. Vision and audio towers are skipped; `notes` says so.
struct LoadedModel { std::unique_ptr<Model> model; std::vector<std::string> notes; std::vector<PartBytes> parts; };
Result<LoadedModel> load_model(const WeightFile& file, Device& device, const LoadOptions& options = {});

// What load_model would find, without uploading anything: for `inspect`.
struct ModelReport { ModelConfig config; std::vector<PartBytes> parts; std::vector<std::string> notes; std::vector<StateSpec> states; };
Result<ModelReport> inspect_model(const WeightFile& file);

// Stop tokens from every place they live, and sampling defaults, from generation_config.json, config.json, or GGUF metadata.
struct GenerationDefaults {
  std::vector<TokenId> stop_ids;
  float temperature = 1, top_p = 1, min_p = 0, repetition_penalty = 1;
  int top_k = 0;
  bool do_sample = false, from_file = false;
};
Result<GenerationDefaults> generation_defaults(const WeightFile& file);
