// fakes: a weight file in memory and a device that only remembers what was uploaded.
#pragma once
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include "core/half.h"
#include "core/json.h"
#include "core/json_writer.h"
#include "model/model.h"

class MemoryFile final : public WeightFile {
 public:
  Container kind = Container::safetensors;
  Json json = Json::object();
  std::map<std::string, MetaValue, std::less<>> metadata;
  std::map<std::string, std::string, std::less<>> sidecars;

  void add_bytes(const std::string& name, const char* format, Shape shape, std::vector<std::byte> bytes) {
    storage_.push_back(std::move(bytes));
    tensors_.push_back({name, find_format(format), shape, storage_.back()});
  }
  void add(const std::string& name, Shape shape, const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * 4);
    std::memcpy(bytes.data(), values.data(), bytes.size());
    add_bytes(name, "F32", shape, std::move(bytes));
  }
  // Element i is first + i / 1000.
  void add(const std::string& name, Shape shape, float first = 0) {
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    for (size_t i = 0; i < values.size(); i++) values[i] = first + static_cast<float>(i) / 1000;
    add(name, shape, values);
  }
  void remove(const std::string& name) {
    std::erase_if(tensors_, [&](const StoredTensor& t) { return t.name == name; });
  }
  void set(const std::string& name, size_t element, float value) {
    for (const StoredTensor& t : tensors_)
      if (t.name == name) std::memcpy(const_cast<std::byte*>(t.bytes.data()) + element * 4, &value, 4);
  }

  Container container() const override { return kind; }
  std::span<const StoredTensor> tensors() const override { return tensors_; }
  const StoredTensor* find(std::string_view name) const override {
    for (const StoredTensor& t : tensors_)
      if (t.name == name) return &t;
    return nullptr;
  }
  const MetaValue* meta(std::string_view key) const override {
    const auto at = metadata.find(key);
    return at == metadata.end() ? nullptr : &at->second;
  }
  std::vector<std::string_view> meta_keys() const override { return {}; }
  std::string_view config() const override { return text_ = kind == Container::gguf ? "" : raw_config.empty() ? json.dump() : raw_config; }
  std::string raw_config;  // instead of json, when not empty
  const std::string& path() const override { return path_; }
  Result<std::string> sidecar(std::string_view name, size_t) const override {
    const auto at = sidecars.find(name);
    if (at == sidecars.end()) return Error{Code::not_found, "none"};
    return at->second;
  }
  size_t weight_bytes() const override { return 0; }

 private:
  std::deque<std::vector<std::byte>> storage_;
  std::vector<StoredTensor> tensors_;
  std::string path_ = "memory";
  mutable std::string text_;
};

class FakeDevice final : public Device {
 public:
  struct Upload {
    char kind;  // m: matrix, l: lookup, v: vector
    std::vector<float> values;
    int n_experts = 1;
  };
  std::vector<Upload> uploads;

  std::string name() const override { return "fake"; }
  Precision precision() const override { return Precision::exact; }
  Result<std::unique_ptr<Weight>> upload(const MatrixSource& source) override {
    std::vector<std::vector<float>> rows;
    for (const StoredMatrix& part : source.parts) TRY_STATUS(check_scales(part));
    for (const StoredMatrix& part : source.parts)
      for (int64_t r = 0; r < part.shape.rows(); r++) decode_row(part, r, rows.emplace_back(static_cast<size_t>(part.shape.back())).data());
    Upload u{'m', {}, source.n_experts};
    if (source.row_order.empty())
      for (const auto& row : rows) u.values.insert(u.values.end(), row.begin(), row.end());
    for (const int32_t r : source.row_order)
      u.values.insert(u.values.end(), rows[static_cast<size_t>(r)].begin(), rows[static_cast<size_t>(r)].end());
    return keep(std::move(u));
  }
  Result<std::unique_ptr<Weight>> upload_lookup(const StoredMatrix& table) override {
    return keep({'l', std::vector<float>(static_cast<size_t>(table.shape.elements()))});
  }
  Result<std::unique_ptr<Weight>> upload_vector(std::span<const float> values) override { return keep({'v', {values.begin(), values.end()}}); }
  size_t weight_bytes() const override { return 0; }
  Status allocate_state(std::span<const StateSpec>, StatePlan) override { return ok_status(); }
  size_t page_bytes(std::span<const StateSpec>, int) const override { return 0; }
  size_t slot_bytes(std::span<const StateSpec>) const override { return 0; }
  void copy_page(int32_t, int32_t) override {}
  void copy_slot(int32_t, int32_t) override {}
  void clear_slot(int32_t) override {}
  void read_page(int32_t, std::span<std::byte>) const override {}
  void write_page(int32_t, std::span<const std::byte>) override {}
  void read_slot(int32_t, std::span<std::byte>) const override {}
  void write_slot(int32_t, std::span<const std::byte>) override {}
  Encoder& begin() override { std::abort(); }
  Status finish() override { return ok_status(); }
  std::span<const float> host(const Tensor&) override { return {}; }

  // The one upload of this kind whose first value is this.
  const Upload* starting_with(char kind, float first) const {
    for (const Upload& u : uploads)
      if (u.kind == kind && !u.values.empty() && std::abs(u.values[0] - first) < 1e-5f) return &u;
    return nullptr;
  }

 private:
  Result<std::unique_ptr<Weight>> keep(Upload upload) {
    uploads.push_back(std::move(upload));
    return std::unique_ptr<Weight>(std::make_unique<Weight>());
  }
};

// One-layer checkpoints with every extent different where possible: hidden 8, 2 heads of 4, 1 kv head, ffn 12, vocab 10.
inline MemoryFile tiny_qwen3() {
  MemoryFile f;
  f.json = {{"model_type", "qwen3"},    {"hidden_size", 8},      {"num_hidden_layers", 1},      {"num_attention_heads", 2},
            {"num_key_value_heads", 1}, {"head_dim", 4},         {"intermediate_size", 12},     {"vocab_size", 10},
            {"rms_norm_eps", 1e-6},     {"rope_theta", 10000.0}, {"tie_word_embeddings", true}, {"max_position_embeddings", 64}};
  f.add("model.embed_tokens.weight", {10, 8}, 1);
  f.add("model.norm.weight", {8}, 2);
  const std::string l = "model.layers.0.";
  f.add(l + "input_layernorm.weight", {8}, 3);
  f.add(l + "post_attention_layernorm.weight", {8}, 4);
  f.add(l + "self_attn.q_proj.weight", {8, 8}, 5);
  f.add(l + "self_attn.k_proj.weight", {4, 8}, 6);
  f.add(l + "self_attn.v_proj.weight", {4, 8}, 7);
  f.add(l + "self_attn.o_proj.weight", {8, 8}, 8);
  f.add(l + "self_attn.q_norm.weight", {4}, 9);
  f.add(l + "self_attn.k_norm.weight", {4}, 10);
  f.add(l + "mlp.gate_proj.weight", {12, 8}, 11);
  f.add(l + "mlp.up_proj.weight", {12, 8}, 12);
  f.add(l + "mlp.down_proj.weight", {8, 12}, 13);
  return f;
}

// Two layers, linear then full; 1 key head and 2 value heads of 4, kernel 3; 3 experts of 5, top 2.
inline MemoryFile tiny_qwen35moe() {
  MemoryFile f;
  f.json = {{"model_type", "qwen3_5_moe"}, {"tie_word_embeddings", false}};
  f.json["text_config"] = {{"model_type", "qwen3_5_moe_text"},
                           {"hidden_size", 8},
                           {"num_hidden_layers", 2},
                           {"num_attention_heads", 2},
                           {"num_key_value_heads", 1},
                           {"head_dim", 8},
                           {"vocab_size", 10},
                           {"full_attention_interval", 2},
                           {"linear_num_key_heads", 1},
                           {"linear_num_value_heads", 2},
                           {"linear_key_head_dim", 4},
                           {"linear_value_head_dim", 4},
                           {"linear_conv_kernel_dim", 3},
                           {"num_experts", 3},
                           {"num_experts_per_tok", 2},
                           {"moe_intermediate_size", 5},
                           {"shared_expert_intermediate_size", 6},
                           {"rope_parameters", {{"type", "default"}, {"rope_theta", 1e7}, {"partial_rotary_factor", 0.25}}}};
  f.add("lm_head.weight", {10, 8}, 1);
  f.add("model.visual.blocks.0.norm1.weight", {8}, 0);
  f.add("mtp.fc.weight", {8, 16}, 0);
  const std::string m = "model.language_model.";
  f.add(m + "embed_tokens.weight", {10, 8}, 2);
  f.add(m + "norm.weight", {8}, 3);
  for (int i = 0; i < 2; i++) {
    const std::string l = m + "layers." + std::to_string(i) + ".";
    const auto at = static_cast<float>(100 * (i + 1));
    f.add(l + "input_layernorm.weight", {8}, at + 1);
    f.add(l + "post_attention_layernorm.weight", {8}, at + 2);
    f.add(l + "mlp.gate.weight", {3, 8}, at + 3);
    f.add(l + "mlp.experts.gate_up_proj", {3, 10, 8}, at + 4);
    f.add(l + "mlp.experts.down_proj", {3, 8, 5}, at + 5);
    f.add(l + "mlp.shared_expert.gate_proj.weight", {6, 8}, at + 6);
    f.add(l + "mlp.shared_expert.up_proj.weight", {6, 8}, at + 7);
    f.add(l + "mlp.shared_expert.down_proj.weight", {8, 6}, at + 8);
    f.add(l + "mlp.shared_expert_gate.weight", {1, 8}, at + 9);
  }
  const std::string d = m + "layers.0.linear_attn.", a = m + "layers.1.self_attn.";
  f.add(d + "in_proj_qkv.weight", {16, 8}, 10);
  f.add(d + "in_proj_z.weight", {8, 8}, 11);
  f.add(d + "in_proj_b.weight", {2, 8}, 12);
  f.add(d + "in_proj_a.weight", {2, 8}, 13);
  f.add(d + "conv1d.weight", {16, 1, 3}, 14);
  f.add(d + "A_log", {2}, 0.5f);
  f.add(d + "dt_bias", {2}, 15);
  f.add(d + "norm.weight", {4}, 16);
  f.add(d + "out_proj.weight", {8, 8}, 17);
  f.add(a + "q_proj.weight", {32, 8}, 20);
  f.add(a + "k_proj.weight", {8, 8}, 21);
  f.add(a + "v_proj.weight", {8, 8}, 22);
  f.add(a + "o_proj.weight", {8, 16}, 23);
  f.add(a + "q_norm.weight", {8}, 24);
  f.add(a + "k_norm.weight", {8}, 25);
  return f;
}

inline std::string load_error(const MemoryFile& file) {
  FakeDevice device;
  const auto loaded = load_model(file, device);
  return loaded ? "" : loaded.error().message;
}
