// weights: what an uploaded matrix or vector is on the GPU.
#pragma once
#include <memory>
#include "device/cuda/kernels.h"
#include "device/cuda/strips.h"

namespace cuda {

// Exact precision keeps tiles as the CPU packs them; fast precision has strips, or for small sensitive matrices rows of floats.
class DeviceMatrix final : public Weight {
 public:
  enum class Form : uint8_t { tiles, strips, floats } form = Form::tiles;
  std::shared_ptr<std::byte> memory;
  int32_t rows = 0, cols = 0;
  int64_t n_experts = 1;
  const char* format_name = "";
  Matrix tiles;    // form tiles
  Strips strips;   // form strips
  const float* floats() const { return reinterpret_cast<const float*>(memory.get()); }  // form floats: [rows, cols]
};

class DeviceVector final : public Weight {
 public:
  std::shared_ptr<std::byte> memory;
  float* data = nullptr;
  int64_t size = 0;
};

}  // namespace cuda
