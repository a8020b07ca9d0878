// amx_emulated: the AMX kernels with their tile instructions in plain C++, so that they are tested on every machine with AVX-512.
#if defined(__x86_64__)
#define CALLA_EMULATE_TILES
#define CALLA_AMX amx_emulated
#define CALLA_AMX_TABLE emulated_amx_kernels
#include "device/cpu/isa/amx.inl"
#endif
