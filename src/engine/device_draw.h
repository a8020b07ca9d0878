// device_draw: which tokens a device can draw by itself, and what it must know for one.
#pragma once
#include "device/device.h"
#include "engine/sequence.h"

// For the index-th token of the answer. Nothing: its draw needs what only the host has (masks, penalties, biases), or its logits are wanted here.
// Depends on the request and the index alone, so that the same tokens are drawn by the device whoever else is in the step.
std::optional<SampleSpec> device_draw(const Sequence& sequence, int index);
