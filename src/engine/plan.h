// plan: how an engine divides the state of its sequences, for those who want to know before there is one.
#pragma once
#include "device/device.h"
#include "engine/engine.h"

struct EnginePlan {
  StatePlan state;
  int context_tokens = 0;
  bool recurrent = false;  // some layer has recurrent state
  size_t state_bytes = 0;  // of all pages and slots; touched only as far as used
};
EngineOptions with_device_sizes(EngineOptions options, const Device& device);  // what was left to the device, filled in
// Fails with too_large when the budget does not hold one sequence of the context that was asked for.
Result<EnginePlan> plan_state(const Device& device, const Model& model, const EngineOptions& options);
size_t least_state_bytes(const Device& device, const Model& model, const EngineOptions& options, int context_tokens);  // of one sequence
size_t most_state_bytes(const Device& device, const Model& model, const EngineOptions& options);                       // that sequences and snapshots can use
