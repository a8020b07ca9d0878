// memory: how much of it this machine has.
#pragma once
#include "core/core.h"

struct MemorySize { size_t total_bytes = 0, available_bytes = 0; };  // after the limit of a container, when there is one; 0: unknown
MemorySize memory_size();
