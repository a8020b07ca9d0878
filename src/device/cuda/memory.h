// memory: steps that were recorded before, by what decides which kernels a step becomes, so that the words of a model need not be spoken for every token.
#pragma once
#include <list>
#include <optional>
#include "device/cuda/recording.h"
#include "device/device.h"

namespace cuda {

class StepMemory {
 public:
  // Steps of more rows are rarely alike, and take longer than their words.
  static constexpr int64_t most_rows = 64;
  struct Step {
    std::vector<int32_t> shape;
    Recording recording;
    std::vector<int32_t> picked;
    Tensor result;
  };
  Step* find(const Batch& b, std::span<const SampleSpec> specs);
  void add(const Batch& b, std::span<const SampleSpec> specs, const Recording& recording, std::span<const int32_t> picked, const Tensor& result);
  void clear() { steps_.clear(); }

 private:
  static constexpr size_t most = 16;
  std::list<Step> steps_;       // most recently used first
  std::vector<int32_t> asked_;  // kept for its memory
};

}  // namespace cuda
