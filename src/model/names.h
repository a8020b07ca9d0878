// names: the one table between names of tensors in files and the canonical ones that architectures use.
#pragma once
#include <string>
#include <string_view>
#include "file/file.h"

// What a stored tensor is: canonical names are Hugging Face's without any "model." prefix; stacks of experts have no ".weight".
//   "layers.3.self_attn.q_proj.weight"   "layers.3.mlp.experts.gate_proj"   "layers.3.mlp.experts.7.gate_proj.weight"
struct TensorName {
  enum class Part : uint8_t { main, scales, biases, block_scales, global_scale, skipped } part = Part::main;
  std::string canonical;
  const char* skipped = "";  // what it belongs to: "vision tower", ...
};

TensorName canonical_name(std::string_view stored, Container container, std::string_view architecture);

// What a file of this container would call it, for error messages.
std::string stored_name(const std::string& canonical, Container container, std::string_view architecture, const std::string& prefix);

// N of "layers.N.…", or -1.
int layer_of(std::string_view canonical);
