// memory_plan: what a model will take of memory, part by part, before any of it is taken.
#pragma once
#include "device/plan.h"
#include "engine/plan.h"
#include "file/file.h"
#include "model/model.h"

struct MemoryPlan {
  size_t weight_bytes = 0;   // as the device packs them
  size_t scratch_bytes = 0;  // activations of the largest steps
  size_t kept_bytes = 0;     // of a device's own memory: what its driver takes, not planned with
  EnginePlan state;          // pages and slots; touched only as far as used
  EngineOptions engine;      // make_engine with these does what `state` says
  size_t total_bytes() const { return weight_bytes + scratch_bytes + state.state_bytes; }
};

// Loads a model onto a device without memory, then answers questions. `device` names just one. Where the model has to fit in `room`, steps get fewer rows,
// unless their number was asked for.
class MemoryPlanner {
 public:
  static Result<MemoryPlanner> open(const WeightFile& file, const DeviceOptions& device, const EngineOptions& engine, size_t room = SIZE_MAX);
  // Fails with too_large when `available_bytes` does not hold it; half of what the rest leaves is for the state of sequences.
  Result<MemoryPlan> plan(size_t available_bytes) const;
  size_t least_bytes() const { return fixed_bytes() + least_state_; }  // one sequence of the context asked for, of 2048 tokens when none was
  int fitting_context(size_t available_bytes) const;                   // of one sequence, in whole thousands; 0: none
  const ModelConfig& config() const { return loaded_.model->config(); }
  bool never_fits() const { return device_memory_ && least_bytes() + device_memory_->kept_bytes > device_memory_->total_bytes; }
  bool own_memory() const { return device_memory_.has_value(); }       // the device's, not the machine's

 private:
  static Result<MemoryPlanner> rehearse(const WeightFile& file, const DeviceOptions& device, const EngineOptions& engine);
  Error refusal(size_t available_bytes) const;
  size_t fixed_bytes() const { return dry_.device->weight_bytes() + scratch_; }
  DryDevice dry_;
  LoadedModel loaded_;
  EngineOptions engine_;
  std::optional<DeviceMemory> device_memory_;  // as it was at the beginning
  size_t scratch_ = 0, least_state_ = 0;
};

// "weights 98.4 MB, state up to 1.20 GB (16 sequences, context 8192 tokens), scratch 45.0 MB: 1.34 GB of 12.3 GB that are available"
std::string describe(const MemoryPlan& plan, size_t available_bytes);
