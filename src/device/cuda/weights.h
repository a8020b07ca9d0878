// weights: what an uploaded matrix or vector is on the GPU.
#pragma once
#include <cuda_runtime_api.h>
#include "device/cuda/kernels.h"
#include "device/cuda/strips.h"

namespace cuda {

// Exact precision keeps tiles as the CPU packs them; fast precision has strips, or for small sensitive matrices rows of floats.
class DeviceMatrix final : public Weight {
 public:
  ~DeviceMatrix() override { cudaFree(memory); }
  enum class Form : uint8_t { tiles, strips, floats } form = Form::tiles;
  void* memory = nullptr;
  int32_t rows = 0, cols = 0;
  int64_t n_experts = 1;
  const char* format_name = "";
  Matrix tiles;    // form tiles
  Strips strips;   // form strips
  const float* floats() const { return static_cast<const float*>(memory); }  // form floats: [rows, cols]
};

class DeviceVector final : public Weight {
 public:
  ~DeviceVector() override { cudaFree(data); }
  float* data = nullptr;
  int64_t size = 0;
};

}  // namespace cuda
