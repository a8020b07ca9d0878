// cost: the bytes that a step has to move and the products it has to take at least, by kind of work: what Profile holds its time against.
#pragma once
#include <array>
#include "device/cuda/ops.h"
#include "device/cuda/state.h"

namespace cuda {

struct Cost {
  double bytes = 0, macs = 0;
  Cost& operator+=(const Cost& o) { return bytes += o.bytes, macs += o.macs, *this; }
};
enum class Work : uint8_t { matrices, experts, attention, delta, rest };
inline constexpr int kWorks = 5;
using Costs = std::array<Cost, kWorks>;

// Weights, states, keys and values count once each, activations as float32; norms, additions and gates cost nothing: their rows are read anyway.
void add_costs(std::span<const Op> ops, const Tables& tables, const DeviceState& state, Costs& costs);

}  // namespace cuda
