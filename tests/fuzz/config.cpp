// config fuzz: any bytes as a folder's config.json, or as generation_config.json; what it says is looked at, nothing is uploaded.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>
#include "core/json.h"
#include "model/model.h"

namespace {

// A checkpoint whose texts are given and whose few tensors are too small for most of them.
class TextOnly final : public WeightFile {
 public:
  TextOnly(std::string_view config, std::string_view generation) : config_(config), generation_(generation) {
    for (const char* name : {"model.embed_tokens.weight", "model.norm.weight", "model.layers.0.input_layernorm.weight", "model.layers.0.mlp.gate.weight",
                             "model.layers.0.mlp.experts.0.gate_proj.weight", "model.layers.0.linear_attn.A_log", "model.layers.0.self_attn.q_proj.weight"})
      tensors_.push_back({name, find_format("F32"), {4, 4}, std::as_bytes(std::span(zeros_))});
  }
  Container container() const override { return Container::safetensors; }
  std::span<const StoredTensor> tensors() const override { return tensors_; }
  const StoredTensor* find(std::string_view name) const override {
    for (const StoredTensor& tensor : tensors_)
      if (tensor.name == name) return &tensor;
    return nullptr;
  }
  const MetaValue* meta(std::string_view) const override { return nullptr; }
  std::vector<std::string_view> meta_keys() const override { return {}; }
  std::string_view config() const override { return config_; }
  const std::string& path() const override { return path_; }
  Result<std::string> sidecar(std::string_view name, size_t) const override {
    if (name == "generation_config.json" && !generation_.empty()) return std::string(generation_);
    return Error{Code::not_found, "cannot open it: none"};
  }
  size_t weight_bytes() const override { return 0; }

 private:
  std::string path_ = "fuzzed";
  std::string_view config_, generation_;
  std::array<float, 16> zeros_{};
  std::vector<StoredTensor> tensors_;
};

void expect_bounded(const Error& error) {
  if (error.message.empty() || error.message.size() > (size_t{1} << 18)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const TextOnly whole(text, text);
  if (const auto report = inspect_model(whole); !report) expect_bounded(report.error());
  if (const auto defaults = generation_defaults(whole); !defaults) expect_bounded(defaults.error());
  return 0;
}
