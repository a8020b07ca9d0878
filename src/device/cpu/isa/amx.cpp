// amx: the kernels of amx.inl with the processor's own tiles.
#include "device/cpu/isa/amx.inl"
