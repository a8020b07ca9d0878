// memory: how much of it is free.
#pragma once
#include <cstddef>

size_t available_memory_bytes();  // what could be taken without swapping; half of what is built in where the system does not say
