// gguf fuzz: any bytes behind the GGUF magic.
#include "weights.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { return open_bytes(data, size); }
