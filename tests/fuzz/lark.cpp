// lark fuzz: any bytes as a Lark grammar; what compiles is walked a little.
#include "grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return walk_grammar(std::string_view(reinterpret_cast<const char*>(data), size), &GrammarBuilder::lark);
}
