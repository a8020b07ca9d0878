// memory: how much of it this machine has, how much is free, and how much this process holds.
#pragma once
#include <cstddef>

struct MemorySize { size_t total_bytes = 0, available_bytes = 0; };  // within the limits of every control group above this process; 0: unknown
MemorySize memory_size();
size_t available_memory_bytes();  // what could be taken without swapping; half of what is built in where the system does not say
size_t resident_memory_bytes();   // of this process; 0: unknown
