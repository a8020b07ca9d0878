// safetensors fuzz: any bytes that may be a header and its data.
#include "weights.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { return open_bytes(data, size); }
