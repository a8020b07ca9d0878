// state_plan: how many pages and slots an engine has, from a budget in bytes.
#pragma once
#include "device/device.h"
#include "engine/engine.h"

struct EnginePlan {
  StatePlan state;
  int context_tokens = 0;
  bool recurrent = false;  // some layer has recurrent state
};
// Fails with too_large when the budget does not hold one sequence of the context that was asked for.
Result<EnginePlan> plan_state(const Device& device, const Model& model, const EngineOptions& options);
